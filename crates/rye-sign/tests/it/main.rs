//! Tests of the public behaviour of the crate.

mod chain;
mod detached;
mod draft;
mod json;
mod line;
mod properties;
mod revocation;
mod sign;
mod state;
mod token;
mod trust;
mod verify;

use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{EncodePrivateKey as _, KeypairBytes};
use proptest::prelude::ProptestConfig;
use rye_sign::{
    CommentStyle, Digest, Error, ItemName, Policy, Provenance, Signature, SigningKey, TrustStore,
    Unverified, Verified,
};
use rye_types::Timestamp;

const NOW: &str = "2026-11-20T18:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time literal")
}

fn now() -> Timestamp {
    at(NOW)
}

/// Many cases for the promises of a format. Each needs one signature, or none, and hardly any verification.
///
/// The macro `proptest!` would take `PROPTEST_CASES` in the place of any other number.
fn many_cases() -> ProptestConfig {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
    ProptestConfig { cases: (config.cases * 8).min(config.cases.max(10_000)), ..config }
}

fn item(kind: &str, id: &str) -> ItemName {
    ItemName::new(kind, id).expect("a name literal")
}

/// Returns a key that is the same in every run.
fn key(seed: u8) -> SigningKey {
    let pair = KeypairBytes { secret_key: [seed; 32], public_key: None };
    let pem = pair.to_pkcs8_pem(LineEnding::LF).expect("32 bytes encode");
    SigningKey::from_pkcs8_pem(&pem).expect("a good key")
}

fn trusting(keys: &[&SigningKey]) -> TrustStore {
    let mut trust = TrustStore::new();
    keys.iter().for_each(|key| trust.trust_key("owner", key.public()));
    trust
}

/// The message of an old signature.
#[derive(Clone, Copy)]
enum OldMessage {
    Hex,
    Raw,
}

/// Returns the fields of an old signature over the covered text.
fn old_fields(covered: &str, seed: u8, message: OldMessage) -> String {
    let digest = Digest::of(covered.as_bytes());
    let dalek = ed25519_dalek::SigningKey::from_bytes(&[seed; 32]);
    let signature = match message {
        OldMessage::Hex => dalek.sign(digest.to_string().as_bytes()),
        OldMessage::Raw => dalek.sign(digest.as_bytes()),
    };
    let key_id = key(seed).public().key_id().clone();
    format!("rye:signed:2026-03-16T11:29:10Z:{digest}:{}:{key_id}", base64(&signature.to_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE.encode(bytes)
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
