//! The signed files of the founding documents.

use rye::sign::{
    AdmissionNote, Binding, CommentStyle, Coverage, Error, ItemName, Note, Origin, Policy,
    Provenance, Signature, TrustStore, Unverified, Verified,
};
use rye::types::Timestamp;
use rye_tests::{seed, seeds};

fn document() -> String {
    std::fs::read_to_string(seeds().join("trusted/6ea18199041a1ea8.toml")).unwrap()
}

fn trust() -> TrustStore {
    let mut trust = TrustStore::new();
    trust.admit(&document(), Some("6ea18199041a1ea8"), Origin::Operator, now()).unwrap();
    trust
}

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn item(kind: &str, id: &str) -> ItemName {
    ItemName::new(kind, id).unwrap()
}

fn verify<'a>(
    text: &'a str,
    style: CommentStyle,
    item: &ItemName,
    trust: &TrustStore,
    policy: &Policy,
) -> Result<Verified<&'a str>, Error> {
    Unverified::locate(text, style)?.verify(item, trust, policy, now())
}

#[track_caller]
fn facts<T>(verified: &Verified<T>) -> &Signature {
    match verified.provenance() {
        Provenance::Signed(signature) => signature,
        other => panic!("signed, not {other:?}"),
    }
}

/// Asserts the whole message of an error.
#[track_caller]
fn check_error<T, E: std::fmt::Display>(result: Result<T, E>, message: &str) {
    match result {
        Ok(_) => panic!("refused: {message}"),
        Err(error) => assert_eq!(error.to_string(), message),
    }
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn a_whole_content_only_signature() {
    let text = seed("000");
    let trust = trust();
    let knowledge = item("knowledge", "any/name");
    let verified = verify(&text, CommentStyle::Html, &knowledge, &trust, &Policy::default())
        .expect("verified");
    let signature = facts(&verified);
    assert_eq!(
        (signature.coverage(), signature.binding()),
        (Coverage::Whole, Binding::ContentOnly)
    );
    assert_eq!((signature.owner(), signature.item()), (Some("github-ci"), None));
    assert_eq!(signature.at().to_string(), "2026-04-06T04:31:43Z");
    assert_eq!(signature.notes(), [Note::ContentOnly]);
    assert_eq!(*verified.value(), text);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn line_ends_of_a_checkout_do_not_matter() {
    let text = seed("000");
    let trust = trust();
    let text = text.replace('\n', "\r\n");
    let verified =
        verify(&text, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default());
    assert_eq!(facts(&verified.expect("verified")).coverage(), Coverage::Whole);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn strictness_refuses_a_content_only_signature() {
    let text = seed("000");
    let trust = trust();
    check_error(
        verify(
            &text,
            CommentStyle::Html,
            &item("knowledge", "a"),
            &trust,
            &Policy::default().strict(),
        ),
        "the signature of the key `6ea18199041a1ea8` is of the old form that does not bind the item's kind and id, which the policy refuses; review the file and sign it again with `rye sign`, or allow it with `trust.content_only: allow` and without `--strict`",
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn one_changed_byte_is_tampered() {
    let text = seed("000");
    let trust = trust();
    let changed = format!("{}!", text.strip_suffix('\n').expect("a final line end"));
    check_error(
        verify(&changed, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default()),
        "tampered: the signature line states the digest `3a8867b33d95…`, the text has `e695300ea42e…`; restore the file, or review the change and sign it again with `rye sign`",
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn the_unsigned_marker_below_the_signature_is_content() {
    let text = seed("000");
    let trust = trust();
    let without = text.replacen("<!-- rye:unsigned -->\n", "", 1);
    assert_ne!(text, without);
    assert!(
        verify(&without, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default())
            .is_err()
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn a_directive_of_which_the_metadata_is_signed() {
    let text = seed("004");
    let trust = trust();
    let directive = item("directive", "rye/core/create_threaded_directive");
    check_error(
        verify(&text, CommentStyle::Html, &directive, &trust, &Policy::default()),
        "not covered: the signature of the key `6ea18199041a1ea8` covers only the `<directive>` element, not the text around it that the model follows; review the file and sign it again with `rye sign`, or set `trust.metadata_only: allow`",
    );
    let policy = Policy::default().allow_metadata_only();
    let verified = verify(&text, CommentStyle::Html, &directive, &trust, &policy).expect("allowed");
    let signature = facts(&verified);
    assert_eq!(
        (signature.coverage(), signature.binding()),
        (Coverage::MetadataOnly, Binding::ContentOnly)
    );
    assert_eq!(signature.notes(), [Note::MetadataOnly, Note::ContentOnly]);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn only_a_directive_has_metadata_coverage() {
    let text = seed("004");
    let trust = trust();
    let policy = Policy::default().allow_metadata_only();
    let refused = verify(&text, CommentStyle::Html, &item("knowledge", "a"), &trust, &policy);
    assert!(matches!(refused, Err(Error::Tampered { .. })));
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn an_unknown_key_is_named_with_the_trusted_ones() {
    let text = seed("003");
    let trust = trust();
    check_error(
        verify(&text, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default()),
        "signed by the unknown key `9fbfabe975fa5a7f`; trusted are `6ea18199041a1ea8`; if you know its owner, `rye trust add FILE` accepts its trust document or public key, and `--trust FILE` a document for one command",
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn the_trust_document_is_signed_whole_by_a_key_without_document() {
    let text = document();
    let unverified = Unverified::locate(&text, CommentStyle::Hash).expect("a signature line");
    assert_eq!(unverified.key_id().as_str(), "4b987fd4e40303ac");
    let admission =
        TrustStore::new().admit(&text, None, Origin::Operator, now()).expect("a good document");
    assert_eq!(admission.owner, "github-ci");
    let signer = "4b987fd4e40303ac".parse().expect("a key id");
    assert_eq!(admission.notes, [AdmissionNote::UnknownSigner { signer }]);
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn the_trust_document_does_not_count_in_a_project() {
    let text = document();
    check_error(
        TrustStore::new().admit(&text, None, Origin::Project, now()),
        "a project cannot vouch for itself: its trust document for the key `6ea18199041a1ea8` is signed by `4b987fd4e40303ac`, and counts only when a key that you trust signed it; compare its fingerprint with the owner, then accept it with `rye trust add 6ea18199041a1ea8`, or name a copy outside of the project with `--trust FILE`",
    );
}

#[test]
#[cfg_attr(not(seeds), ignore = "the founding documents are not at `../shared/seeds`")]
fn a_tampered_trust_document_never_counts() {
    let text = document();
    let changed = text.replace("github-ci", "github-cj");
    for origin in [Origin::Operator, Origin::Project, Origin::Run] {
        let refused = TrustStore::new().admit(&changed, None, origin, now());
        check_error(
            refused,
            "the trust document for the key `6ea18199041a1ea8` fails verification",
        );
    }
}
