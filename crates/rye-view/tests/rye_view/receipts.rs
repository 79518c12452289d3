//! Receipts: what they say, and that nothing of them, of a transcript or of an output can be changed.

use proptest::prelude::*;
use rye_sign::dsse::Envelope;
use rye_sign::{Origin, SigningKey, TrustDocument, TrustStore};
use rye_types::Moment;
use rye_view::receipt::{MakeError, PAYLOAD_TYPE, Receipt, sign};
use rye_view::{Signer, Source};
use serde_json::{Value, json};

use crate::recording::{KEY, Recording, limits};

const AT: i64 = 1_795_200_000_000;

fn ended() -> Recording {
    let mut recording = Recording::begin();
    recording.turn(1).call(
        "a",
        "rye/file-system/read",
        json!({ "path": "a" }),
        json!({ "text": "b" }),
    );
    recording.add(
        "thread_complete",
        json!({
            "turns": 1, "usage": { "input": 900, "output": 100, "cache_read": 50, "cache_write": 0 }, "cost_nanos": 10_000_000,
            "outputs": { "summary": "It is done.", "files": ["b", "a"] }, "text": "",
        }),
    );
    recording.checkpoint();
    recording
}

fn key() -> SigningKey {
    SigningKey::from_pkcs8_pem(KEY).unwrap()
}

fn trust(document: &TrustDocument) -> TrustStore {
    let mut trust = TrustStore::new();
    let now = Moment::from_unix_millis(AT).timestamp();
    trust.admit(&document.to_toml(), None, Origin::Operator, now).unwrap();
    trust
}

fn own_trust() -> TrustStore {
    trust(&TrustDocument::new("ada", key().public()))
}

fn receipt(recording: &Recording) -> String {
    try_receipt(recording).unwrap()
}

fn try_receipt(recording: &Recording) -> Result<String, MakeError> {
    let (record, reading) = (recording.record(), recording.reading());
    let at = Moment::from_unix_millis(AT);
    let source = Source::new(&record, &reading, Signer::Trusted, at);
    sign(&source, recording.lines.as_bytes(), at, "1.2.3", &key())
}

#[test]
fn a_receipt_says_what_the_transcript_says() {
    let recording = ended();
    let receipt = Receipt::verify(&receipt(&recording), &own_trust()).unwrap();
    assert_eq!(receipt.owner.as_deref(), Some("ada"));
    assert_eq!(receipt.outputs(), ["summary", "files"]);
    receipt.verify_transcript(recording.lines.as_bytes()).unwrap();
    receipt.verify_output("summary", b"It is done.").unwrap();
    receipt.verify_output("files", br#"["b","a"]"#).unwrap();
    let shown = serde_json::to_string_pretty(&receipt.statement).unwrap();
    insta::assert_snapshot!("receipt", shown);
}

/// Another program may append to a transcript. A later checkpoint covers its records, and does not follow each of them.
#[test]
fn raised_limits_count_with_their_own_checkpoint() {
    for is_sealed in [true, false] {
        let mut recording = Recording::begin();
        let mut raised = limits();
        raised["turns"] = json!(99);
        recording.add(
            "thread_resumed",
            json!({
                "opening": 1, "cut_bytes": 0, "facts": {}, "cost_nanos": 0, "elapsed_millis": 0,
                "signed_by": key().public().to_pem(), "limits": raised,
            }),
        );
        if is_sealed {
            recording.checkpoint();
        }
        recording.turn(1).end();
        let statement = Receipt::verify(&receipt(&recording), &own_trust()).unwrap().statement;
        let first = &limits()["turns"];
        let turns = if is_sealed { &raised["turns"] } else { first };
        assert_eq!(statement["predicate"]["limits"]["turns"], *turns, "{is_sealed}");
    }
}

#[test]
fn each_changed_byte_of_an_envelope_is_refused() {
    let (text, trust) = (receipt(&ended()), own_trust());
    for place in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(Receipt::verify(&changed, &trust).is_err(), "byte {place}");
    }
}

#[test]
fn each_changed_byte_of_a_transcript_and_of_an_output_is_refused() {
    let recording = ended();
    let receipt = Receipt::verify(&receipt(&recording), &own_trust()).unwrap();
    for place in 0..recording.lines.len() {
        let mut changed = recording.lines.clone().into_bytes();
        changed[place] ^= 1;
        assert!(receipt.verify_transcript(&changed).is_err(), "byte {place}");
        assert!(receipt.verify_transcript(&changed[..place]).is_err(), "up to byte {place}");
    }
    for place in 0.."It is done.".len() {
        let mut changed = b"It is done.".to_vec();
        changed[place] ^= 1;
        assert!(receipt.verify_output("summary", &changed).is_err(), "byte {place}");
    }
}

/// A member of the statement with the right key that the transcript does not say.
#[test]
fn a_signer_cannot_state_more_than_the_transcript_says() {
    let recording = ended();
    let text = receipt(&recording);
    let statement = Receipt::verify(&text, &own_trust()).unwrap().statement;
    for (pointer, value, member) in [
        ("/predicate/model/id", json!("better-1"), "`model`"),
        ("/predicate/cost/nanos", json!(1), "`cost`"),
        ("/predicate/outcome/state", json!("error"), "`outcome`"),
        ("/predicate/directive/id", json!("other"), "`directive`"),
        ("/predicate/transcript/head", json!("00"), "`transcript`"),
        ("/predicate/claimed", json!([]), "`claimed`"),
        ("/subject/1/digest/sha256", json!("0".repeat(64)), "`subject`"),
    ] {
        let mut lie = statement.clone();
        *lie.pointer_mut(pointer).unwrap() = value;
        let receipt = Receipt::verify(&signed(&lie), &own_trust()).unwrap();
        let refused = receipt.verify_transcript(recording.lines.as_bytes()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "{member} of the receipt does not follow from the transcript; do not rely on its signer"
            )
        );
    }
}

fn signed(statement: &Value) -> String {
    Envelope::sign(PAYLOAD_TYPE, statement.to_string().as_bytes(), &key()).to_text()
}

#[test]
fn each_reason_of_a_refusal_is_told() {
    let text = receipt(&ended());
    let at = |seconds: i64| Moment::from_unix_millis(AT + seconds * 1_000).timestamp();
    let document = || TrustDocument::new("ada", key().public());
    let expires = |seconds: i64| trust(&document().with_expires(at(seconds)));
    assert!(Receipt::verify(&text, &expires(1)).is_ok(), "it was signed before the key expired");
    for (text, trust, message) in [
        (
            text.clone(),
            TrustStore::new(),
            "signed by the unknown key `56dbf7b2d9ce86ed`; trust its document with `--trust FILE`",
        ),
        (
            text.clone(),
            trust(&document().with_revoked(at(9))),
            "the key `56dbf7b2d9ce86ed` was revoked at 2026-11-20T18:40:09Z; ask its owner for a receipt by another key",
        ),
        (
            signed(&json!({ "_type": "x" })),
            own_trust(),
            "the signed payload is no receipt that this version reads: its `_type` is \"x\", not `https://in-toto.io/Statement/v1`",
        ),
    ] {
        assert_eq!(Receipt::verify(&text, &trust).unwrap_err().to_string(), message);
    }
    let receipt = Receipt::verify(&text, &own_trust()).unwrap();
    assert_eq!(
        receipt.verify_output("title", b"").unwrap_err().to_string(),
        "the receipt has no output `title`; it has `summary`, `files`"
    );
}

/// A version that knew the event may have signed.
#[test]
fn a_record_that_cannot_be_read_refuses_the_signer_and_the_verifier() {
    let mut recording = Recording::begin();
    recording.add("dream", json!({})).end();
    let refused = "record 4 of the thread `prepare-019a0000-0000-7000-8000-000000000000` cannot be used: this version knows no event `dream`; use the version that recorded it";
    assert_eq!(try_receipt(&recording).unwrap_err().to_string(), refused);
    let digest = rye_sign::Digest::of(recording.lines.as_bytes()).to_string();
    let mut statement = Receipt::verify(&receipt(&ended()), &own_trust()).unwrap().statement;
    statement["subject"][0]["digest"]["sha256"] = digest.into();
    let receipt = Receipt::verify(&signed(&statement), &own_trust()).unwrap();
    let error = receipt.verify_transcript(recording.lines.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), refused);
}

#[test]
fn a_thread_that_may_go_on_has_no_receipt() {
    let mut recording = Recording::begin();
    recording.turn(1);
    let refused = try_receipt(&recording).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the thread `prepare-019a0000-0000-7000-8000-000000000000` has not ended; a receipt is made of a thread that has"
    );
}

proptest! {
    /// A signed payload of any other form is an error and no panic.
    #[test]
    fn no_signed_payload_makes_the_verifier_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let text = Envelope::sign(PAYLOAD_TYPE, &bytes, &key()).to_text();
        prop_assert!(Receipt::verify(&text, &own_trust()).is_err());
    }
}
