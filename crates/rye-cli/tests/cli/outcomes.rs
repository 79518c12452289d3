//! Every outcome of a verification, as `rye verify` and `rye render` tell it (SPEC 2.5): one snapshot each, with the
//! message and the exit code.

use std::fs;

use crate::session::Session;

const KEY: &str = "56dbf7b2d9ce86ed";
const FILE: &str = ".ai/directives/notes/index.md";
const COUNT: &str = ".ai/directives/count.md";

/// Directives with signatures of the old forms by the example key, made with another implementation.
const CONTENT_ONLY: &str = include_str!("old_signatures/content-only.md");
const METADATA_ONLY: &str = include_str!("old_signatures/metadata-only.md");

/// A project whose signer the operator trusts.
fn trusting() -> Session {
    let session = Session::new();
    assert!(session.rye("trust add TRUST --yes").ends_with("--- exit 0\n"));
    session
}

/// Puts what the trust document of the user space says at the front of its `[public_key]`.
fn limit_trust(session: &Session, line: &str) {
    let path = session.home().join(format!(".ai/config/keys/trusted/{KEY}.toml"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("[public_key]", &format!("{line}\n\n[public_key]"))).unwrap();
}

/// Asserts that the file is refused with exit code 3, and that nothing is rendered of it.
#[track_caller]
fn check_refused(name: &str, session: &Session, file: &str, id: &str) {
    let verified = session.rye(&format!("verify {file}"));
    let rendered = session.rye(&format!("render {id}"));
    for output in [&verified, &rendered] {
        assert!(output.ends_with("--- exit 3\n"), "{output}");
    }
    assert!(rendered.contains("\n--- standard error\nerror: "), "{rendered}");
    insta::assert_snapshot!(name, format!("{verified}\n{rendered}"));
}

#[track_caller]
fn check_malformed(name: &str, from: &str, to: &str) {
    let session = trusting();
    session.change(FILE, from, to);
    check_refused(name, &session, FILE, "notes/index");
}

#[test]
fn fine() {
    let session = trusting();
    insta::assert_snapshot!(session.rye(&format!("verify {FILE}")));
}

#[test]
fn unsigned() {
    let session = trusting();
    let text = fs::read_to_string(session.project().join(FILE)).unwrap();
    let (_, unsigned) = text.split_once('\n').unwrap();
    session.put(FILE, unsigned);
    check_refused("unsigned", &session, FILE, "notes/index");
    session.put(FILE, &format!("<!-- rye:unsigned -->\n{unsigned}"));
    check_refused("unsigned_by_marker", &session, FILE, "notes/index");
}

#[test]
fn malformed() {
    check_malformed("malformed_close", " -->", "");
    check_malformed("malformed_time", "2026-11-20T00:00:00Z", "2026-11-20");
    check_malformed("malformed_digest", "790aacba", "790AACBA");
    check_malformed("malformed_signature", "sdRWwnFY", "sdRWwnF");
    check_malformed("malformed_key_id", &format!(":{KEY}"), ":56dbf7b2");
    check_malformed("malformed_owner", " -->", "|ada -->");
    check_malformed("malformed_fields", &format!(":{KEY}"), "");
    check_malformed("malformed_surroundings", "<!-- ", "<!--  ");
    check_malformed("malformed_comment", "<!-- rye", "# rye");
}

#[test]
fn tampered() {
    let session = trusting();
    session.change(FILE, "Write the index to", "Write a copy of every key to");
    check_refused("tampered", &session, FILE, "notes/index");
}

#[test]
fn unknown_key() {
    check_refused("unknown_key", &Session::new(), FILE, "notes/index");
    let session = Session::new();
    session.put(".ai/directives/count.md", CONTENT_ONLY);
    session.rye("keys import KEY");
    let unknown = CONTENT_ONLY.replace(KEY, "0123456789abcdef");
    session.put(COUNT, &unknown);
    check_refused("unknown_key_among_known", &session, COUNT, "count");
}

#[test]
fn bad_signature() {
    let session = trusting();
    session.change(FILE, "2026-11-20T00:00:00Z", "2026-11-20T00:00:01Z");
    check_refused("bad_signature", &session, FILE, "notes/index");
}

#[test]
fn revoked_key() {
    let session = trusting();
    session.rye(&format!("trust revoke {KEY} --at 2026-11-20T00:00:00Z"));
    check_refused("revoked_key", &session, FILE, "notes/index");
}

#[test]
fn expired_key() {
    let session = trusting();
    limit_trust(&session, "expires = 2026-01-01T00:00:00Z");
    check_refused("expired_key", &session, FILE, "notes/index");
}

#[test]
fn bound_to_another_id() {
    let session = trusting();
    let text = fs::read_to_string(session.project().join(FILE)).unwrap();
    session.put(".ai/directives/admin/index.md", &text);
    check_refused("bound_to_another_id", &session, ".ai/directives/admin/index.md", "admin/index");
}

#[test]
fn bound_to_another_kind() {
    let session = trusting();
    let knowledge = session.project().join(".ai/knowledge/notes/index-style.md");
    let file = ".ai/directives/notes/index-style.md";
    session.put(file, &fs::read_to_string(knowledge).unwrap());
    check_refused("bound_to_another_kind", &session, file, "notes/index-style");
}

/// What covers only the metadata is refused for use, in the words of its own when it is verified.
#[test]
fn not_covered() {
    let session = trusting();
    session.put(COUNT, METADATA_ONLY);
    let verified = session.rye(&format!("verify {COUNT}"));
    assert!(verified.contains("\nrefused for use "), "{verified}");
    let strict = session.rye(&format!("verify {COUNT} --strict"));
    let rendered = session.rye("render count");
    for output in [&verified, &strict, &rendered] {
        assert!(output.ends_with("--- exit 3\n"), "{output}");
    }
    insta::assert_snapshot!(format!("{verified}\n{strict}\n{rendered}"));
    let policy = session.home().join(".ai/config/trust.yaml");
    fs::write(&policy, "metadata_only: allow\n").unwrap();
    session.rye("keys import KEY");
    session.rye(&format!("sign {}", policy.display()));
    assert!(session.rye("render count").ends_with("--- exit 0\n"));
    assert!(session.rye(&format!("verify {COUNT}")).ends_with("--- exit 0\n"));
}

/// What binds no name is accepted with a note, and refused under a stricter policy.
#[test]
fn content_only() {
    let session = trusting();
    session.put(COUNT, CONTENT_ONLY);
    let verified = session.rye(&format!("verify {COUNT}"));
    assert!(verified.ends_with("--- exit 0\n"), "{verified}");
    assert!(session.rye("render count").ends_with("--- exit 0\n"));
    insta::assert_snapshot!(format!(
        "{verified}\n{}",
        session.rye(&format!("verify {COUNT} --strict"))
    ));
    session.put(".ai/config/trust.yaml", "content_only: deny\n");
    session.rye("keys import KEY");
    session.rye("sign .ai/config/trust.yaml");
    check_refused("content_only_denied", &session, COUNT, "count");
}
