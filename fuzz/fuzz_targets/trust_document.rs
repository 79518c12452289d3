//! Trust documents: what is read is read again from what it is written as, a project cannot vouch for itself, and what
//! the operator signed for a project counts there as it was signed and not otherwise. The same of revocation lists.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rye_sign::{CommentStyle, Origin, RevocationList, SigningKey, TrustDocument, TrustStore};
use rye_types::Timestamp;

static KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate().expect("the system gives random bytes"));

fuzz_target!(|text: &str| {
    let now = Timestamp::from_unix(1_800_000_000);
    list(text, now);
    let mut store = TrustStore::new();
    assert!(store.admit(text, None, Origin::Project, now).is_err(), "nobody vouches for a project");
    assert!(store.key_ids().is_empty(), "and so no key counts");

    let admission = store.admit(text, None, Origin::Operator, now);
    let Ok(document) = TrustDocument::parse(text) else {
        assert!(admission.is_err(), "what cannot be read is not admitted");
        return;
    };
    let written = document.to_toml();
    assert_eq!(TrustDocument::parse(&written).as_ref(), Ok(&document), "what was read is kept");
    assert_eq!(store.find(document.key().key_id()).is_some(), admission.is_ok());

    let signed = rye_sign::sign(&written, CommentStyle::Hash, &document.item_name(), &KEY, now);
    assert!(counts(&signed, now), "the operator vouches for it");
    let place = text.len().wrapping_mul(31) % signed.chars().count();
    let other = |c| if c == 'A' { 'B' } else { 'A' };
    let changed: String =
        signed.chars().enumerate().map(|(at, c)| if at == place { other(c) } else { c }).collect();
    assert!(!counts(&changed, now), "and for nothing else");
});

fn list(text: &str, now: Timestamp) {
    let admitted = TrustStore::new().admit_list(text, "the list", Origin::Project, now);
    assert!(admitted.is_err(), "nobody vouches for a project");
    let Ok(list) = RevocationList::parse(text) else { return };
    let written = list.to_toml();
    assert_eq!(RevocationList::parse(&written).as_ref(), Ok(&list), "what was read is kept");
    let name = RevocationList::item_name();
    let signed = rye_sign::sign(&written, CommentStyle::Hash, &name, &KEY, now);
    let mut store = TrustStore::new();
    store.trust_key("the fuzzer", KEY.public());
    let admitted = store.admit_list(&signed, "the list", Origin::Project, now);
    assert!(admitted.is_ok(), "the operator vouches for it");
}

fn counts(text: &str, now: Timestamp) -> bool {
    let mut store = TrustStore::new();
    store.trust_key("the fuzzer", KEY.public());
    store.admit(text, None, Origin::Project, now).is_ok()
}
