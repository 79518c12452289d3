//! Signed JSON records.

use rye_sign::{JsonError, sign_json, verify_json};
use serde_json::{Value, json};

use crate::{at, check_error, key, now};

fn record() -> Value {
    json!({"thread_id": "greet-1", "state": "completed", "cost": {"nanos": 5}})
}

fn signed() -> Value {
    sign_json(&record(), &key(1), now()).expect("an object")
}

#[test]
fn a_signed_record_verifies_in_any_order_of_members() {
    let text = serde_json::to_string(&signed()).expect("JSON");
    let read: Value = serde_json::from_str(&text).expect("JSON");
    let members: serde_json::Map<String, Value> =
        read.as_object().expect("an object").clone().into_iter().rev().collect();
    let signature = verify_json(&Value::Object(members), &[key(2).public(), key(1).public()])
        .expect("verified");
    assert_eq!((signature.key_id, signature.at), (key(1).public().key_id().clone(), now()));
}

#[test]
fn signing_again_replaces_the_signature() {
    let later = sign_json(&signed(), &key(1), at("2026-11-20T18:00:01Z")).expect("an object");
    assert_ne!(later, signed());
    assert_eq!(sign_json(&later, &key(1), now()), Ok(signed()));
}

#[test]
fn a_changed_record() {
    let mut changed = signed();
    changed["state"] = json!("error");
    let digest = |value: &Value| {
        rye_sign::Digest::of(rye_sign::canonical_json(value).as_bytes()).shortened()
    };
    let mut content = record();
    let expected = digest(&content);
    content["state"] = json!("error");
    check_error(
        verify_json(&changed, &[key(1).public()]),
        &format!(
            "tampered: `_signature` states the digest `{expected}`, the record has `{}`; restore the record",
            digest(&content)
        ),
    );
    let mut more = signed();
    more["more"] = json!(null);
    assert!(matches!(verify_json(&more, &[key(1).public()]), Err(JsonError::Tampered { .. })));
}

#[track_caller]
fn check_signature(from: &str, to: &str, message: &str) {
    let mut value = signed();
    let text = value["_signature"].as_str().expect("text").replacen(from, to, 1);
    value["_signature"] = json!(text);
    check_error(verify_json(&value, &[key(1).public()]), message);
}

#[test]
fn a_changed_signature() {
    check_signature(
        "T18:00:00Z",
        "T18:00:01Z",
        "bad signature: the key `3d4c030534b1c1c6` did not sign this record at the time stated; restore the record",
    );
    check_signature(
        "3d4c030534b1c1c6",
        "07097e6443239d36",
        "signed by the key `07097e6443239d36`, which may not sign records here; verify with the key that wrote the record",
    );
    check_signature(
        "3d4c030534b1c1c6",
        "3d4c030534b1c1c6|github@ada",
        "malformed `_signature`: the part after `|`, `github@ada`, is not `provider@user`; restore the record",
    );
    check_signature(
        "rye:signed:",
        "",
        "malformed `_signature`: it lacks fields; they are time, digest, signature and key id; restore the record",
    );
}

#[test]
fn what_cannot_be_signed_or_verified() {
    check_error(
        sign_json(&json!([1]), &key(1), now()),
        "only a JSON object can be signed; wrap the value in one",
    );
    check_error(
        verify_json(&json!("x"), &[]),
        "only a JSON object can be signed; wrap the value in one",
    );
    let unsigned = "unsigned: the record has no `_signature`; it was not written by a signed run";
    check_error(verify_json(&record(), &[key(1).public()]), unsigned);
    check_error(verify_json(&json!({"_signature": 1}), &[key(1).public()]), unsigned);
}

/// A signature over a record does not verify as one over a file, and vice versa.
#[test]
fn signatures_of_files_and_records_differ() {
    let content = rye_sign::canonical_json(&record());
    let fields = crate::old_fields(&content, 1, crate::OldMessage::Hex);
    let mut value = record();
    value["_signature"] = json!(fields);
    assert!(matches!(verify_json(&value, &[key(1).public()]), Err(JsonError::BadSignature { .. })));

    let text = format!("# {}\n{content}", signed()["_signature"].as_str().expect("text"));
    let refused = crate::verify(
        &text,
        rye_sign::CommentStyle::Hash,
        &crate::item("config", "a"),
        &crate::trusting(&[&key(1)]),
        &rye_sign::Policy::default(),
    );
    assert!(matches!(refused, Err(rye_sign::Error::BadSignature { .. })));
}
