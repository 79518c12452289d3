//! Heads of logs, and checkpoints of them.

use proptest::prelude::*;
use rye_sign::chain::{Checkpoint, Head, sign_checkpoint};
use serde_json::json;

use crate::{check_error, key};

fn head_of(records: &[&[u8]]) -> Head {
    records.iter().fold(Head::genesis(), |head, record| head.link(record))
}

fn checkpoint() -> Checkpoint {
    sign_checkpoint(&head_of(&[b"a"]), 1, "greet-1", &key(1)).expect("signed")
}

#[test]
fn heads_are_read_again() {
    let head = head_of(&[b"a", b"b"]);
    assert_eq!(head.to_string().parse(), Ok(head));
    check_error("x".parse::<Head>(), "`x` is not a SHA-256 digest; write 64 lowercase hex digits");
}

/// The expected heads were computed with another implementation of SHA-256.
#[test]
fn heads_are_what_another_implementation_computes() {
    assert_eq!(
        Head::genesis().to_string(),
        "22ea49ab5c6619d39340614b457e5c3d5fbec8b5e95ad125b18e78ee0fd073d2"
    );
    assert_eq!(
        head_of(&[b"a"]).to_string(),
        "ac01e02b56c939a094c3ce83e97ca984b48ac5fc5fa6a379f9829e637932518b"
    );
}

#[test]
fn a_checkpoint_survives_the_round_trip() {
    let checkpoint = checkpoint();
    let read = Checkpoint::from_json(&checkpoint.to_json());
    assert_eq!(read, Ok(checkpoint.clone()));
    assert_eq!((checkpoint.seq(), checkpoint.head()), (1, &head_of(&[b"a"])));
    let later = sign_checkpoint(&head_of(&[b"a"]), 7, "greet-1", &key(1)).expect("signed");
    assert_eq!((later.seq(), later.key_id()), (7, key(1).public().key_id()));
    assert_eq!(
        checkpoint.verify(&head_of(&[b"a"]), 1, "greet-1", &[key(2).public(), key(1).public()]),
        Ok(())
    );
}

#[test]
fn another_log() {
    let other = head_of(&[b"b"]);
    check_error(
        checkpoint().verify(&other, 1, "greet-1", &[key(1).public()]),
        &format!(
            "the log differs from its checkpoint at record 1 of the thread `greet-1`: signed `{}`, found `{other}`; do not resume from this log",
            head_of(&[b"a"])
        ),
    );
}

#[test]
fn another_place() {
    check_error(
        checkpoint().verify(&head_of(&[b"a"]), 2, "greet-1", &[key(1).public()]),
        "the checkpoint is of record 1 of the thread `greet-1`, not of record 2 of `greet-1`; do not resume from this log",
    );
    check_error(
        checkpoint().verify(&head_of(&[b"a"]), 1, "greet-2", &[key(1).public()]),
        "the checkpoint is of record 1 of the thread `greet-1`, not of record 1 of `greet-2`; do not resume from this log",
    );
}

#[test]
fn another_key() {
    check_error(
        checkpoint().verify(&head_of(&[b"a"]), 1, "greet-1", &[key(2).public()]),
        "the checkpoint is signed by the key `3d4c030534b1c1c6`, which may not sign logs here; verify with the key that wrote the log",
    );
}

#[test]
fn a_forged_checkpoint() {
    let mut value =
        sign_checkpoint(&head_of(&[b"b"]), 1, "greet-1", &key(1)).expect("signed").to_json();
    value["head"] = json!(head_of(&[b"a"]).to_string());
    let forged = Checkpoint::from_json(&value).expect("well-formed");
    check_error(
        forged.verify(&head_of(&[b"a"]), 1, "greet-1", &[key(1).public()]),
        "forged checkpoint: the key `3d4c030534b1c1c6` did not sign record 1 of the thread `greet-1`; do not resume from this log",
    );
}

#[track_caller]
fn check_malformed(member: &str, value: &serde_json::Value, problem: &str) {
    let mut json = checkpoint().to_json();
    json[member] = value.clone();
    check_error(
        Checkpoint::from_json(&json),
        &format!("not a checkpoint: {problem}; do not resume from this log"),
    );
}

#[test]
fn json_that_is_no_checkpoint() {
    check_malformed("format", &json!("v2"), "its format is `v2`, not `rye-checkpoint-v1`");
    check_malformed("head", &json!("00"), "its head `00` is no digest");
    check_malformed("key_id", &json!("k"), "its key id `k` is none");
    check_malformed("signature", &json!("AAAA"), "its signature is not 64 bytes of base64");
    check_malformed("seq", &json!(-1), "invalid value: integer `-1`, expected u64");
    check_malformed(
        "more",
        &json!(1),
        "unknown field `more`, expected one of `format`, `thread`, `seq`, `head`, `key_id`, `signature`",
    );
}

#[test]
fn a_thread_id_of_two_lines() {
    for thread in ["", "a\n1"] {
        check_error(
            sign_checkpoint(&Head::genesis(), 0, thread, &key(1)),
            &format!(
                "the thread id {thread:?} is empty or holds a control character; an id is one line of text"
            ),
        );
    }
}

proptest! {
    #[test]
    fn other_records_have_another_head(
        one in proptest::collection::vec(any::<Vec<u8>>(), 0..5), other in proptest::collection::vec(any::<Vec<u8>>(), 0..5)
    ) {
        let heads = [&one, &other].map(|records| records.iter().fold(Head::genesis(), |head, record| head.link(record)));
        prop_assert_eq!(heads[0] == heads[1], one == other);
    }
}
