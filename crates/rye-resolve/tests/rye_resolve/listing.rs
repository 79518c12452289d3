//! The items that can be listed, over all spaces.

use rye_types::ItemKind;

use crate::world::World;

#[track_caller]
fn lists(world: &World, kind: ItemKind, expected: &[&str]) {
    let listed = world.library().list(kind).unwrap();
    let listed: Vec<String> = listed
        .iter()
        .map(|item| format!("{} {}", item.id, world.with_placeholders(&item.location.to_string())))
        .collect();
    assert_eq!(listed, expected);
}

#[test]
fn winners_of_all_spaces_sorted_by_id() {
    let world = World::new();
    world.write("project", "knowledge/b.md", "");
    world.write("user", "knowledge/b.yaml", "");
    world.write("user", "knowledge/a/z.yml", "");
    lists(
        &world,
        ItemKind::Knowledge,
        &[
            "a/z user/.ai/knowledge/a/z.yml",
            "b project/.ai/knowledge/b.md",
            "rye/identity builtin:knowledge/rye/identity.md",
        ],
    );
}

#[test]
fn hidden_files_and_other_types_are_no_items() {
    let world = World::new();
    world.write("project", "tools/.hidden.sh", "");
    world.write("project", "tools/.venv/lib.py", "");
    world.write("project", "tools/readme.txt", "");
    world.write("project", "tools/a.sh", "");
    lists(&world, ItemKind::Tool, &["a project/.ai/tools/a.sh"]);
}

#[test]
fn keys_are_not_config() {
    let world = World::new();
    world.write("project", "config/agent/resilience.toml", "");
    lists(&world, ItemKind::Config, &["agent/resilience project/.ai/config/agent/resilience.toml"]);
}

#[test]
fn every_problem_is_reported_and_the_rest_is_still_known() {
    let world = World::new();
    world.write("project", "tools/a.sh", "");
    world.write("project", "tools/a.py", "");
    world.write("project", "tools/b c.sh", "");
    world.write("project", "tools/d.sh", "");
    let error = world.library().list(ItemKind::Tool).unwrap_err();
    let problems: Vec<String> =
        error.problems().iter().map(|problem| world.error_text(problem)).collect();
    let character = "item id `b c` has ' ' where a segment cannot have it; use letters, digits, `_`, \
                     and after the first character also `.` and `-`";
    let ambiguous = "tool `a` is ambiguous in the project space: `project/.ai/tools/a.py`, \
                     `project/.ai/tools/a.sh`; keep one of them";
    let misnamed = "`project/.ai/tools/b c.sh` has a name that no item id can have; rename it";
    assert_eq!(problems, [format!("{misnamed}\n{character}"), ambiguous.to_owned()]);
    assert_eq!(
        world.with_placeholders(&error.to_string()),
        format!("2 problems: {misnamed}: {character}; {ambiguous}")
    );

    let survey = world.library().survey(ItemKind::Tool);
    let ids: Vec<&str> = survey.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["d"]);
}

#[test]
fn what_is_listed_is_what_is_found() {
    let world = World::new();
    for (space, file) in [
        ("project", "tools/a.sh"),
        ("user", "tools/a.py"),
        ("user", "tools/deep/er/b.rb"),
        ("system", "tools/deep/er/b.ts"),
        ("system", "tools/c.d.yaml"),
    ] {
        world.write(space, file, "");
    }
    let library = world.library();
    let listed = library.list(ItemKind::Tool).unwrap();
    assert_eq!(listed.len(), 3);
    for item in listed {
        assert_eq!(library.locate(ItemKind::Tool, &item.id).unwrap().winner, item.location);
    }
}
