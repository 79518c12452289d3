//! Drafts, and the values that a person may be shown.

use rye_sign::{
    Binding, CommentStyle, Coverage, Note, Origin, Provenance, Shown, TrustDocument, TrustStore,
    Unverified, Verified, sign,
};
use rye_types::Timestamp;

use crate::{at, item, key, now, trusting};

fn signed(seed: u8) -> String {
    sign("text\r\n", CommentStyle::Html, &item("knowledge", "a/b"), &key(seed), now())
}

fn changed(seed: u8) -> String {
    signed(seed) + "more\r\n"
}

/// The operator's key 1 with these fields.
fn store(change: impl FnOnce(TrustDocument) -> TrustDocument) -> TrustStore {
    let mut trust = TrustStore::new();
    let document = change(TrustDocument::new("Ada", key(1).public()));
    trust.admit(&document.to_toml(), None, Origin::Operator, now()).expect("counts");
    trust
}

#[test]
fn a_changed_text_that_the_operator_signed_is_a_draft() {
    let name = item("knowledge", "a/b");
    let text = changed(1);
    let trust = store(|document| document.with_grants(["rye.load.*".to_owned()]));
    let unverified = Unverified::locate(&text, CommentStyle::Html).expect("a signature line");
    assert!(!unverified.is_as_stated());
    let draft = unverified.draft(&name, &key(1).public(), &trust, now()).expect("a draft");
    assert_eq!(draft.text(), text);
    let signature = draft.signature().clone();
    assert_eq!((signature.key_id(), signature.owner()), (key(1).public().key_id(), Some("Ada")));
    assert_eq!(signature.grants(), [["rye.load.*".to_owned()]]);
    assert_eq!((signature.coverage(), signature.binding()), (Coverage::Whole, Binding::Bound));
    assert_eq!((signature.at(), signature.item()), (now(), Some(&name)));
    let shown = Shown::from(draft);
    assert_eq!(*shown.value(), text.replace("\r\n", "\n"));
    assert_eq!(shown.provenance(), &Provenance::Draft(signature));
    assert_eq!(shown.as_verified(), None);
}

#[test]
fn a_draft_from_the_future_is_noted() {
    let text = changed(1);
    let unverified = Unverified::locate(&text, CommentStyle::Html).expect("a signature line");
    let notes = |now: Timestamp| {
        let draft = unverified.draft(
            &item("knowledge", "a/b"),
            &key(1).public(),
            &store(|document| document),
            now,
        );
        draft.expect("a draft").signature().notes().to_vec()
    };
    assert_eq!(notes(at("2026-11-20T17:59:59Z")), [Note::FromTheFuture]);
    assert_eq!(notes(now()), []);
    assert_eq!(notes(at("2026-11-20T18:00:01Z")), []);
}

#[test]
fn no_other_text_is_a_draft() {
    let ended = at("2026-01-01T00:00:00Z");
    let claimed =
        changed(2).replace(key(2).public().key_id().as_str(), key(1).public().key_id().as_str());
    let as_is = || store(|document| document);
    for (case, text, id, seed, trust) in [
        ("as it was signed", signed(1), "a/b", 1, as_is()),
        ("under another name", changed(1), "a/c", 1, as_is()),
        ("by a key of nobody", changed(1), "a/b", 1, TrustStore::new()),
        ("by another key", changed(2), "a/b", 1, trusting(&[&key(1), &key(2)])),
        ("by a key that is not the own one", changed(1), "a/b", 2, trusting(&[&key(1), &key(2)])),
        ("by a key that another claims to be", claimed, "a/b", 1, as_is()),
        ("by an expired key", changed(1), "a/b", 1, store(|key| key.with_expires(ended))),
        ("by a revoked key", changed(1), "a/b", 1, store(|key| key.with_revoked(ended))),
    ] {
        let unverified = Unverified::locate(&text, CommentStyle::Html).expect("a signature line");
        assert_eq!(unverified.is_as_stated(), text == signed(1), "{case}");
        let own = key(seed).public();
        let draft = unverified.draft(&item("knowledge", id), &own, &trust, now());
        assert!(draft.is_none(), "{case}");
    }
}

#[test]
fn a_verified_value_is_shown_and_stays_verified() {
    let shown = Shown::from(Verified::builtin("12")).map(str::len);
    assert_eq!((shown.value(), shown.provenance()), (&2, &Provenance::Builtin));
    let verified = shown.as_verified().expect("no draft");
    assert_eq!((*verified.value(), verified.provenance()), (&2, &Provenance::Builtin));
    let read = |text| Shown::from(Verified::builtin(text)).try_map(str::parse::<u8>);
    assert_eq!(read("12").map(|shown| *shown.value()), Ok(12));
    assert!(read("twelve").is_err());
}

#[test]
fn verified_text_is_owned_with_the_line_ends_of_its_digest() {
    let verified = Verified::builtin("a\r\nb\rc\n");
    assert_eq!(verified.as_ref().value(), &verified.value());
    let owned = verified.to_owned_text();
    assert_eq!((owned.value().as_str(), owned.provenance()), ("a\nb\rc\n", &Provenance::Builtin));
}
