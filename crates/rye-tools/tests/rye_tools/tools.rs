//! The tools as a thread calls them: arguments in, a JSON object out.

use rye_thread::ToolStatus;
use rye_tools::{SELF_STARTING, builtin, builtins};
use serde_json::{Value, json};

use crate::project::{Project, call};

#[track_caller]
fn check(function: &str, arguments: Value, status: ToolStatus, content: Value) {
    let project = Project::new();
    project.file("project/notes/groceries.md", "# Groceries for the week\n\n- flour\n");
    let output = call(&project.root, function.trim_start_matches("file-system/"), arguments);
    assert_eq!((output.status, output.content), (status, content));
}

#[test]
fn the_registry_knows_its_functions_and_no_other() {
    let names: Vec<&str> = builtins().collect();
    let all =
        ["edit", "glob", "grep", "ls", "read", "write"].map(|name| format!("file-system/{name}"));
    assert_eq!(names, all);
    let project = Project::new();
    assert!(names.iter().all(|name| builtin(name, &project.root).is_some()));
    assert!(builtin("file-system/delete", &project.root).is_none());
}

#[test]
fn read_gives_content_and_size() {
    let content = json!({
        "path": "notes/groceries.md",
        "content": "- flour\n",
        "bytes": 34,
        "lines": 3,
        "truncated": false,
    });
    check(
        "file-system/read",
        json!({ "path": "notes/groceries.md", "offset": 3 }),
        ToolStatus::Ok,
        content,
    );
}

#[test]
fn read_says_that_more_follows() {
    let content = json!({
        "path": "notes/groceries.md",
        "content": "# Groceries for the week\n",
        "bytes": 34,
        "lines": 3,
        "truncated": true,
        "next_offset": 2,
    });
    let arguments = json!({ "path": "notes/groceries.md", "offset": 1, "limit": 1 });
    check("file-system/read", arguments, ToolStatus::Ok, content);
}

#[test]
fn write_gives_the_size() {
    let content = json!({ "path": "summary/week.md", "bytes_written": 3 });
    let arguments = json!({ "path": "./summary/week.md", "content": "ok\n" });
    check("file-system/write", arguments, ToolStatus::Ok, content);
}

/// A file that runs when the operator opens its folder is named, also where a link leads to it or is it.
#[test]
fn a_changed_file_that_starts_by_itself_is_named_in_the_result() {
    let project = Project::new();
    project.file("project/sub/.envrc", "export A=1\n");
    project.file("project/env.sh", "export A=1\n");
    let at = |path: &str| project.outer().join("project").join(path);
    std::os::unix::fs::symlink("env.sh", at(".envrc")).unwrap();
    std::os::unix::fs::symlink("sub/.envrc", at("innocent")).unwrap();
    std::os::unix::fs::symlink("sub", at(".vscode")).unwrap();
    std::os::unix::fs::symlink(".vscode", at("code")).unwrap();
    let named = |tool: &str, arguments: Value| {
        let output = call(&project.root, tool, arguments);
        assert_eq!(output.status, ToolStatus::Ok, "{}", output.content);
        output.content.get(SELF_STARTING).cloned()
    };
    let write = |path: &str| named("write", json!({ "path": path, "content": "export A=1\n" }));
    assert_eq!(write(".husky/pre-commit"), Some(json!([".husky/pre-commit"])));
    assert_eq!(write(".idea/run/a.xml"), Some(json!([".idea/run/a.xml"])));
    assert_eq!(write("app/.vscode/tasks.json"), Some(json!(["app/.vscode/tasks.json"])));
    assert_eq!(write(".envrc"), Some(json!([".envrc"])));
    assert_eq!(write("innocent"), Some(json!(["sub/.envrc"])));
    assert_eq!(write(".vscode/tasks.json"), Some(json!([".vscode/tasks.json"])));
    assert_eq!(write("code/settings.json"), Some(json!([".vscode/settings.json"])));
    assert_eq!(write(".vscode/other.json"), None);
    assert_eq!(write("notes/a.md"), None);
    let edits = json!([{ "old": "A", "new": "B" }]);
    let edit = named("edit", json!({ "path": "sub/.envrc", "edits": edits }));
    assert_eq!(edit, Some(json!(["sub/.envrc"])));
}

#[test]
fn ls_gives_entries_and_a_text() {
    let content = json!({
        "path": "notes",
        "count": 1,
        "entries": [
            { "name": "groceries.md", "kind": "file", "bytes": 34, "first_line": "Groceries for the week" },
        ],
        "listing": "- groceries.md: Groceries for the week",
    });
    check(
        "file-system/ls",
        json!({ "path": "notes", "first_lines": true }),
        ToolStatus::Ok,
        content,
    );
}

#[test]
fn ls_lists_the_root_by_default() {
    let content = json!({
        "path": ".",
        "count": 1,
        "entries": [{ "name": "notes", "kind": "folder" }],
        "listing": "- notes",
    });
    check("file-system/ls", json!({}), ToolStatus::Ok, content);
}

#[test]
fn confinement_is_a_refusal_with_its_reason() {
    let message =
        "the path `../x` is refused: it has a `..` part; give it from the project folder downward";
    let content = json!({ "error": message });
    check("file-system/read", json!({ "path": "../x" }), ToolStatus::Refused, content.clone());
    check(
        "file-system/write",
        json!({ "path": "../x", "content": "" }),
        ToolStatus::Refused,
        content.clone(),
    );
    check("file-system/ls", json!({ "path": "../x" }), ToolStatus::Refused, content);
}

#[test]
fn a_failure_is_an_error_that_can_be_read() {
    let content = json!({ "error": "`none.md` does not exist" });
    check("file-system/read", json!({ "path": "none.md" }), ToolStatus::Error, content);
}

#[test]
fn arguments_that_do_not_fit_are_an_error() {
    let content = json!({ "error": "the arguments do not fit: missing field `content`" });
    check("file-system/write", json!({ "path": "a" }), ToolStatus::Error, content);
    let message = "the arguments do not fit: unknown field `mode`, expected one of `path`, `offset`, `limit`, `line_numbers`";
    check(
        "file-system/read",
        json!({ "path": "a", "mode": 1 }),
        ToolStatus::Error,
        json!({ "error": message }),
    );
}
