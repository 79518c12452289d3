//! Links: followed inside a space, refused out of it (SPEC 1.3).
#![cfg(unix)]

use std::{fs, os::unix::fs::symlink};

use rye_resolve::Space;
use rye_types::ItemKind;

use crate::world::{World, directive, id, signed_text};

fn link(world: &World, file: &str, target: &str) {
    let path = world.path("project").join(".ai").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(world.path("").join(target), path).unwrap();
}

#[track_caller]
fn refuses(world: &World, item: &str, message: &str) {
    let error = world.library().text(ItemKind::Directive, &id(item)).unwrap_err();
    assert_eq!(world.error_text(&error), message);
}

#[test]
fn a_link_inside_the_space_is_followed() {
    let world = World::new();
    let signed = signed_text(&world.operator, "directives/a.md", &directive("a", "", ""));
    world.write("project", "shared/a.txt", &signed);
    link(&world, "directives/a.md", "project/.ai/shared/a.txt");
    assert_eq!(world.library().directive(&id("a")).unwrap().source, signed);
}

#[test]
fn a_folder_inside_the_space_is_followed() {
    let world = World::new();
    let signed = signed_text(&world.operator, "directives/b/a.md", &directive("a", "", ""));
    world.write("project", "shared/a.md", &signed);
    link(&world, "directives/b", "project/.ai/shared");
    assert_eq!(world.library().directive(&id("b/a")).unwrap().source, signed);
}

/// Programs are kept from the folder of configuration, and not from where a link in it leads.
#[test]
fn policy_is_reached_by_no_link() {
    for (link_at, file) in [
        ("config/agent/approval.yaml", "shared/approval.yaml"),
        ("config/agent", "shared/approval.yaml"),
        ("config", "shared/agent/approval.yaml"),
    ] {
        let world = World::new();
        let text = signed_text(&world.operator, "config/agent/approval.yaml", "ask: []\n");
        world.write("project", file, &text);
        let is_file = link_at.ends_with(".yaml");
        link(&world, link_at, &format!("project/.ai/{}", if is_file { file } else { "shared" }));
        let error = world.library().config("agent/approval").unwrap_err();
        let told = world.error_text(&error);
        assert!(
            told.contains("is reached by a link, and configuration and providers are not"),
            "{told}"
        );
    }
    let world = World::new();
    let provider = "tools/rye/agent/providers/p.yaml";
    world.write("project", "shared/p.yaml", &signed_text(&world.operator, provider, "a: 1\n"));
    link(&world, "tools/rye/agent/providers", "project/.ai/shared");
    let found = world.library().text(ItemKind::Tool, &id("rye/agent/providers/p"));
    assert!(world.error_text(&found.unwrap_err()).contains("is reached by a link"));
}

#[test]
fn a_folder_that_leads_nowhere_holds_nothing() {
    let world = World::new();
    let signed = signed_text(&world.operator, "knowledge/b/a.md", "text\n");
    world.write("user", "knowledge/b/a.md", &signed);
    link(&world, "knowledge/b", "nowhere");
    assert_eq!(world.library().knowledge(&id("b/a")).unwrap().location.space, Space::User);
}

#[test]
fn a_file_out_of_the_space() {
    let world = World::new();
    world.directive("user", "a", "");
    link(&world, "directives/a.md", "user/.ai/directives/a.md");
    refuses(
        &world,
        "a",
        "`project/.ai/directives/a.md` is a link out of its space, to `user/.ai/directives/a.md`; \
         copy the file into the space",
    );
}

#[test]
fn a_folder_out_of_the_space() {
    let world = World::new();
    world.directive("user", "x/a", "");
    link(&world, "directives/x", "user/.ai/directives/x");
    refuses(
        &world,
        "x/a",
        "`project/.ai/directives/x/a.md` is a link out of its space, to \
         `user/.ai/directives/x/a.md`; copy the file into the space",
    );
}

#[test]
fn a_space_whose_name_begins_like_another() {
    let world = World::new();
    fs::create_dir_all(world.path("project").join(".ai2")).unwrap();
    fs::write(world.path("project").join(".ai2/a.md"), "").unwrap();
    link(&world, "directives/a.md", "project/.ai2/a.md");
    refuses(
        &world,
        "a",
        "`project/.ai/directives/a.md` is a link out of its space, to `project/.ai2/a.md`; copy the \
         file into the space",
    );
}

#[test]
fn a_dangling_link_does_not_fall_through() {
    let world = World::new();
    world.directive("user", "a", "");
    link(&world, "directives/a.md", "project/.ai/nowhere.md");
    refuses(
        &world,
        "a",
        "cannot read `project/.ai/directives/a.md`\nNo such file or directory (os error 2)",
    );
}

#[test]
fn an_ai_folder_that_is_a_link_is_its_own_space() {
    let world = World::new();
    world.directive("user", "a", "");
    let project = world.path("project").join(".ai");
    fs::remove_dir(&project).unwrap();
    symlink(world.path("user").join(".ai"), &project).unwrap();
    let item = world.library().directive(&id("a")).unwrap();
    assert_eq!(world.with_placeholders(&item.location.to_string()), "project/.ai/directives/a.md");
}

#[test]
fn a_listing_tells_links_apart() {
    let world = World::new();
    world.directive("project", "x/a", "");
    link(&world, "directives/y", "project/.ai/directives/x");
    link(&world, "directives/x/loop", "project/.ai/directives");
    link(&world, "directives/out", "user");
    let survey = world.library().survey(ItemKind::Directive);
    let ids: Vec<_> = survey.items.iter().map(|item| item.id.as_str()).collect();
    let problems: Vec<_> =
        survey.problems.iter().map(|problem| world.error_text(problem)).collect();
    assert_eq!(ids, ["x/a", "y/a"]);
    assert_eq!(
        problems,
        [
            "`project/.ai/directives/out` is a link out of its space, to `user`; copy the file into the space"
        ]
    );
}
