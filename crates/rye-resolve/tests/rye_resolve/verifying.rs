//! Only verified items are returned, and a bad winner never falls through (SPEC 1.4, 2.10).

use std::collections::HashMap;
use std::sync::Arc;

use rye_resolve::{ResolveError, Space};
use rye_sign::{Coverage, Policy, Provenance};
use rye_types::ItemKind;

use crate::world::{World, directive, id, signed_text};

const FILE: &str = "directives/a.md";

/// A world in which the user space has a good `a` and the project has `text` for it.
fn shadowed_by(world: &World, text: &str) -> ResolveError {
    world.directive("user", "a", "");
    world.write("project", FILE, text);
    world.library().directive(&id("a")).unwrap_err()
}

#[track_caller]
fn refuses(world: &World, text: &str, message: &str) {
    let error = shadowed_by(world, text);
    assert!(error.is_unverified(), "{error:?}");
    let told = world.error_text(&error);
    assert_eq!(told.lines().next(), Some("`project/.ai/directives/a.md` is not verified"));
    assert_eq!(told.lines().nth(1).map(|line| line.split(':').next().unwrap()), Some(message));
}

#[test]
fn a_signed_item_comes_with_its_proof() {
    let world = World::new();
    world.directive("project", "a", "");
    let item = world.library().directive(&id("a")).unwrap();
    assert_eq!(item.location.space, Space::Project);
    assert_eq!(item.content.value().name.value, "a");
    let Provenance::Signed(signature) = item.content.provenance() else { panic!("{item:?}") };
    assert_eq!((signature.owner(), signature.coverage()), (Some("operator"), Coverage::Whole));
    let name = &item.content.value().name;
    assert_eq!(item.source.get(name.span.clone()), Some("a"));
}

#[test]
fn the_digest_is_of_the_file() {
    let world = World::new();
    world.write("project", "knowledge/a.md", "abc");
    let library = world.library_with(Policy::default().dangerous_allow_unsigned());
    let item = library.text(ItemKind::Knowledge, &id("a")).unwrap();
    assert_eq!(item.digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/// A text that a file is about to have is verified in its place, as the file would be.
#[test]
fn a_text_that_a_file_is_about_to_have() {
    let world = World::new();
    world.write("project", FILE, &directive("a", "", ""));
    let path = world.path("project").join(".ai").join(FILE);
    let signed = signed_text(&world.operator, FILE, &directive("a", "", ""));
    let read = |text: &str| {
        let texts = HashMap::from([(path.clone(), text.to_owned())]);
        world.library().with_texts(Arc::new(texts)).directive(&id("a"))
    };
    assert_eq!(read(&signed).unwrap().content.value().name.value, "a");
    assert!(read(&signed.replace("Do it.", "Do more.")).unwrap_err().is_unverified());
    assert!(world.library().directive(&id("a")).unwrap_err().is_unverified());
}

#[test]
fn unsigned() {
    refuses(&World::new(), &directive("a", "", ""), "unsigned");
}

#[test]
fn tampered_below_the_fence() {
    let world = World::new();
    let signed = signed_text(&world.operator, FILE, &directive("a", "", ""));
    refuses(&world, &signed.replace("Do it.", "Do more."), "tampered");
}

#[test]
fn moved_to_another_id() {
    let world = World::new();
    let signed = signed_text(&world.operator, "directives/b.md", &directive("b", "", ""));
    refuses(&world, &signed, "bound to another item");
}

#[test]
fn signed_by_a_key_that_is_not_trusted() {
    let world = World::new();
    let signed = signed_text(&world.stranger, FILE, &directive("a", "", ""));
    refuses(
        &world,
        &signed,
        "signed by the unknown key `STRANGER`; trusted are `OPERATOR`; if you know its owner, `rye trust \
         add FILE` accepts its trust document or public key, and `--trust FILE` a document for one command",
    );
}

#[test]
fn the_author_s_escape_does_not_reach_a_tampered_item() {
    let world = World::new();
    let lenient = Policy::default().dangerous_allow_unsigned();
    world.write("project", FILE, &directive("a", "", ""));
    let item = world.library_with(lenient.clone()).directive(&id("a")).unwrap();
    assert_eq!(*item.content.provenance(), Provenance::Unsigned);

    let signed = signed_text(&world.operator, FILE, &directive("a", "", ""));
    world.write("project", FILE, &signed.replace("Do it.", "Do more."));
    let error = world.library_with(lenient).directive(&id("a")).unwrap_err();
    assert!(error.is_unverified(), "{error:?}");
}

#[test]
fn an_unparseable_winner_is_the_answer() {
    let world = World::new();
    let error = shadowed_by(&world, &signed_text(&world.operator, FILE, "# No fence\n"));
    let ResolveError::Unparseable { text, source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(
        error.to_string().replace('\\', "/"),
        format!("`{}` cannot be parsed", path(&world))
    );
    assert!(text.ends_with("# No fence\n") && !source.problems().is_empty());
}

fn path(world: &World) -> String {
    world.path("project/.ai/directives/a.md").display().to_string()
}

#[test]
fn a_system_root_is_verified_like_any_other() {
    let world = World::new();
    world.write("system", FILE, &directive("a", "", ""));
    let error = world.library().directive(&id("a")).unwrap_err();
    assert!(error.is_unverified(), "{error:?}");
}

#[test]
fn a_shipped_item_is_trusted_as_the_program_is() {
    let item = World::new().library().knowledge(&id("rye/identity")).unwrap();
    assert_eq!(*item.content.provenance(), Provenance::Builtin);
}

#[test]
fn knowledge_and_tools_are_read_by_their_extension() {
    let world = World::new();
    world.signed("project", "knowledge/k.yaml", "name: k\ntitle: Kay\n");
    world.signed(
        "project",
        "tools/t.yaml",
        "description: Reads.\nexecutor: builtin\nbuiltin: file-system/read\ninput_schema:\n  type: object\n",
    );
    let library = world.library();
    let knowledge = library.knowledge(&id("k")).unwrap();
    assert_eq!(knowledge.content.value().title.as_deref(), Some("Kay"));
    assert_eq!(knowledge.content.value().body.value, "");
    assert_eq!(library.tool(&id("t")).unwrap().content.value().description, "Reads.");
}

#[test]
fn a_folder_in_the_place_of_a_file() {
    let world = World::new();
    world.directive("user", "a", "");
    world.write("project", "directives/a.md/b.txt", "");
    let error = world.library().directive(&id("a")).unwrap_err();
    assert_eq!(
        world.error_text(&error),
        "`project/.ai/directives/a.md` is not a plain file; move it away or give it another name"
    );
}

#[test]
fn a_file_over_the_cap() {
    let world = World::new();
    world.write("project", FILE, &"x".repeat(4 * 1024 * 1024 + 1));
    let error = world.library().directive(&id("a")).unwrap_err();
    assert_eq!(
        world.error_text(&error),
        "`project/.ai/directives/a.md` is longer than 4194304 bytes; split it"
    );
}

#[test]
fn a_file_that_is_not_text() {
    let world = World::new();
    world.write("project", FILE, "");
    std::fs::write(world.path("project/.ai/directives/a.md"), [0xff, 0xfe]).unwrap();
    let error = world.library().directive(&id("a")).unwrap_err();
    assert_eq!(
        world.error_text(&error),
        "`project/.ai/directives/a.md` is UTF-16 text; save it as UTF-8"
    );
}
