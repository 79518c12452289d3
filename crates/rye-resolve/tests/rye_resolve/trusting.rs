//! Trust documents that count and those that do not (SPEC 2.7, 2.8).

use std::fs;

use rye_resolve::{ResolveError, RunDocument, trust_entries, trust_store};
use rye_sign::{KeyId, SigningKey, TrustDocument};

use crate::world::{World, directive, document, id, key_id, now, signed_text, trust_path};

/// Reads the trust documents and returns the notes, and which of the operator and the stranger are trusted.
fn trust(world: &World) -> (Vec<String>, Vec<&'static str>) {
    let (store, notes) = trust_store(&world.spaces(), &[], now()).unwrap();
    let notes = notes.iter().map(|note| world.with_placeholders(&note.to_string())).collect();
    let has = |key: &SigningKey| store.find(&key_id(key).parse::<KeyId>().unwrap()).is_some();
    let people = [("operator", &world.operator), ("stranger", &world.stranger)];
    (notes, people.into_iter().filter(|(_, key)| has(key)).map(|(name, _)| name).collect())
}

const UNSIGNED: &str = "trust document `user/.ai/config/keys/trusted/OPERATOR.toml`: it is unsigned; \
                        it counts because you put it here";

#[test]
fn an_unsigned_document_of_the_user_counts_with_a_note() {
    assert_eq!(trust(&World::new()), (vec![UNSIGNED.to_owned()], vec!["operator"]));
}

#[test]
fn a_system_root_is_the_operator_s_too() {
    let world = World::new();
    world.write("system", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    assert_eq!(trust(&world).1, ["operator", "stranger"]);
}

#[test]
fn a_project_cannot_vouch_for_itself() {
    let world = World::new();
    let file = trust_path(&world.stranger);
    for text in [
        document("stranger", &world.stranger),
        signed_text(&world.stranger, &file, &document("stranger", &world.stranger)),
    ] {
        world.write("project", &file, &text);
        world.signed_by(&world.stranger, "project", "directives/a.md", &directive("a", "", ""));
        let (notes, people) = trust(&world);
        assert_eq!((notes.len(), people), (2, vec!["operator"]));
        assert!(notes[1].starts_with(
            "trust document `project/.ai/config/keys/trusted/STRANGER.toml`: a project cannot vouch for itself"
        ));
        assert!(world.library().directive(&id("a")).unwrap_err().is_unverified());
    }
}

#[test]
fn a_project_passes_on_a_document_that_the_operator_signed() {
    let world = World::new();
    world.signed("project", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    world.signed_by(&world.stranger, "project", "directives/a.md", &directive("a", "", ""));
    assert_eq!(trust(&world), (vec![UNSIGNED.to_owned()], vec!["operator", "stranger"]));
    assert_eq!(world.library().directive(&id("a")).unwrap().id.as_str(), "a");
}

#[test]
fn a_project_s_key_vouches_for_no_other_key() {
    let world = World::new();
    world.signed("project", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    let third = SigningKey::generate().unwrap();
    world.signed_by(&world.stranger, "project", &trust_path(&third), &document("third", &third));
    let (store, _) = trust_store(&world.spaces(), &[], now()).unwrap();
    assert_eq!(store.key_ids().len(), 2);
}

#[test]
fn a_run_s_document_counts_and_vouches_for_no_other_key() {
    let world = World::new();
    let third = SigningKey::generate().unwrap();
    world.signed_by(
        &third,
        "project",
        &trust_path(&world.stranger),
        &document("stranger", &world.stranger),
    );
    let run = document("third", &third);
    let (store, notes) = trust_store(&world.spaces(), &[RunDocument::new(&run)], now()).unwrap();
    assert!(store.find(third.public().key_id()).is_some());
    assert!(store.find(world.stranger.public().key_id()).is_none());
    assert_eq!(
        notes.last().unwrap().to_string(),
        "trust document of this run: it is unsigned; it counts because you put it here"
    );
}

/// Naming a file of the project is no review of it, as an MCP client's configuration names what came with the project.
#[test]
fn a_run_s_document_that_lies_in_the_project_counts_only_by_a_key_of_the_operator() {
    let file = |world: &World| trust_path(&world.stranger);
    let plain = |world: &World| document("stranger", &world.stranger);
    let by = |world: &World, key: &SigningKey| signed_text(key, &file(world), &plain(world));
    let third = SigningKey::generate().unwrap();
    let world = World::new();
    let third_document = document("third", &third);
    for (text, counts) in [
        (plain(&world), false),
        (by(&world, &world.stranger), false),
        (by(&world, &third), false),
        (by(&world, &world.operator), true),
    ] {
        // The third key is trusted for this run alone, which is not enough to vouch.
        let documents = [RunDocument::new(&third_document), RunDocument::in_project(&text)];
        let store = trust_store(&world.spaces(), &documents, now());
        assert_eq!(store.is_ok(), counts, "{text}");
    }
}

#[test]
fn a_run_s_document_that_does_not_count_is_an_error() {
    let world = World::new();
    let good = document("stranger", &world.stranger);
    let error = trust_store(
        &world.spaces(),
        &[RunDocument::new(&good), RunDocument::new("owner = 1")],
        now(),
    )
    .unwrap_err();
    assert!(matches!(error, ResolveError::RunTrust { number: 2, .. }), "{error:?}");
    assert_eq!(error.to_string(), "trust document 2 of this run does not count");
}

#[test]
fn a_signer_is_read_before_what_it_signed_whatever_the_names() {
    // With two random keys, either name may come first; eight rounds meet both orders.
    for _ in 0..8 {
        let world = World::new();
        world.signed("user", &trust_path(&world.stranger), &document("stranger", &world.stranger));
        assert_eq!(trust(&world), (vec![UNSIGNED.to_owned()], vec!["operator", "stranger"]));
    }
}

#[test]
fn a_tampered_document_counts_nowhere_and_hides_a_farther_one() {
    let world = World::new();
    let file = trust_path(&world.stranger);
    let revoking = TrustDocument::new("stranger", world.stranger.public()).with_revoked(now());
    let signed = signed_text(&world.operator, &file, &revoking.to_toml());
    world.write("user", &file, &signed.replace("owner = \"stranger\"", "owner = \"friend\""));
    world.write("system", &file, &document("stranger", &world.stranger));
    let (notes, people) = trust(&world);
    assert_eq!(people, ["operator"]);
    let notes: Vec<&str> =
        notes.iter().filter(|n| n.contains("STRANGER")).map(String::as_str).collect();
    assert!(notes[0].starts_with(
        "trust document `user/.ai/config/keys/trusted/STRANGER.toml`: the trust document for the key \
         `STRANGER` fails verification: tampered: "
    ));
    assert_eq!(
        notes[1],
        "trust document `system/.ai/config/keys/trusted/STRANGER.toml`: it does not count, because \
         `user/.ai/config/keys/trusted/STRANGER.toml` for the same key was refused; repair that one"
    );
}

#[test]
fn an_unreadable_document_is_a_note() {
    let world = World::new();
    let file = trust_path(&world.stranger);
    world.write("user", &file, "");
    fs::write(world.path("user/.ai").join(&file), [0xff]).unwrap();
    world.write("system", &file, &document("stranger", &world.stranger));
    let (notes, people) = trust(&world);
    assert_eq!(people, ["operator"]);
    assert_eq!(
        notes[0],
        "trust document `user/.ai/config/keys/trusted/STRANGER.toml`: \
         `user/.ai/config/keys/trusted/STRANGER.toml` is not UTF-8 text; save it as UTF-8"
    );
}

#[test]
fn what_a_revoked_key_signed_is_refused() {
    let world = World::new();
    world.directive("project", "a", "");
    let revoked = TrustDocument::new("operator", world.operator.public()).with_revoked(now());
    world.write("system", &trust_path(&world.operator), &revoked.to_toml());
    assert!(world.library().directive(&id("a")).unwrap_err().is_unverified());
}

/// A project vouches for a key that the operator trusts already. Only a difference, or two files of one folder, are told.
#[test]
fn a_document_that_repeats_one_of_another_space_is_no_news() {
    let folder = "config/keys/trusted";
    let short = "OPERATOR";
    type Change = fn(TrustDocument) -> TrustDocument;
    let rows: [(&str, &str, Change, bool); 6] = [
        ("project", short, |same| same, false),
        ("system", short, |same| same, false),
        ("project", short, |same| same.with_attestation("a colleague"), false),
        ("project", short, |same| same.with_grants(["rye.load.*".to_owned()]), true),
        ("project", short, |same| TrustDocument::new("another", same.key().clone()), true),
        ("user", "FINGERPRINT", |same| same, true),
    ];
    for (space, name, change, is_told) in rows {
        let world = World::new();
        let key = world.operator.public();
        let stem = if name == short { key.key_id() } else { key.fingerprint() };
        let text = change(TrustDocument::new("operator", key.clone())).to_toml();
        let file = format!("{folder}/{stem}.toml");
        match space {
            "project" => world.signed(space, &file, &text),
            _ => world.write(space, &file, &text),
        }
        let (_, notes) = trust_store(&world.spaces(), &[], now()).unwrap();
        let told: Vec<String> = notes.iter().map(|note| note.remark.to_string()).collect();
        let note = format!(
            "another trust document for this key was read before: its owner stands, and the limits of both; \
             `rye trust show {}` shows them",
            key.key_id()
        );
        assert_eq!(told.contains(&note), is_told, "{space} {name}: {told:?}");
    }
}

#[test]
fn every_document_is_told_with_what_came_of_it() {
    let world = World::new();
    let file = trust_path(&world.stranger);
    world.write("project", &file, &document("stranger", &world.stranger));
    world.write("system", "config/keys/trusted/0000000000000000.toml", "owner = 1\n");
    let entries = trust_entries(&world.spaces(), &[], now()).unwrap().documents;
    let told: Vec<(bool, Option<String>, usize)> = entries
        .iter()
        .map(|entry| {
            let owner = entry.document().map(|document| document.owner().to_owned());
            (entry.counts(), owner, entry.remarks.len())
        })
        .collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        told,
        [(true, named("operator"), 1), (false, None, 1), (false, named("stranger"), 1)]
    );
    let key_id = world.stranger.public().fingerprint().clone();
    let of_stranger: Vec<bool> = entries.iter().map(|entry| entry.is_for(&key_id)).collect();
    assert_eq!(of_stranger, [false, false, true]);
}
