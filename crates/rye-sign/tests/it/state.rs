//! Changes that alter the verification state, and changes that do not.

use rye_sign::{
    Origin, Policy, RevocationList, RevokedKey, TrustDocument, TrustStore, verification_state,
};
use rye_types::Timestamp;

use crate::{at, key, now};

fn document(seed: u8) -> TrustDocument {
    TrustDocument::new("someone", key(seed).public())
}

fn store(documents: &[TrustDocument], origin: Origin) -> TrustStore {
    let mut trust = TrustStore::new();
    for document in documents {
        trust.admit(&document.to_toml(), None, origin, now()).expect("counts");
    }
    trust
}

fn state(documents: &[TrustDocument], policy: &Policy, now: Timestamp) -> String {
    verification_state(&store(documents, Origin::Operator), policy, now).to_string()
}

#[track_caller]
fn differs(name: &str, documents: &[TrustDocument]) {
    let policy = Policy::default();
    let before = state(&[document(1)], &policy, now());
    assert_ne!(state(documents, &policy, now()), before, "{name}");
}

#[test]
fn every_change_of_trust_is_another_state() {
    differs("a key is gone", &[]);
    differs("a key is added", &[document(1), document(2)]);
    differs("another key", &[document(2)]);
    differs("another owner", &[TrustDocument::new("else", key(1).public())]);
    differs("grants", &[document(1).with_grants(["rye.*".to_owned()])]);
    differs("no grants at all", &[document(1).with_grants([])]);
    differs("revoked", &[document(1).with_revoked(now())]);
    differs("expires", &[document(1).with_expires(at("2030-01-01T00:00:00Z"))]);
}

#[test]
fn every_policy_is_another_state() {
    let policies = [
        Policy::default(),
        Policy::default().allow_metadata_only(),
        Policy::default().deny_content_only(),
        Policy::default().dangerous_allow_unsigned(),
        Policy::default().allow_metadata_only().dangerous_allow_unsigned(),
    ];
    let mut states: Vec<_> =
        policies.iter().map(|policy| state(&[document(1)], policy, now())).collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), policies.len());
}

#[test]
fn where_a_key_comes_from_is_part_of_it() {
    let [operator, run] = [Origin::Operator, Origin::Run].map(|origin| {
        verification_state(&store(&[document(1)], origin), &Policy::default(), now())
    });
    assert_ne!(operator, run);
}

#[test]
fn time_matters_when_a_key_expires_and_only_then() {
    let documents = [document(1).with_expires(at("2030-01-01T00:00:00Z")), document(2)];
    let state = |time| state(&documents, &Policy::default(), at(time));
    assert_eq!(state("2029-01-01T00:00:00Z"), state("2029-12-31T23:59:59Z"));
    assert_ne!(state("2029-12-31T23:59:59Z"), state("2030-01-01T00:00:00Z"));
    assert_eq!(state("2030-01-01T00:00:00Z"), state("2031-01-01T00:00:00Z"));
}

#[test]
fn the_order_of_documents_does_not_matter() {
    let policy = Policy::default();
    assert_eq!(
        state(&[document(1), document(2)], &policy, now()),
        state(&[document(2), document(1)], &policy, now())
    );
}

/// The message of a refusal names the list, so another list is another state.
#[test]
fn another_list_of_the_same_time_is_another_state() {
    let revoked = |reason: &str, file: &str| {
        let mut trust = store(&[document(1)], Origin::Operator);
        let entry = RevokedKey::new(key(1).public().key_id().clone(), now(), reason);
        let list = RevocationList::default().with(entry).to_toml();
        trust.admit_list(&list, file, Origin::Operator, now()).expect("counts");
        verification_state(&trust, &Policy::default(), now())
    };
    assert_eq!(revoked("lost", "a"), revoked("lost", "a"));
    assert_ne!(revoked("lost", "a"), revoked("stolen", "a"));
    assert_ne!(revoked("lost", "a"), revoked("lost", "b"));
}
