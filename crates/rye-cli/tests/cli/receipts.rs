//! `rye threads export --format receipt` and `rye verify receipt`.

use std::fs;

use serde_json::Value;

use crate::session::Session;

/// A project with an operator's key and a thread that has ended, and the receipt of the thread.
fn with_receipt() -> Session {
    let session = Session::new();
    session.rye("keys generate --owner ada@example.org");
    session.rye("run notes/index --trust TRUST --provider steps");
    let told = session.rye("threads export --format receipt --output receipt.json");
    assert!(told.ends_with("--- exit 0\n"), "{told}");
    session
}

fn trust_document(session: &Session) -> String {
    let folder = session.home().join(".ai/config/keys/trusted");
    let document = fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    document.path().display().to_string()
}

#[track_caller]
fn check(shown: &str, exit: u8, parts: &[&str]) {
    assert!(shown.ends_with(&format!("--- exit {exit}\n")), "{shown}");
    for part in parts {
        assert!(shown.contains(part), "`{part}` is not in {shown}");
    }
}

#[test]
fn a_receipt_verifies_alone_and_with_its_transcript() {
    let session = with_receipt();
    let alone = session.rye("verify receipt receipt.json");
    check(
        &alone,
        0,
        &[
            "signed by ada@example.org",
            "directive  notes/index 1.0.0",
            "outcome    completed after",
        ],
    );
    check(
        &alone,
        0,
        &["transcript.jsonl", "not compared with a file", "claimed    model, usage, cost, times"],
    );
    let transcript = format!(".ai/threads/{}/transcript.jsonl", session.thread());
    let whole = session.rye(&format!("verify receipt receipt.json --transcript {transcript}"));
    check(&whole, 0, &["the file is the one"]);
}

/// A trust document is enough: no project, no user space, no network.
#[test]
fn a_trust_document_alone_verifies_a_receipt() {
    let session = with_receipt();
    let away = tempfile::tempdir().unwrap();
    fs::copy(session.project().join("receipt.json"), away.path().join("receipt.json")).unwrap();
    let command = |trust: &[&str]| {
        assert_cmd::Command::new(env!("CARGO_BIN_EXE_rye"))
            .args(["verify", "receipt", "receipt.json"])
            .args(trust)
            .current_dir(away.path())
            .env_clear()
            .output()
            .unwrap()
    };
    let trusted = command(&["--trust", &trust_document(&session)]);
    assert!(trusted.status.success(), "{trusted:?}");
    let unknown = command(&[]);
    assert_eq!(unknown.status.code(), Some(3));
    let told = String::from_utf8(unknown.stderr).unwrap();
    assert!(told.contains("signed by the unknown key") && told.contains("--trust FILE"), "{told}");
}

#[test]
fn a_changed_receipt_transcript_or_output_is_refused() {
    let session = with_receipt();
    let path = session.project().join("receipt.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"payload\":\"", "\"payload\":\"AAAA", 1)).unwrap();
    check(&session.rye("verify receipt receipt.json"), 3, &["bad signature"]);
    fs::write(&path, text.replacen(',', ", ", 1)).unwrap();
    check(&session.rye("verify receipt receipt.json"), 3, &["not spelled as it was written"]);
    fs::write(&path, text).unwrap();
    let transcript =
        session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl");
    let lines = fs::read_to_string(&transcript).unwrap();
    session.put("other.jsonl", &lines.replacen("\"seq\":1", "\"seq\":7", 1));
    let other = session.rye("verify receipt receipt.json --transcript other.jsonl");
    check(&other, 3, &["the file is not `transcript.jsonl` of the receipt"]);
    session.put("none.txt", "");
    let none = session.rye("verify receipt receipt.json --output none=none.txt");
    check(&none, 3, &["the receipt has no output `none`"]);
    let form = session.rye("verify receipt receipt.json --output none");
    check(&form, 2, &["write it as NAME=FILE"]);
}

#[test]
fn the_json_of_a_receipt_holds_its_statement() {
    let session = with_receipt();
    let told = session.raw("verify receipt receipt.json --json");
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let receipt = &told["receipts"][0];
    assert_eq!(receipt["owner"], "ada@example.org");
    assert_eq!(receipt["used_unsigned"], false);
    assert_eq!(receipt["statement"]["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(receipt["statement"]["predicate"]["thread"]["id"], session.thread());
    assert_eq!(receipt["statement"]["predicate"]["directive"]["version"], "1.0.0");
    assert_eq!(receipt["statement"]["predicate"]["attestation"]["transcript_key"], "trusted");
}

/// The receipt of a thread of unsigned items says so in the words of the list of threads.
#[test]
fn a_receipt_of_items_that_nobody_signed_says_so() {
    let session = with_receipt();
    let signed = session.rye("verify receipt receipt.json");
    assert!(!signed.contains("unverified"), "{signed}");
    let session = Session::new();
    session.rye("keys generate --owner ada@example.org");
    let path = session.project().join(".ai/directives/notes/index.md");
    let text = fs::read_to_string(&path).unwrap();
    let (_, unsigned) = text.split_once('\n').unwrap();
    fs::write(&path, unsigned).unwrap();
    session.rye("run notes/index --trust TRUST --provider steps --allow-unsigned");
    session.rye("threads export --format receipt --output receipt.json");
    let told = session.rye("verify receipt receipt.json");
    check(&told, 0, &["ok         receipt.json", "unverified it used items that nobody signed\n"]);
    let told = session.raw("verify receipt receipt.json --json");
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["receipts"][0]["used_unsigned"], true);
}

#[test]
fn a_receipt_needs_a_key_and_a_thread_that_has_ended() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    let bare = session.rye("threads export --format receipt");
    check(&bare, 2, &["no signing key at", "rye keys generate"]);
    let page = session.rye("threads export --format html --key KEY");
    check(&page, 2, &["`--key` signs a receipt; add `--format receipt`"]);
    check(&session.rye("threads export --format receipt --key KEY --output r.json"), 0, &[]);
    check(&session.rye("verify receipt r.json --trust TRUST"), 0, &["signed by"]);
    let waiting = Session::new();
    waiting.asks_before_it_writes();
    waiting.rye("keys generate");
    waiting.rye("run notes/index --trust TRUST --provider steps");
    check(&waiting.rye("threads export --format receipt"), 1, &["has not ended"]);
}
