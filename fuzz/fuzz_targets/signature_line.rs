//! Signature lines: nothing verifies under an empty trust store, what was signed here verifies as that item alone, and
//! one more or another character breaks it.
//!
//! The input's first character chooses the comment style, the rest is the text.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use rye_sign::{CommentStyle, ItemName, Policy, SigningKey, TrustStore, Unverified};
use rye_types::Timestamp;

/// Which key signs makes no difference to any assertion, so a new one for each process will do.
static KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate().expect("the system gives random bytes"));

static TRUST: LazyLock<TrustStore> = LazyLock::new(|| {
    let mut trust = TrustStore::new();
    trust.trust_key("the fuzzer", KEY.public());
    trust
});

fuzz_target!(|input: &str| {
    let mut characters = input.chars();
    let style = match characters.next() {
        Some('<') => CommentStyle::Html,
        Some('#') => CommentStyle::Hash,
        _ => CommentStyle::Slash,
    };
    let text = characters.as_str();
    assert!(!verifies(text, style, "a/b", &TrustStore::new()), "nobody is trusted");

    let at = Timestamp::from_unix(1_790_000_000);
    let signed = rye_sign::sign(text, style, &item("a/b"), &KEY, at);
    assert!(verifies(&signed, style, "a/b", &TRUST), "what was signed verifies");
    assert!(!verifies(&signed, style, "a/c", &TRUST), "and not under another id");
    assert!(!verifies(&format!("{signed}x"), style, "a/b", &TRUST), "nor with a character more");
    assert!(!verifies(&changed(&signed, text.len()), style, "a/b", &TRUST), "nor with another one");
    assert_eq!(
        rye_sign::sign(&signed, style, &item("a/b"), &KEY, at),
        signed,
        "signing again changes nothing"
    );
});

/// The text with the character near `place`, counted around, replaced by one that means something else there: neither a
/// line end nor a letter of base64 that has two spellings.
fn changed(text: &str, place: usize) -> String {
    let place = place.wrapping_mul(31) % text.chars().count();
    let other = |c| if c == 'A' { 'B' } else { 'A' };
    text.chars().enumerate().map(|(at, c)| if at == place { other(c) } else { c }).collect()
}

fn item(id: &str) -> ItemName {
    ItemName::new("directive", id).expect("a name that is one")
}

fn verifies(text: &str, style: CommentStyle, id: &str, trust: &TrustStore) -> bool {
    let now = Timestamp::from_unix(1_800_000_000);
    let located = Unverified::locate(text, style);
    located.is_ok_and(|unverified| {
        unverified.verify(&item(id), trust, &Policy::default(), now).is_ok()
    })
}
