//! Ids of paths, and the project of a working directory.

use std::fs;

use rye_resolve::{Space, item_at, project_root};
use rye_types::ItemKind;

use crate::world::{World, id};

#[track_caller]
fn check(path: &str, expected: Option<&str>) {
    let world = World::new();
    let place = item_at(&world.spaces(), &world.path(path));
    let place = place.map(|(kind, id, space)| format!("{space} {kind} {id}"));
    assert_eq!(place.as_deref(), expected);
}

#[test]
fn a_directive_of_the_project() {
    check("project/.ai/directives/deploy/staging.md", Some("project directive deploy/staging"));
}

#[test]
fn a_tool_of_the_user() {
    check("user/.ai/tools/a.b.py", Some("user tool a.b"));
}

#[test]
fn config_of_a_system_root() {
    check("system/.ai/config/agent/resilience.yaml", Some("system config agent/resilience"));
}

#[test]
fn no_items() {
    check("project/.ai/directives/a.txt", None);
    check("project/.ai/directives/.a.md", None);
    check("project/.ai/directives", None);
    check("project/.ai/threads/a.md", None);
    check("project/.ai/config/keys/trusted/4b987fd4e40303ac.toml", None);
    check("project/directives/a.md", None);
    check("elsewhere/.ai/directives/a.md", None);
}

#[test]
fn steps_upward_lead_where_the_disk_says() {
    let world = World::new();
    world.write("project", "directives/b.md", "");
    world.write("user", "directives/a.md", "");
    let place =
        |path| item_at(&world.spaces(), &world.path(path)).map(|(_, id, space)| (id, space));
    assert_eq!(
        place("project/.ai/directives/../../../user/.ai/directives/a.md"),
        Some((id("a"), Space::User))
    );
    assert_eq!(place("project/.ai/directives/../../a.md"), None);
}

#[cfg(unix)]
#[test]
fn another_name_of_the_project() {
    let world = World::new();
    world.write("project", "directives/x/a.md", "");
    std::os::unix::fs::symlink(world.path("project"), world.path("other")).unwrap();
    let place = item_at(&world.spaces(), &world.path("other/.ai/directives/x/a.md"));
    let place = place.map(|(kind, id, space)| format!("{space} {kind} {id}"));
    assert_eq!(place.as_deref(), Some("project directive x/a"));
}

#[test]
fn what_is_listed_is_at_its_place() {
    let world = World::new();
    world.write("project", "tools/a/b.sh", "");
    world.write("user", "tools/c.yaml", "");
    for item in world.library().list(ItemKind::Tool).unwrap() {
        let place = item_at(&world.spaces(), &item.location.path);
        assert_eq!(place, Some((ItemKind::Tool, item.id, item.location.space)));
    }
}

#[test]
fn the_nearest_project_that_is_not_the_user_s() {
    let world = World::new();
    let inner = world.path("user/work/project/src/deep");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir_all(world.path("user/work/project/.ai")).unwrap();
    let user = world.path("user");
    let found = |start: &str, user| project_root(&world.path(start), user);

    assert_eq!(
        found("user/work/project/src/deep", Some(&*user)),
        Some(world.path("user/work/project"))
    );
    assert_eq!(found("user/work/project", Some(&*user)), Some(world.path("user/work/project")));
    assert_eq!(found("user/work", None), Some(world.path("user")));
    // The temporary folder of the machine may be in a project; the user space is not a project.
    assert_ne!(found("user/work", Some(&*user)), Some(world.path("user")));
}

#[test]
fn a_file_named_ai_makes_no_project() {
    let world = World::new();
    fs::create_dir_all(world.path("project/sub")).unwrap();
    fs::write(world.path("project/sub/.ai"), "").unwrap();
    assert_eq!(project_root(&world.path("project/sub"), None), Some(world.path("project")));
}
