//! Precedence, shadowing and ambiguity on disk.

use rye_resolve::Located;
use rye_types::ItemKind;

use crate::world::{World, id};

#[track_caller]
fn finds(world: &World, kind: ItemKind, item: &str, winner: &str, shadowed: &[&str]) {
    let Located { winner: first, shadowed: rest, .. } =
        world.library().locate(kind, &id(item)).unwrap();
    let rest: Vec<String> = rest.iter().map(|l| world.with_placeholders(&l.to_string())).collect();
    assert_eq!(
        (world.with_placeholders(&first.to_string()).as_str(), rest.as_slice()),
        (winner, &to_strings(shadowed)[..])
    );
}

#[track_caller]
fn refuses(world: &World, kind: ItemKind, item: &str, message: &str) {
    let error = world.library().locate(kind, &id(item)).unwrap_err();
    assert_eq!(world.error_text(&error), message);
}

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_nearest_space_wins_and_the_others_are_shadowed() {
    let world = World::new();
    for space in ["project", "user", "system"] {
        world.write(space, "knowledge/rye/identity.md", "text");
    }
    finds(
        &world,
        ItemKind::Knowledge,
        "rye/identity",
        "project/.ai/knowledge/rye/identity.md",
        &[
            "user/.ai/knowledge/rye/identity.md",
            "system/.ai/knowledge/rye/identity.md",
            "builtin:knowledge/rye/identity.md",
        ],
    );
}

#[test]
fn a_shipped_item_alone() {
    let world = World::new();
    finds(&world, ItemKind::Knowledge, "rye/identity", "builtin:knowledge/rye/identity.md", &[]);
}

#[test]
fn every_extension_of_the_kind_is_tried() {
    let world = World::new();
    world.write("project", "tools/a.py", "");
    world.write("user", "tools/a.yaml", "");
    finds(&world, ItemKind::Tool, "a", "project/.ai/tools/a.py", &["user/.ai/tools/a.yaml"]);
}

#[test]
fn two_files_for_one_id() {
    let world = World::new();
    world.write("project", "knowledge/a.md", "");
    world.write("project", "knowledge/a.yml", "");
    refuses(
        &world,
        ItemKind::Knowledge,
        "a",
        "knowledge `a` is ambiguous in the project space: `project/.ai/knowledge/a.md`, \
         `project/.ai/knowledge/a.yml`; keep one of them",
    );
}

#[test]
fn an_extension_of_another_kind_does_not_count() {
    let world = World::new();
    world.write("project", "directives/a.yaml", "");
    refuses(
        &world,
        ItemKind::Directive,
        "a",
        "directive `a` not found; looked in `project/.ai/directives`, `user/.ai/directives`, \
         `system/.ai/directives`, `builtin:directives`",
    );
}

#[test]
fn not_found_suggests_what_is_there() {
    let world = World::new();
    world.write("user", "directives/deploy/staging.md", "");
    refuses(
        &world,
        ItemKind::Directive,
        "deploy/stagin",
        "directive `deploy/stagin` not found; did you mean `deploy/staging`? looked in \
         `project/.ai/directives`, `user/.ai/directives`, `system/.ai/directives`, `builtin:directives`",
    );
}

#[test]
fn not_found_says_what_else_has_the_id() {
    let world = World::new();
    world.write("user", "directives/run/me.md", "");
    world.write("user", "knowledge/read/me.md", "");
    world.write("user", "tools/call/me.yaml", "");
    world.write("user", "directives/call/mes.md", "");
    let check = |kind: ItemKind, asked: &str, instead: &str| {
        let folder = kind.folder();
        refuses(
            &world,
            kind,
            asked,
            &format!(
                "{kind} `{asked}` not found; {instead}; looked in `project/.ai/{folder}`, `user/.ai/{folder}`, \
                 `system/.ai/{folder}`, `builtin:{folder}`"
            ),
        );
    };
    let directive = "that is the id of a directive, which `rye run` runs";
    check(ItemKind::Knowledge, "run/me", directive);
    check(ItemKind::Tool, "run/me", directive);
    let knowledge = "that is the id of knowledge, which `rye load` prints";
    check(ItemKind::Directive, "read/me", knowledge);
    let tool =
        "that is the id of a tool, which a directive may call that has it under `<permissions>`";
    // The same id of another kind is named before a similar id.
    check(ItemKind::Directive, "call/me", tool);
    check(ItemKind::Knowledge, "call/me", tool);
}

#[test]
fn an_id_longer_than_a_file_name_is_not_found() {
    let world = World::new();
    let long = "a".repeat(256);
    let error = world.library().locate(ItemKind::Tool, &id(&long)).unwrap_err();
    assert!(matches!(error, rye_resolve::ResolveError::NotFound { .. }), "{error}");
}

#[test]
fn key_folders_hold_no_config() {
    let world = World::new();
    let trusted = crate::world::trust_path(&world.operator);
    let name = trusted.strip_prefix("config/").and_then(|path| path.strip_suffix(".toml")).unwrap();
    let error = world.library().locate(ItemKind::Config, &id(name)).unwrap_err();
    assert!(matches!(error, rye_resolve::ResolveError::NotFound { .. }), "{error}");
}
