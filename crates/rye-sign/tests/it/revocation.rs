//! Acceptance of revocation lists.

use proptest::prelude::*;
use rye_sign::{
    AdmissionNote, CommentStyle, Error, Origin, Policy, RevocationError, RevocationList,
    RevokedKey, SigningKey, TrustDocument, TrustStore, sign, verification_state,
};

use crate::{at, check_error, item, key, now, trusting, verify};

/// A list that revokes the key of `seed`.
fn list(seed: u8) -> RevocationList {
    let entry = RevokedKey::new(key(seed).public().key_id().clone(), now(), "left the team");
    RevocationList::default().with(entry)
}

fn signed_by(signer: &SigningKey, list: &RevocationList) -> String {
    sign(&list.to_toml(), CommentStyle::Hash, &RevocationList::item_name(), signer, now())
}

/// The operator's key 1 with these fields, key 2 of a document of the project that key 1 signed, and key 3 of the run.
fn store(change: impl FnOnce(TrustDocument) -> TrustDocument) -> TrustStore {
    let mut trust = TrustStore::new();
    let operator = change(TrustDocument::new("operator", key(1).public()));
    let second = TrustDocument::new("second", key(2).public());
    let by_first = sign(&second.to_toml(), CommentStyle::Hash, &second.item_name(), &key(1), now());
    let third = TrustDocument::new("third", key(3).public()).to_toml();
    trust.admit(&by_first, None, Origin::Project, now()).expect_err("not yet");
    trust.admit(&operator.to_toml(), None, Origin::Operator, now()).expect("counts");
    trust.admit(&third, None, Origin::Run, now()).expect("counts");
    drop(trust.admit(&by_first, None, Origin::Project, now()));
    trust
}

fn told(result: &Result<Vec<AdmissionNote>, RevocationError>) -> String {
    match result {
        Ok(notes) => {
            let notes: Vec<String> = notes.iter().map(|note| format!("{note:?}")).collect();
            let names = notes.iter().map(|note| note.split([' ', '{']).next().unwrap_or_default());
            names.fold("counts".to_owned(), |told, name| format!("{told} {name}"))
        }
        Err(RevocationError::NotVouched { .. }) => "not vouched".to_owned(),
        Err(RevocationError::Unverified { source }) => source.code().to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

/// Each signature on a list, and what comes of the list in the operator's spaces and in a project. A key is revoked where the list
/// counts, and only there.
#[test]
fn a_list_counts_by_its_place_and_its_signature() {
    let plain = list(4).to_toml();
    let by = |seed: u8| signed_by(&key(seed), &list(4));
    let edited = by(1).replace("left the team", "stayed");
    let forged =
        by(1).replace(key(1).public().key_id().as_str(), key(2).public().key_id().as_str());
    let elsewhere = TrustDocument::new("x", key(4).public()).item_name();
    let moved = sign(&plain, CommentStyle::Hash, &elsewhere, &key(1), now());
    let as_is: fn(TrustDocument) -> TrustDocument = |document| document;
    let narrow: fn(TrustDocument) -> TrustDocument = |document| document.with_grants([]);
    let revoked: fn(TrustDocument) -> TrustDocument =
        |document| document.with_revoked(at("2026-01-01T00:00:00Z"));
    let expired: fn(TrustDocument) -> TrustDocument =
        |document| document.with_expires(at("2026-01-01T00:00:00Z"));
    for (name, operator, text, in_user_space, in_project) in [
        ("unsigned", as_is, plain.clone(), "counts Unsigned", "not vouched"),
        ("by the operator", as_is, by(1), "counts", "counts"),
        ("by a key that may grant nothing", narrow, by(1), "counts", "counts"),
        ("by a key of the project", as_is, by(2), "counts", "not vouched"),
        ("by a key of the run", as_is, by(3), "counts", "not vouched"),
        ("by the key that it revokes", as_is, by(4), "counts UnknownSigner", "not vouched"),
        ("by an unknown key", as_is, by(5), "counts UnknownSigner", "not vouched"),
        ("by a key that was revoked", revoked, by(1), "counts SignerEnded", "counts SignerEnded"),
        ("by a key that expired", expired, by(1), "counts SignerEnded", "counts SignerEnded"),
        ("edited", as_is, edited, "tampered", "tampered"),
        ("with another key in its line", as_is, forged, "bad-signature", "bad-signature"),
        ("signed as a document", as_is, moved, "bad-signature", "bad-signature"),
    ] {
        for (origin, expected) in [(Origin::Operator, in_user_space), (Origin::Project, in_project)]
        {
            let mut trust = store(operator);
            let admitted = trust.admit_list(&text, "the list", origin, now());
            assert_eq!(told(&admitted.map(|it| it.notes)), expected, "{name}: {origin:?}");
            let fourth = TrustDocument::new("fourth", key(4).public()).to_toml();
            trust.admit(&fourth, None, Origin::Run, now()).expect("counts");
            let is_revoked =
                |trust: &TrustStore| trust.find(key(4).public().key_id()).expect("known").revoked();
            let counts = expected.starts_with("counts");
            assert_eq!(is_revoked(&trust).is_some(), counts, "{name}: {origin:?}");
            // The project's list holds for the project alone.
            let outside = trust.outside_project().unwrap_or(trust);
            let holds = counts && origin == Origin::Operator;
            assert_eq!(is_revoked(&outside).is_some(), holds, "{name}: {origin:?} outside");
        }
    }
}

#[test]
fn a_verdict_names_the_list_its_signer_and_the_reason() {
    let mut trust = trusting(&[&key(1)]);
    let policy = Policy::default();
    let name = item("directive", "a");
    let text = sign("text\n", CommentStyle::Html, &name, &key(1), now());
    let verify =
        |trust: &TrustStore| verify(&text, CommentStyle::Html, &name, trust, &policy).map(|_| ());
    let before = verification_state(&trust, &policy, now());
    // A list may revoke its own signer: nothing is given back when it does.
    let own = signed_by(&key(1), &list(1));
    trust.admit_list(&own, ".ai/config/keys/revoked.toml", Origin::Project, now()).expect("counts");
    let id = key(1).public().key_id().clone();
    let error = verify(&trust).expect_err("revoked");
    assert!(matches!(error, Error::Revoked { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!(
            "the key `{id}` was revoked at {} by `.ai/config/keys/revoked.toml`, signed by `{id}` (\"left the team\"); review the file and sign it again with another key and `rye sign`",
            now()
        )
    );
    assert_ne!(verification_state(&trust, &policy, now()), before);
    let outside = trust.outside_project().expect("it differs");
    assert!(verify(&outside).is_ok());
    assert_eq!(verification_state(&outside, &policy, now()), before);
}

/// A document that a revoked key signed does not count, if the list is read first.
#[test]
fn a_revoked_key_vouches_for_no_other() {
    let mut trust = trusting(&[&key(1)]);
    let list = signed_by(&key(1), &list(1));
    trust.admit_list(&list, "the list", Origin::Project, now()).expect("counts");
    let second = TrustDocument::new("second", key(2).public());
    let text = sign(&second.to_toml(), CommentStyle::Hash, &second.item_name(), &key(1), now());
    trust.admit(&text, None, Origin::Project, now()).expect_err("refused");
    assert!(trust.find(key(2).public().key_id()).is_none());
}

/// A list that was read before a document of the project counts also after a document of the run.
#[test]
fn a_document_of_the_run_hides_no_list() {
    let mut trust = trusting(&[&key(1)]);
    trust.admit_list(&list(2).to_toml(), "the list", Origin::Operator, now()).expect("counts");
    let second = TrustDocument::new("second", key(2).public());
    let text = sign(&second.to_toml(), CommentStyle::Hash, &second.item_name(), &key(1), now());
    trust.admit(&text, None, Origin::Project, now()).expect("vouched for");
    trust.admit(&second.to_toml(), None, Origin::Run, now()).expect("counts");
    let trusted = trust.find(key(2).public().key_id()).expect("known");
    assert_eq!((trusted.revoked(), trusted.origin()), (Some(now()), Origin::Run));
    let outside = trust.outside_project().expect("the project limits the key");
    assert_eq!(outside.find(key(2).public().key_id()).expect("known").revoked(), Some(now()));
}

/// A list of the operator that is read behind a document of the project holds outside of the project, too.
#[test]
fn a_later_list_holds_outside_of_the_project() {
    let mut trust = trusting(&[&key(1), &key(2)]);
    let second = TrustDocument::new("second", key(2).public());
    let text = sign(&second.to_toml(), CommentStyle::Hash, &second.item_name(), &key(1), now());
    trust.admit(&text, None, Origin::Project, now()).expect("vouched for");
    trust.admit_list(&list(2).to_toml(), "the list", Origin::Operator, now()).expect("counts");
    for trust in [trust.outside_project().expect("the project limits the key"), trust] {
        let trusted = trust.find(key(2).public().key_id()).expect("known");
        assert_eq!(trusted.revoked(), Some(now()));
    }
}

/// The earliest revocation is told, and a document of the operator's hides no list.
#[test]
fn the_earliest_revocation_is_told() {
    let mut trust = TrustStore::new();
    let revoked = TrustDocument::new("x", key(1).public()).with_revoked(at("2026-11-20T00:00:00Z"));
    trust.admit(&revoked.to_toml(), None, Origin::Operator, now()).expect("counts");
    let id = key(1).public().fingerprint().clone();
    for (time, by) in [
        ("2026-11-21T00:00:00Z", None),
        ("2026-11-19T00:00:00Z", Some("early")),
        ("2026-11-20T00:00:00Z", Some("early")),
    ] {
        let entry = RevokedKey::new(id.clone(), at(time), "");
        let text = RevocationList::default().with(entry).to_toml();
        trust.admit_list(&text, "early", Origin::Operator, now()).expect("counts");
        let revocation = trust.find(&id).and_then(|key| key.revocation()).expect("revoked");
        assert_eq!(revocation.by.map(|list| list.file).as_deref(), by);
    }
}

#[test]
fn the_signer_of_a_list_is_told() {
    let signer = key(9).public().key_id().clone();
    let fix = "in a project, a list counts only when a key that your user space or a system root trusts signed it; review it, and sign it with `rye sign` and its path";
    for (signer, told) in
        [(None, "unsigned".to_owned()), (Some(&signer), format!("signed by the key `{signer}`"))]
    {
        let error = RevocationError::NotVouched { signer: signer.cloned() };
        assert_eq!(error.to_string(), format!("the list is {told}, and revokes no key; {fix}"));
    }
    let fix = "it counts all the same, because the end of one key gives no trust back to another; sign it again with `rye sign` and its path";
    for (revoked, told) in
        [(None, "has expired"), (Some(now()), "was revoked at 2026-11-20T18:00:00Z")]
    {
        let note = AdmissionNote::SignerEnded { signer: signer.clone(), revoked };
        assert_eq!(
            note.to_string(),
            format!("it is signed by the key `{signer}`, which {told}; {fix}")
        );
    }
}

#[test]
fn a_list_as_people_see_it() {
    let list =
        list(2).with(RevokedKey::new(key(3).public().fingerprint().clone(), now(), "a \"b\"\n"));
    let text = list.to_toml();
    insta::assert_snapshot!(text, @r#"
    version = "1.0.0"
    category = "keys/revoked"

    [[revoked]]
    key_id = "07097e6443239d36"
    at = 2026-11-20T18:00:00Z
    reason = "left the team"

    [[revoked]]
    key_id = "b62e867fa2f33afe62d5d6b1642e1621d543307846b2a57b897e710919b76709"
    at = 2026-11-20T18:00:00Z
    reason = """
    a "b"
    """
    "#);
    let ids: Vec<_> = list.entries().iter().map(|entry| entry.key_id.as_str().len()).collect();
    assert_eq!(ids, [16, 64]);
    assert_eq!(RevocationList::parse(&text), Ok(list));
    let empty = RevocationList::default();
    assert_eq!(RevocationList::parse(&empty.to_toml()), Ok(empty));
}

#[test]
fn every_problem_of_a_list_is_reported() {
    check_error(
        RevocationList::parse(
            "version = \"2\"\ncategory = \"keys/trusted\"\nrevoke = 1\n[[revoked]]\nkey_id = \"x\"\nat = 1\nwhy = 1\n[[revoked]]\n",
        ),
        "the list revokes no key, because it has the version `2`, of which this program reads `1`; update the program; and the category `keys/trusted` instead of `keys/revoked`; and the `key_id` `x`, which is not 16 or 64 lowercase hex digits; and a `at` that is not a UTC time; and the unknown field `why`; valid are `version`, `category`, and `[[revoked]]` with `key_id`, `at`, `reason`; and no `key_id`; and no `at`; and the unknown field `revoke`; valid are `version`, `category`, and `[[revoked]]` with `key_id`, `at`, `reason`",
    );
    check_error(
        RevocationList::parse("revoked = [1]"),
        "the list revokes no key, because it has a `revoked` that is not a list of tables",
    );
    check_error(RevocationList::parse(""), "the list revokes no key, because it has no `revoked`");
    check_error(RevocationList::parse("["), "the list revokes no key, because it is not TOML");
    check_error(
        RevocationList::parse(&"#".repeat(1024 * 1024 + 1)),
        "the list revokes no key, because it has 1048577 bytes, and at most 1048576 are read",
    );
}

proptest! {
    #[test]
    fn a_list_survives_the_round_trip(
        reasons in proptest::collection::vec(any::<String>(), 0..4), seconds in any::<i32>()
    ) {
        let at = rye_types::Timestamp::from_unix(seconds.into());
        let entry = |reason: &String| RevokedKey::new(key(2).public().fingerprint().clone(), at, reason);
        let list = reasons.iter().map(entry).fold(RevocationList::default(), RevocationList::with);
        prop_assert_eq!(RevocationList::parse(&list.to_toml()), Ok(list));
    }

    /// No change of a signed list counts in a project, and no text panics.
    #[test]
    fn no_other_list_counts(text in ".*", field in "(version|category|revoked|key_id) ?=.{0,20}", place in any::<prop::sample::Index>()) {
        let signed = signed_by(&key(1), &list(4));
        let place = place.index(signed.len());
        let other = if signed.as_bytes()[place] == b'A' { "B" } else { "A" };
        let changed = format!("{}{other}{}", &signed[..place], &signed[place + 1..]);
        for text in [&text, &format!("{field}\n{text}"), &(signed.clone() + &field), &changed] {
            let mut trust = trusting(&[&key(1)]);
            prop_assert!(trust.admit_list(text, "the list", Origin::Project, now()).is_err());
            prop_assert!(trust.outside_project().is_none());
            drop(trust.admit_list(text, "the list", Origin::Operator, now()));
        }
    }
}
