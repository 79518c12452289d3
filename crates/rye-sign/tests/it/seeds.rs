//! Files that were really signed, where the checkout has them beside it.

use std::path::PathBuf;

use rye_sign::{
    AdmissionNote, Binding, CommentStyle, Coverage, Note, Origin, Policy, TrustStore, Unverified,
};

use crate::{check_error, facts, item, now, verify};

/// The text of a seed; its absence is said, and leaves the known answers of the unit tests.
#[expect(clippy::print_stdout, reason = "a skipped test must be visible")]
fn seed(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/seeds").join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: there is no {}", path.display());
    }
    text
}

fn trust() -> Option<TrustStore> {
    let mut trust = TrustStore::new();
    let text = seed("trusted/6ea18199041a1ea8.toml")?;
    trust.admit(&text, Some("6ea18199041a1ea8"), Origin::Operator, now()).expect("a good document");
    Some(trust)
}

#[test]
fn a_whole_content_only_signature() {
    let (Some(text), Some(trust)) = (seed("000_0e862539f4d3adcf.txt"), trust()) else { return };
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
fn line_ends_of_a_checkout_do_not_matter() {
    let (Some(text), Some(trust)) = (seed("000_0e862539f4d3adcf.txt"), trust()) else { return };
    let text = text.replace('\n', "\r\n");
    let verified =
        verify(&text, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default());
    assert_eq!(facts(&verified.expect("verified")).coverage(), Coverage::Whole);
}

#[test]
fn strictness_refuses_a_content_only_signature() {
    let (Some(text), Some(trust)) = (seed("000_0e862539f4d3adcf.txt"), trust()) else { return };
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
fn one_changed_byte_is_tampered() {
    let (Some(text), Some(trust)) = (seed("000_0e862539f4d3adcf.txt"), trust()) else { return };
    let changed = format!("{}!", text.strip_suffix('\n').expect("a final line end"));
    check_error(
        verify(&changed, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default()),
        "tampered: the signature line states the digest `3a8867b33d95…`, the text has `e695300ea42e…`; restore the file, or review the change and sign it again with `rye sign`",
    );
}

#[test]
fn the_unsigned_marker_below_the_signature_is_content() {
    let (Some(text), Some(trust)) = (seed("000_0e862539f4d3adcf.txt"), trust()) else { return };
    let without = text.replacen("<!-- rye:unsigned -->\n", "", 1);
    assert_ne!(text, without);
    assert!(
        verify(&without, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default())
            .is_err()
    );
}

#[test]
fn a_directive_of_which_the_metadata_is_signed() {
    let (Some(text), Some(trust)) = (seed("004_72ad8f251770e6e6.txt"), trust()) else { return };
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
fn only_a_directive_has_metadata_coverage() {
    let (Some(text), Some(trust)) = (seed("004_72ad8f251770e6e6.txt"), trust()) else { return };
    let policy = Policy::default().allow_metadata_only();
    let refused = verify(&text, CommentStyle::Html, &item("knowledge", "a"), &trust, &policy);
    assert!(matches!(refused, Err(rye_sign::Error::Tampered { .. })));
}

#[test]
fn an_unknown_key_is_named_with_the_trusted_ones() {
    let (Some(text), Some(trust)) = (seed("003_22c2f89ed7d3a299.txt"), trust()) else { return };
    check_error(
        verify(&text, CommentStyle::Html, &item("knowledge", "a"), &trust, &Policy::default()),
        "signed by the unknown key `9fbfabe975fa5a7f`; trusted are `6ea18199041a1ea8`; if you know its owner, `rye trust add FILE` accepts its trust document or public key, `rye trust add 9fbfabe975fa5a7f` the document that the project carries, and `--trust FILE` a document for one command",
    );
}

#[test]
fn the_trust_document_is_signed_whole_by_a_key_without_document() {
    let Some(text) = seed("trusted/6ea18199041a1ea8.toml") else { return };
    let unverified = Unverified::locate(&text, CommentStyle::Hash).expect("a signature line");
    assert_eq!(unverified.key_id().as_str(), "4b987fd4e40303ac");
    let admission =
        TrustStore::new().admit(&text, None, Origin::Operator, now()).expect("a good document");
    assert_eq!(admission.owner, "github-ci");
    let signer = "4b987fd4e40303ac".parse().expect("a key id");
    assert_eq!(admission.notes, [AdmissionNote::UnknownSigner { signer }]);
}

#[test]
fn the_trust_document_does_not_count_in_a_project() {
    let Some(text) = seed("trusted/6ea18199041a1ea8.toml") else { return };
    check_error(
        TrustStore::new().admit(&text, None, Origin::Project, now()),
        "a project cannot vouch for itself: its trust document for the key `6ea18199041a1ea8` is signed by `4b987fd4e40303ac`, and counts only when a key that you trust signed it; compare its fingerprint with the owner, then accept it with `rye trust add 6ea18199041a1ea8`, or with `--trust FILE` for one command",
    );
}

#[test]
fn a_tampered_trust_document_never_counts() {
    let Some(text) = seed("trusted/6ea18199041a1ea8.toml") else { return };
    let changed = text.replace("github-ci", "github-cj");
    for origin in [Origin::Operator, Origin::Project, Origin::Run] {
        let refused = TrustStore::new().admit(&changed, None, origin, now());
        check_error(
            refused,
            "the trust document for the key `6ea18199041a1ea8` fails verification",
        );
    }
}
