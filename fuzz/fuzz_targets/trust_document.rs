//! Trust documents: what is read is read again from what it is written as, and a project cannot vouch for itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_sign::{Origin, Timestamp, TrustDocument, TrustStore};

fuzz_target!(|text: &str| {
    let now = Timestamp::from_unix(1_800_000_000);
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
});
