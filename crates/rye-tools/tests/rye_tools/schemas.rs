//! The shipped manifests say what the functions take and give.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rye_thread::ToolStatus;
use serde_json::{Value, json};

use crate::project::{Project, call};

/// Runs `tool` with arguments that have every member of its schema somewhere, and holds both sides against the manifest.
#[track_caller]
fn check(tool: &str, calls: &[Value]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../rye-project/std/tools/rye/file-system/{tool}.yaml"));
    let manifest: Value = serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(manifest["builtin"], format!("file-system/{tool}"));
    let (input, output) = (&manifest["input_schema"], &manifest["output_schema"]);
    let (takes, gives) =
        (jsonschema::validator_for(input).unwrap(), jsonschema::validator_for(output).unwrap());
    let (mut taken, mut given) = (BTreeSet::new(), BTreeSet::new());
    for arguments in calls {
        let project = project(if arguments["path"] == "many" { 1_001 } else { 1 });
        assert!(takes.is_valid(arguments), "{arguments}");
        let result = call(&project.root, tool, arguments.clone());
        assert_eq!(result.status, ToolStatus::Ok, "{arguments} {}", result.content);
        assert!(gives.is_valid(&result.content), "{arguments} {}", result.content);
        taken.extend(names(arguments));
        given.extend(names(&result.content));
    }
    assert_eq!(taken, names(&input["properties"]).into_iter().collect(), "what {tool} takes");
    assert_eq!(given, names(&output["properties"]).into_iter().collect(), "what {tool} gives");
    let unknown = json!({ "path": "a.md", "pattern": "a", "content": "", "edits": [], "other": 1 });
    assert!(!takes.is_valid(&unknown));
    assert_eq!(call(&project(1).root, tool, unknown).status, ToolStatus::Error);
}

fn names(object: &Value) -> Vec<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

/// A project with so many files in one of its folders. A listing has at most a thousand.
fn project(many: usize) -> Project {
    let project = Project::new();
    project.file("project/a.md", "one\ntwo\n");
    project.file("project/long", &"x".repeat(300 * 1024));
    project.file("project/.hidden", "one\n");
    project.file("project/.idea/a.xml", "one\n");
    for number in 0..many {
        project.file(&format!("project/many/{number}"), "one\n");
    }
    project
}

#[test]
fn manifests_are_true() {
    check(
        "read",
        &[
            json!({ "path": "a.md", "offset": 1, "limit": 1, "line_numbers": true }),
            json!({ "path": "long" }),
        ],
    );
    let write = |path: &str| json!({ "path": path, "content": "x" });
    check("write", &[write("b.md"), write(".envrc")]);
    let edit =
        |path: &str| json!({ "path": path, "edits": [{ "old": "o", "new": "0", "all": true }] });
    check("edit", &[edit("a.md"), edit(".idea/a.xml")]);
    check(
        "ls",
        &[
            json!({}),
            json!({ "path": "many", "first_lines": true, "hidden": true, "ignored": true, "skip": 0 }),
        ],
    );
    check(
        "glob",
        &[
            json!({ "pattern": "*.md" }),
            json!({ "pattern": "*", "path": "many", "hidden": true, "ignored": true, "skip": 0 }),
        ],
    );
    let all = json!({ "pattern": "one", "path": ".", "globs": ["*"], "literal": true, "ignore_case": true,
        "files_only": false, "context": 1, "hidden": true, "ignored": true, "limit": 1, "skip": 0 });
    check("grep", &[json!({ "pattern": "one", "files_only": true }), all]);
}
