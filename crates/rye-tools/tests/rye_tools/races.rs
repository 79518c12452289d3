//! Folders and files that become something else while they are used.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::project::{Project, call};
use crate::sweep::sweep;

/// One of so many calls is made while folders change places, unless the sweep is whole.
const PART: usize = 4;

/// Swaps `door`, a folder of the project, with links that lead out, again and again while `tool` goes through it.
#[track_caller]
fn check(tool: &str, arguments: &Value) {
    let project = Project::new();
    project.file("outside/x", "CANARY");
    project.file("project/door/x", "fine");
    project.file("project/.ai/config/keys/signing/x", "CANARY");
    let at = |path: &str| project.outer().join("project").join(path);
    symlink("../outside", at("door-out")).unwrap();
    symlink(".ai/config/keys/signing", at("door-keys")).unwrap();
    symlink("../../outside/x", at("door/x-out")).unwrap();
    let swap = |a: &str, b: &str| {
        renameat_with(CWD, at(a), CWD, at(b), RenameFlags::EXCHANGE).unwrap();
    };
    let done = AtomicBool::new(false);
    let seen: Vec<String> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for link in ["door-out", "door-keys"] {
                    swap("door", link);
                    swap("door", link);
                    swap("door/x", "door/x-out");
                    swap("door/x", "door/x-out");
                }
            }
        });
        let result = |_| call(&project.root, tool, arguments.clone()).content.to_string();
        let seen = sweep(0..200, 0, PART).into_iter().map(result).collect();
        done.store(true, Ordering::Relaxed);
        seen
    });
    assert!(!seen.iter().any(|result| result.contains("CANARY")), "{seen:?}");
    for path in ["outside", "project/.ai/config/keys/signing"] {
        let path = project.outer().join(path);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(path.join("x")).unwrap(), "CANARY");
    }
}

/// Swaps `door`, a folder of the project, with a folder that `git` runs, while `tool` writes in it.
#[track_caller]
fn check_repository(repository: &str, tool: &str, arguments: &Value) {
    let project = Project::new();
    project.file("project/door/config", "fine");
    let at = |path: &str| project.outer().join("project").join(path);
    for folder in ["objects", "refs", "hooks"] {
        fs::create_dir_all(at(repository).join(folder)).unwrap();
        fs::create_dir_all(at("door").join(folder)).unwrap();
    }
    project.file(&format!("project/{repository}/HEAD"), "ref: refs/heads/main");
    project.file(&format!("project/{repository}/config"), "kept");
    let done = AtomicBool::new(false);
    let swap = || {
        renameat_with(CWD, at("door"), CWD, at(repository), RenameFlags::EXCHANGE).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap();
                swap();
            }
        });
        for _ in sweep(0..300, 0, PART) {
            drop(call(&project.root, tool, arguments.clone()));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(at(repository).join("config")).unwrap(), "kept");
    assert_eq!(fs::read_dir(at(repository)).unwrap().count(), 5);
    assert_eq!(fs::read_dir(at(repository).join("hooks")).unwrap().count(), 0);
}

#[test]
fn a_repository_that_takes_the_place_of_a_folder_stays_as_it_is() {
    for repository in [".git", "sub/.git", "bare"] {
        let hook = json!({ "path": "door/hooks/post-checkout", "content": "x" });
        check_repository(repository, "write", &hook);
        check_repository(repository, "write", &json!({ "path": "door/config", "content": "x" }));
        let edits = json!([{ "old": "kept", "new": "changed" }]);
        check_repository(repository, "edit", &json!({ "path": "door/config", "edits": edits }));
    }
}

#[test]
fn a_door_that_turns_lets_nothing_in_or_out() {
    check("read", &json!({ "path": "door/x" }));
    check("write", &json!({ "path": "door/x", "content": "x" }));
    check("edit", &json!({ "path": "door/x", "edits": [{ "old": "C", "new": "x" }] }));
    check("ls", &json!({ "path": "door", "first_lines": true }));
    check("glob", &json!({ "pattern": "**", "hidden": true }));
    check("grep", &json!({ "pattern": ".", "hidden": true, "ignored": true }));
    check("grep", &json!({ "pattern": ".", "path": "door" }));
}
