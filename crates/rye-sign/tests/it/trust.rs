//! Acceptance of trust documents.

use std::error::Error as _;

use proptest::prelude::*;
use rye_sign::{
    AdmissionNote, CommentStyle, Origin, Policy, SigningKey, TrustDocument, TrustError, TrustStore,
    sign,
};

use crate::{OldMessage, at, check_error, facts, item, key, now, old_fields, trusting, verify};

const SUBJECT: &str = "07097e6443239d36";

fn document(seed: u8) -> TrustDocument {
    TrustDocument::new("someone", key(seed).public())
}

fn signed_by(signer: &SigningKey, document: &TrustDocument) -> String {
    sign(&document.to_toml(), CommentStyle::Hash, &document.item_name(), signer, now())
}

fn admit(
    trust: &mut TrustStore,
    text: &str,
    origin: Origin,
) -> Result<Vec<AdmissionNote>, TrustError> {
    trust.admit(text, None, origin, now()).map(|admission| admission.notes)
}

/// Asserts that a document is refused and does not change the store.
#[track_caller]
fn check_refused(trust: &TrustStore, text: &str, origin: Origin, message: &str) {
    let mut trust = trust.clone();
    let before = trust.key_ids();
    check_error(admit(&mut trust, text, origin), message);
    assert_eq!(trust.key_ids(), before);
}

/// Asserts the error of a document whose signature fails.
#[track_caller]
fn check_unverified(trust: &TrustStore, text: &str, message: &str) {
    for origin in [Origin::Operator, Origin::Project, Origin::Run] {
        let error = admit(&mut trust.clone(), text, origin).expect_err("refused");
        assert_eq!(error.source().map(ToString::to_string), Some(message.to_owned()));
    }
}

fn self_vouched(how: &str) -> String {
    format!(
        "a project cannot vouch for itself: its trust document for the key `{SUBJECT}` is {how}, and counts only when a key that you trust signed it; compare its fingerprint with the owner, then accept it with `rye trust add {SUBJECT}`, or name a copy outside of the project with `--trust FILE`"
    )
}

/// What the operator trusts for one run vouches for nothing, be it asked after that trust was read.
#[test]
fn a_key_of_the_run_vouches_for_no_document_of_the_project() {
    let mut trust = TrustStore::new();
    admit(&mut trust, &TrustDocument::new("run", key(1).public()).to_toml(), Origin::Run)
        .expect("counts");
    let signer = key(1).public().key_id().clone();
    let message = self_vouched(&format!("signed by `{signer}`"));
    check_refused(&trust, &signed_by(&key(1), &document(2)), Origin::Project, &message);
}

#[test]
fn the_operator_may_trust_without_a_signature() {
    for origin in [Origin::Operator, Origin::Run] {
        let mut trust = TrustStore::new();
        let notes = admit(&mut trust, &document(2).to_toml(), origin);
        assert_eq!(notes, Ok(vec![AdmissionNote::Unsigned]));
        assert_eq!(
            trust.find(key(2).public().key_id()).map(|trusted| trusted.origin()),
            Some(origin)
        );
    }
}

#[test]
fn the_operator_may_trust_what_a_stranger_signed() {
    let text = signed_by(&key(9), &document(2));
    let signer = key(9).public().key_id().clone();
    for origin in [Origin::Operator, Origin::Run] {
        let notes = admit(&mut TrustStore::new(), &text, origin);
        assert_eq!(notes, Ok(vec![AdmissionNote::UnknownSigner { signer: signer.clone() }]));
    }
}

#[test]
fn a_document_signed_by_a_known_key_or_by_itself_has_no_note() {
    let mut trust = trusting(&[&key(1)]);
    assert_eq!(admit(&mut trust, &signed_by(&key(1), &document(2)), Origin::Operator), Ok(vec![]));
    assert_eq!(admit(&mut trust, &signed_by(&key(3), &document(3)), Origin::Operator), Ok(vec![]));
}

#[test]
fn an_old_signature_is_noted() {
    let toml = document(2).to_toml();
    let text = format!("# {}\n{toml}", old_fields(&toml, 1, OldMessage::Hex));
    for origin in [Origin::Operator, Origin::Project] {
        let notes = admit(&mut trusting(&[&key(1)]), &text, origin);
        assert_eq!(notes, Ok(vec![AdmissionNote::ContentOnly]));
    }
}

#[test]
fn a_project_does_not_vouch_for_itself() {
    let trust = trusting(&[&key(1)]);
    check_refused(&trust, &document(2).to_toml(), Origin::Project, &self_vouched("unsigned"));
    let own = signed_by(&key(2), &document(2));
    check_refused(&trust, &own, Origin::Project, &self_vouched("signed by that key itself"));
    let stranger = signed_by(&key(9), &document(2));
    let how = format!("signed by `{}`", key(9).public().key_id());
    check_refused(&trust, &stranger, Origin::Project, &self_vouched(&how));
}

#[test]
fn a_key_of_the_operator_vouches_for_one_of_a_project() {
    let mut trust = trusting(&[&key(1)]);
    assert_eq!(admit(&mut trust, &signed_by(&key(1), &document(2)), Origin::Project), Ok(vec![]));
    let text = sign("x: 1\n", CommentStyle::Hash, &item("config", "a"), &key(2), now());
    let verified =
        verify(&text, CommentStyle::Hash, &item("config", "a"), &trust, &Policy::default());
    assert_eq!(facts(&verified.expect("verified")).owner(), Some("someone"));
}

fn already_trusted(key: &SigningKey) -> AdmissionNote {
    AdmissionNote::AlreadyTrusted { key_id: key.public().key_id().clone() }
}

#[test]
fn a_project_may_repeat_what_the_operator_trusts() {
    let mut trust = trusting(&[&key(1), &key(2)]);
    let notes = admit(&mut trust, &signed_by(&key(2), &document(2)), Origin::Project);
    assert_eq!(notes, Ok(vec![already_trusted(&key(2))]));
}

#[test]
fn a_key_of_a_project_vouches_for_no_key() {
    let mut trust = trusting(&[&key(1)]);
    admit(&mut trust, &signed_by(&key(1), &document(3)), Origin::Project).expect("vouched for");
    let how = format!("signed by `{}`", key(3).public().key_id());
    check_refused(&trust, &signed_by(&key(3), &document(2)), Origin::Project, &self_vouched(&how));
}

#[test]
fn a_tampered_document_never_counts() {
    let text = signed_by(&key(1), &document(2)).replace("someone", "another");
    let mut trust = TrustStore::new();
    let error = admit(&mut trust, &text, Origin::Operator).expect_err("refused");
    assert!(matches!(
        error,
        TrustError::Unverified { source: rye_sign::Error::Tampered { .. }, .. }
    ));
    assert_eq!(trust.key_ids(), []);
}

#[test]
fn a_malformed_line_never_counts() {
    let text =
        signed_by(&key(1), &document(2)).replacen(SIGNED_AT, "rye:signed:2026-11-20T18:00:0:", 1);
    check_unverified(
        &trusting(&[&key(1)]),
        &text,
        "malformed signature line: on line 1, its time `2026-11-20T18:00:0` is not a UTC time such as `2026-11-20T18:00:00Z`; review the file and sign it again with `rye sign`",
    );
}

const SIGNED_AT: &str = "rye:signed:2026-11-20T18:00:00Z:";

#[test]
fn a_document_signed_for_another_key_never_counts() {
    let text = sign(
        &document(2).to_toml(),
        CommentStyle::Hash,
        &item("trust", key(5).public().key_id().as_str()),
        &key(1),
        now(),
    );
    let message = format!(
        "bad signature: the key `3d4c030534b1c1c6` did not sign this text as trust `{SUBJECT}` at the time stated; restore the file, or review it and sign it again with `rye sign`"
    );
    check_unverified(&trusting(&[&key(1)]), &text, &message);
}

#[test]
fn a_revoked_key_vouches_for_no_key() {
    let mut trust = TrustStore::new();
    let revoked = document(1).with_revoked(at("2026-01-01T00:00:00Z"));
    let notes = admit(&mut trust, &revoked.to_toml(), Origin::Operator);
    let expected = AdmissionNote::Revoked { at: at("2026-01-01T00:00:00Z") };
    assert_eq!(notes, Ok(vec![AdmissionNote::Unsigned, expected]));
    check_unverified(
        &trust,
        &signed_by(&key(1), &document(2)),
        "the key `3d4c030534b1c1c6` was revoked at 2026-01-01T00:00:00Z; review the file and sign it again with another key and `rye sign`",
    );
}

#[test]
fn a_key_reaches_no_further_than_the_key_that_vouches() {
    let mut trust = TrustStore::new();
    let limited =
        document(1).with_grants(["rye.load.*".to_owned()]).with_expires(at("2027-01-01T00:00:00Z"));
    admit(&mut trust, &limited.to_toml(), Origin::Operator).expect("the operator's");
    let wide =
        document(2).with_grants(["rye.*".to_owned()]).with_expires(at("2030-01-01T00:00:00Z"));
    admit(&mut trust, &signed_by(&key(1), &wide), Origin::Project).expect("vouched for");
    let trusted = trust.find(key(2).public().key_id()).expect("trusted");
    assert_eq!(trusted.grants(), [vec!["rye.load.*".to_owned()], vec!["rye.*".to_owned()]]);
    assert_eq!(trusted.expires(), Some(at("2027-01-01T00:00:00Z")));
}

#[test]
fn no_grants_is_no_limit_and_empty_grants_allow_nothing() {
    let mut trust = trusting(&[&key(1)]);
    admit(&mut trust, &document(2).with_grants([]).to_toml(), Origin::Operator)
        .expect("the operator's");
    let grants =
        |seed: u8| trust.find(key(seed).public().key_id()).map(|trusted| trusted.grants().to_vec());
    assert_eq!(grants(1), Some(vec![]));
    assert_eq!(grants(2), Some(vec![vec![]]));
}

#[test]
fn the_first_document_decides_and_the_others_tighten() {
    let mut trust = TrustStore::new();
    let first =
        document(2).with_grants(["rye.load.*".to_owned()]).with_expires(at("2028-01-01T00:00:00Z"));
    admit(&mut trust, &first.to_toml(), Origin::Operator).expect("the operator's");
    let second = document(2).with_expires(at("2027-01-01T00:00:00Z")).with_revoked(now());
    let notes = admit(&mut trust, &second.to_toml(), Origin::Run);
    let expected =
        [AdmissionNote::Unsigned, AdmissionNote::Revoked { at: now() }, already_trusted(&key(2))];
    assert_eq!(notes, Ok(expected.to_vec()));
    let trusted = trust.find(key(2).public().key_id()).expect("trusted");
    assert_eq!(
        (trusted.expires(), trusted.revoked()),
        (Some(at("2027-01-01T00:00:00Z")), Some(now()))
    );
    assert_eq!(trusted.grants(), [vec!["rye.load.*".to_owned()]]);
}

/// The names of two files decide which of them is read first. They must not decide how much the key may grant.
#[test]
fn the_limits_of_all_documents_count_in_any_order() {
    let grants = |text: &str| document(2).with_grants([text.to_owned()]).to_toml();
    let (one, other, open) = (grants("rye.load.*"), grants("rye.*.tool.*"), document(2).to_toml());
    for texts in [[&one, &other, &open], [&open, &other, &one], [&other, &open, &one]] {
        let mut trust = TrustStore::new();
        for (text, origin) in texts.iter().zip([Origin::Operator, Origin::Operator, Origin::Run]) {
            admit(&mut trust, text, origin).expect("the operator's");
        }
        let mut found = trust.find(key(2).public().key_id()).expect("trusted").grants().to_vec();
        found.sort_unstable();
        assert_eq!(found, [["rye.*.tool.*".to_owned()], ["rye.load.*".to_owned()]]);
    }
}

#[test]
fn a_project_does_not_widen_what_the_operator_said() {
    let mut trust = trusting(&[&key(1)]);
    let limited = document(2).with_grants([]);
    admit(&mut trust, &limited.to_toml(), Origin::Operator).expect("the operator's");
    admit(&mut trust, &signed_by(&key(1), &document(2)), Origin::Project).expect("vouched for");
    let trusted = trust.find(key(2).public().key_id()).expect("trusted");
    assert_eq!((trusted.grants(), trusted.origin()), ([vec![]].as_slice(), Origin::Operator));
}

/// Cases: the documents of one key in the order of their admission, whose grants and end of trust they limit; the grants
/// and the end in the project; and those outside of it, where they differ.
#[test]
fn the_documents_of_a_project_limit_a_key_in_the_project_alone() {
    let [operator, project, run] = [Origin::Operator, Origin::Project, Origin::Run];
    type Limits = (&'static str, u8);
    type Case<'a> = (&'a [(Origin, Limits)], Limits, Option<Limits>);
    let cases: [Case<'_>; 8] = [
        (&[(operator, ("a", 3))], ("a", 3), None),
        (&[(operator, ("a", 3)), (run, ("b", 2))], ("a b", 2), None),
        (&[(project, ("a", 3)), (project, ("b", 2))], ("a b", 2), None),
        (&[(operator, ("a", 3)), (project, ("b", 2))], ("a b", 2), Some(("a", 3))),
        (&[(project, ("b", 2)), (run, ("a", 3))], ("a b", 2), Some(("a", 3))),
        (
            &[(operator, ("a", 4)), (project, ("b", 2)), (run, ("c", 3))],
            ("a b c", 2),
            Some(("a c", 3)),
        ),
        (
            &[(operator, ("a", 4)), (project, ("b", 3)), (project, ("c", 2))],
            ("a b c", 2),
            Some(("a", 4)),
        ),
        (
            &[(project, ("a", 4)), (run, ("b", 3)), (operator, ("c", 2))],
            ("a b c", 2),
            Some(("b c", 2)),
        ),
    ];
    for (documents, inside, outside) in cases {
        let mut trust = trusting(&[&key(1)]);
        for (origin, (grant, day)) in documents {
            let expires = at(&format!("2027-01-0{day}T00:00:00Z"));
            let limited = document(2).with_grants([(*grant).to_owned()]).with_expires(expires);
            admit(&mut trust, &signed_by(&key(1), &limited), *origin).expect("vouched for");
        }
        let limits = |trust: &TrustStore| {
            let trusted = trust.find(key(2).public().key_id()).expect("trusted");
            let mut grants = trusted.grants().concat();
            grants.sort_unstable();
            (grants.join(" "), trusted.expires())
        };
        let expected = |(grants, day): Limits| {
            (grants.to_owned(), Some(at(&format!("2027-01-0{day}T00:00:00Z"))))
        };
        assert_eq!(limits(&trust), expected(inside), "{documents:?}");
        let found = trust.outside_project().as_ref().map(limits);
        assert_eq!(found, outside.map(expected), "{documents:?} outside");
    }
}

#[test]
fn a_note_that_questions_the_signature_is_a_warning() {
    let signer = key(9).public().key_id().clone();
    for (note, expected) in [
        (already_trusted(&key(9)), false),
        (AdmissionNote::Expired { at: now() }, false),
        (AdmissionNote::Revoked { at: now() }, false),
        (AdmissionNote::ContentOnly, true),
        (AdmissionNote::SignerEnded { signer: signer.clone(), revoked: None }, true),
        (AdmissionNote::UnknownSigner { signer }, true),
        (AdmissionNote::Unsigned, true),
    ] {
        assert_eq!(note.is_warning(), expected, "{note}");
    }
}

#[test]
fn a_document_whose_trust_has_ended_is_noted() {
    for (time, expected) in [(now(), true), (at("2026-11-20T18:00:01Z"), false)] {
        let text = document(2).with_expires(time).to_toml();
        let notes = admit(&mut TrustStore::new(), &text, Origin::Operator).expect("the operator's");
        let is_noted = notes.contains(&AdmissionNote::Expired { at: time });
        assert_eq!(is_noted, expected, "{time}");
    }
}

#[test]
fn the_file_name_must_be_of_the_key() {
    let text = document(2).to_toml();
    let fingerprint = key(2).public().fingerprint().to_string();
    for stem in [SUBJECT, &fingerprint] {
        assert!(TrustStore::new().admit(&text, Some(stem), Origin::Operator, now()).is_ok());
    }
    for stem in ["", "key", "3d4c030534b1c1c6", &SUBJECT.to_uppercase()] {
        check_error(
            TrustStore::new().admit(&text, Some(stem), Origin::Operator, now()),
            &format!(
                "the file name says `{stem}`, the key in the document is `{SUBJECT}`; all three must agree"
            ),
        );
    }
}

#[test]
fn the_fingerprint_must_be_of_the_key() {
    let text = document(2).to_toml().replacen(SUBJECT, "3d4c030534b1c1c6", 1);
    check_refused(
        &TrustStore::new(),
        &text,
        Origin::Operator,
        "the `fingerprint` says `3d4c030534b1c1c6`, the key in the document is `07097e6443239d36`; all three must agree",
    );
}

#[test]
fn every_problem_is_reported() {
    let text = "version = \"2.0\"\ncategory = \"keys\"\nfingerprint = \"x\"\nowner = \"\"\nattestation = 1\ngrant = []\ngrants = [1]\nexpires = 2026-01-01\nrevoked = true\n[public_key]\nkey = \"\"\n";
    check_error(
        TrustDocument::parse(text),
        "the trust document has the version `2.0`, of which this program reads `1`; update the program; and the category `keys` instead of `keys/trusted`; and an empty `owner`; and a `attestation` that is not a string; and the `fingerprint` `x`, which is not 16 or 64 lowercase hex digits; and a `grants` that is not a list of strings; and the `expires` `2026-01-01`, which is not a UTC time such as `2026-11-20T18:00:00Z`; and a `revoked` that is not a UTC time; and the unknown field `public_key.key`; valid are `version`, `category`, `fingerprint`, `owner`, `attestation`, `grants`, `expires`, `revoked`, `public_key.pem`; and no `public_key.pem`; and the unknown field `grant`; valid are `version`, `category`, `fingerprint`, `owner`, `attestation`, `grants`, `expires`, `revoked`, `public_key.pem`",
    );
    check_error(
        TrustDocument::parse(""),
        "the trust document has no `owner`; and no `fingerprint`; and no `public_key.pem`",
    );
}

/// A limit that is misspelled must not be a document without a limit.
#[test]
fn one_wrong_field_is_enough() {
    for (field, problem) in [
        ("grant = []", "the unknown field `grant`"),
        ("grants = \"rye.load.*\"", "a `grants` that is not a list of strings"),
        ("expires = 1", "a `expires` that is not a UTC time"),
        ("revoked = \"yes\"", "the `revoked` `yes`, which is not a UTC time"),
    ] {
        let text = document(2).to_toml().replacen("\n[", &format!("{field}\n["), 1);
        let message = TrustDocument::parse(&text).expect_err(field).to_string();
        assert!(message.starts_with(&format!("the trust document has {problem}")), "{message}");
    }
}

#[test]
fn an_unusable_key_is_named() {
    let text = "owner = \"x\"\nfingerprint = \"07097e6443239d36\"\npublic_key.pem = \"x\"\n";
    check_error(
        TrustDocument::parse(text),
        "the trust document has an unusable `public_key.pem`: not an Ed25519 public key in PEM, which begins with `-----BEGIN PUBLIC KEY-----`",
    );
}

#[test]
fn text_that_is_not_toml_is_located() {
    let error = TrustDocument::parse("owner = \"x\"\nowner = \"y\"\n").expect_err("refused");
    assert_eq!(error.to_string(), "the trust document is not TOML");
    assert_eq!(error.source().map(ToString::to_string), Some("line 2: duplicate key".to_owned()));
}

#[test]
fn a_text_without_end_is_not_read() {
    let text = document(2).to_toml();
    let longest = text.clone() + &"#".repeat(65_536 - text.len());
    assert_eq!(TrustDocument::parse(&longest), Ok(document(2)));
    check_error(
        TrustDocument::parse(&"#".repeat(65_537)),
        "the trust document has 65537 bytes; at most 65536 are read",
    );
}

#[test]
fn times_may_be_strings() {
    let text = document(2).to_toml().replacen("\n[", "expires = \"2027-01-01T00:00:00Z\"\n[", 1);
    let read = TrustDocument::parse(&text).expect("a good document");
    assert_eq!(read.expires(), Some(at("2027-01-01T00:00:00Z")));
}

#[test]
fn a_document_as_people_see_it() {
    let document = TrustDocument::new("Ada \"the\" first", key(2).public())
        .with_attestation("met in person")
        .with_grants(["rye.load.*".to_owned(), "rye.search.*".to_owned()])
        .with_expires(at("2027-01-01T00:00:00Z"))
        .with_revoked(at("2026-12-01T00:00:00Z"));
    assert_eq!(document.attestation(), "met in person");
    assert_eq!(document.owner(), "Ada \"the\" first");
    assert_eq!(
        document.grants(),
        Some(["rye.load.*".to_owned(), "rye.search.*".to_owned()].as_slice())
    );
    assert_eq!(document.revoked(), Some(at("2026-12-01T00:00:00Z")));
    insta::assert_snapshot!(document.to_toml(), @r#"
    version = "1.0.0"
    category = "keys/trusted"
    fingerprint = "07097e6443239d36"
    owner = 'Ada "the" first'
    attestation = "met in person"
    grants = ["rye.load.*", "rye.search.*"]
    expires = 2027-01-01T00:00:00Z
    revoked = 2026-12-01T00:00:00Z

    [public_key]
    pem = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAgTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=
    -----END PUBLIC KEY-----
    """
    "#);
}

proptest! {
    #[test]
    fn a_document_survives_the_round_trip(
        owner in "\\PC{0,20}[a-z]\\PC{0,20}", attestation in any::<String>(),
        grants in proptest::option::of(proptest::collection::vec(any::<String>(), 0..3)), expires in proptest::option::of(any::<i32>())
    ) {
        let mut document = TrustDocument::new(&owner, key(2).public()).with_attestation(&attestation);
        if let Some(grants) = grants {
            document = document.with_grants(grants);
        }
        if let Some(seconds) = expires {
            document = document.with_expires(rye_types::Timestamp::from_unix(seconds.into()));
        }
        let read = TrustDocument::parse(&document.to_toml());
        prop_assert_eq!(read, Ok(document));
    }

    #[test]
    fn no_document_panics(text in ".*", field in "(owner|grants|expires|public_key|pem) ?=.{0,20}") {
        for text in [text.clone(), format!("{field}\n{text}"), document(2).to_toml() + &field] {
            drop(TrustDocument::parse(&text));
            drop(TrustStore::new().admit(&text, None, Origin::Operator, now()));
        }
    }
}
