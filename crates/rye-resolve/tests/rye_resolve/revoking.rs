//! Revocation lists of the spaces: which count, and for which items.

use std::fs;

use rye_resolve::{Library, RunDocument, trust_entries, trust_store};
use rye_sign::{Policy, SigningKey, TrustDocument};

use crate::world::{LIST, World, directive, document, id, list, now, signed_text, trust_path};

/// The stranger's key, which the user space trusts; directives of the stranger in each space.
fn world() -> World {
    let world = World::new();
    world.write("user", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    for space in SPACES {
        let file = format!("directives/{space}.md");
        world.signed_by(&world.stranger, space, &file, &directive(space, "", ""));
    }
    world
}

const SPACES: [&str; 3] = ["project", "user", "system"];

/// The spaces whose directive by the stranger is refused.
fn refused(library: &Library) -> Vec<&'static str> {
    let is_refused = |space: &&str| match library.directive(&id(space)) {
        Ok(_) => false,
        Err(error) => error.is_unverified(),
    };
    SPACES.into_iter().filter(is_refused).collect()
}

/// What is told about lists.
fn notes(world: &World) -> Vec<String> {
    let (_, notes) = trust_store(&world.spaces(), &[], now()).unwrap();
    let told = notes.iter().map(|note| world.with_placeholders(&note.to_string()));
    told.filter(|note| note.starts_with("revocation list")).collect()
}

/// The place of a list and its signer decide for which items it holds.
#[test]
fn a_list_holds_where_its_signer_and_its_place_say() {
    let everywhere = SPACES.as_slice();
    let nowhere: &[&str] = &[];
    type Sign = fn(&World, &str) -> String;
    let unsigned: Sign = |_, text| text.to_owned();
    let by_operator: Sign = |world, text| signed_text(&world.operator, LIST, text);
    let by_itself: Sign = |world, text| signed_text(&world.stranger, LIST, text);
    let by_nobody: Sign = |_, text| signed_text(&SigningKey::generate().unwrap(), LIST, text);
    let tampered: Sign =
        |world, text| signed_text(&world.operator, LIST, text).replace("left", "came");
    for (name, sign, in_project, elsewhere, remark) in [
        ("unsigned", unsigned, nowhere, everywhere, "unsigned"),
        ("signed by the operator", by_operator, &["project"][..], everywhere, ""),
        ("signed by the key that it revokes", by_itself, &["project"], everywhere, ""),
        ("signed by an unknown key", by_nobody, nowhere, everywhere, "signed by the"),
        ("tampered", tampered, nowhere, nowhere, "fails verification"),
    ] {
        for space in SPACES {
            let world = world();
            world.write(space, LIST, &sign(&world, &list([&world.stranger])));
            let expected = if space == "project" { in_project } else { elsewhere };
            assert_eq!(refused(&world.library()), expected, "{name}, of the {space}");
            let told = notes(&world).join("; ");
            assert_eq!(remark.is_empty(), told.is_empty(), "{name}, of the {space}: {told}");
            assert!(told.contains(remark), "{name}, of the {space}: {told}");
        }
    }
}

/// A project that signs a list with a key of its own revokes nothing, and neither does one that a vouched key signed.
#[test]
fn a_project_revokes_no_key_by_itself() {
    let world = World::new();
    let third = SigningKey::generate().unwrap();
    world.signed("project", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    world.directive("project", "project", "");
    for key in [&world.stranger, &third] {
        world.signed_by(key, "project", LIST, &list([&world.operator]));
        assert!(world.library().directive(&id("project")).is_ok());
        assert!(notes(&world)[0].contains("revokes no key"), "{:?}", notes(&world));
        // A document of the run does not make its key one that vouches.
        let run = document("third", &third);
        let (store, _) = trust_store(&world.spaces(), &[RunDocument::new(&run)], now()).unwrap();
        assert!(store.find(world.operator.public().key_id()).unwrap().revoked().is_none());
    }
}

/// No bound of a signer bounds a revocation, and revoking the signer gives nothing back.
#[test]
fn a_revocation_outlives_the_authority_of_its_signer() {
    let plain = |world: &World| TrustDocument::new("operator", world.operator.public());
    let narrow: fn(TrustDocument) -> TrustDocument = |document| document.with_grants([]);
    let revoked: fn(TrustDocument) -> TrustDocument = |document| document.with_revoked(now());
    let expired: fn(TrustDocument) -> TrustDocument = |document| document.with_expires(now());
    for (change, is_told) in [(narrow, false), (revoked, true), (expired, true)] {
        let world = world();
        world.write("user", &trust_path(&world.operator), &change(plain(&world)).to_toml());
        world.signed("project", LIST, &list([&world.stranger]));
        assert_eq!(refused(&world.library()), ["project"]);
        assert_eq!(!notes(&world).is_empty(), is_told, "{:?}", notes(&world));
    }
}

/// The operator's own key is revoked for the items of the project that says so, and for no other one.
#[test]
fn a_project_that_revokes_the_operator_s_key_decides_about_itself_alone() {
    let world = World::new();
    world.write("user", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    for space in SPACES {
        world.directive(space, space, "");
        world.signed(space, "config/agent/limits.yaml", "turns: 1\n");
    }
    world.signed_by(&world.stranger, "project", LIST, &list([&world.operator]));
    assert_eq!(refused(&world.library()), ["project"]);
    let error = world.library().config("agent/limits").unwrap_err();
    assert!(error.to_string().contains("project/.ai/config/agent/limits.yaml"), "{error}");
    assert!(!error.to_string().contains("user/.ai"), "{error}");
    let elsewhere = world.spaces().without_project();
    let (trust, notes) = trust_store(&elsewhere, &[], now()).unwrap();
    assert!(notes.iter().all(|note| !note.to_string().contains("revocation list")));
    let library = Library::new(elsewhere, trust, Policy::default(), now());
    assert!(library.config("agent/limits").is_ok());
}

/// A document of the project for the operator's key limits it there alone, too.
#[test]
fn a_project_that_limits_the_operator_s_key_decides_about_itself_alone() {
    for limit in ["revoked = 2020-01-01T00:00:00Z", "expires = 2020-01-01T00:00:00Z"] {
        let world = World::new();
        world.write("user", &trust_path(&world.stranger), &document("stranger", &world.stranger));
        for space in SPACES {
            world.directive(space, space, "");
        }
        let own = document("operator", &world.operator);
        let limited = own.replacen("[public_key]", &format!("{limit}\n\n[public_key]"), 1);
        world.signed_by(&world.stranger, "project", &trust_path(&world.operator), &limited);
        assert_eq!(refused(&world.library()), ["project"], "{limit}");
    }
}

/// Trust that a project gave is taken back wherever it held.
#[test]
fn a_key_of_the_project_alone_is_revoked_in_every_space() {
    let world = World::new();
    world.signed("project", &trust_path(&world.stranger), &document("stranger", &world.stranger));
    for space in SPACES {
        let file = format!("directives/{space}.md");
        world.signed_by(&world.stranger, space, &file, &directive(space, "", ""));
    }
    assert!(refused(&world.library()).is_empty());
    world.signed("project", LIST, &list([&world.stranger]));
    assert_eq!(refused(&world.library()), SPACES);
}

/// What a key vouched for in a project ends with the key: the list is read before the documents of the project.
#[test]
fn a_key_that_a_revoked_key_vouched_for_does_not_count() {
    let world = World::new();
    let lead = SigningKey::generate().unwrap();
    world.write("user", &trust_path(&lead), &document("lead", &lead));
    let member = document("stranger", &world.stranger);
    world.signed_by(&lead, "project", &trust_path(&world.stranger), &member);
    world.signed_by(&world.stranger, "project", "directives/a.md", &directive("a", "", ""));
    assert!(world.library().directive(&id("a")).is_ok());
    world.signed("project", LIST, &list([&lead]));
    let error = world.library().directive(&id("a")).unwrap_err();
    assert!(world.error_text(&error).contains("signed by the unknown key `STRANGER`"), "{error}");
}

#[test]
fn a_refused_item_names_the_list() {
    let world = world();
    world.signed("project", LIST, &list([&world.stranger]));
    let error = world.library().directive(&id("project")).unwrap_err();
    assert_eq!(
        world.error_text(&error),
        "`project/.ai/directives/project.md` is not verified\n\
         the key `STRANGER` was revoked at 2027-01-15T08:00:00Z by `project/.ai/config/keys/revoked.toml`, signed by \
         `OPERATOR` (\"left\"); review the file and sign it again with another key and `rye sign`"
    );
}

/// A list under another name would be missed without a word.
#[test]
fn a_list_under_another_name_is_told() {
    let world = world();
    world.signed_by(&world.operator, "project", LIST, &list([]));
    let text = fs::read_to_string(world.path("project/.ai").join(LIST)).unwrap();
    world.write("project", "config/keys/revocations.toml", &text);
    world.write("user", "config/keys/keys.toml", &list([&world.stranger]));
    let told = notes(&world);
    assert!(
        told[0].starts_with(
            "revocation list `user/.ai/config/keys/keys.toml`: the file revokes no key"
        ),
        "{told:?}"
    );
    assert!(told[1].contains("project/.ai/config/keys/revocations.toml"), "{told:?}");
    assert!(refused(&world.library()).is_empty());
}

#[test]
fn a_list_that_cannot_be_read_is_told() {
    let world = world();
    world.write("user", LIST, "");
    fs::write(world.path("user/.ai").join(LIST), [0xff]).unwrap();
    world.write("system", LIST, "revoked = 1\n");
    assert_eq!(
        notes(&world),
        [
            "revocation list `user/.ai/config/keys/revoked.toml`: `user/.ai/config/keys/revoked.toml` is not UTF-8 text; \
             save it as UTF-8",
            "revocation list `system/.ai/config/keys/revoked.toml`: the list revokes no key, because it has a `revoked` \
             that is not a list of tables"
        ]
    );
    let reading = trust_entries(&world.spaces(), &[], now()).unwrap();
    let lists: Vec<(bool, bool)> =
        reading.lists.iter().map(|it| (it.counts(), it.list().is_some())).collect();
    assert_eq!(lists, [(false, false), (false, false)]);
    assert!(refused(&world.library()).is_empty());
}
