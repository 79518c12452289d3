//! Folders that `git` would take for a repository: no order of writes makes one.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::grounds::git;
use crate::project::{Project, call};

/// What `git` needs of a folder to take it for a repository and to run a program from it.
const PIECES: [(&str, &str); 6] = [
    ("HEAD", "ref: refs/heads/main\n"),
    ("config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"),
    ("objects/pack/x", "x"),
    ("refs/heads/x", "x"),
    ("commondir", ".\n"),
    ("hooks/post-checkout", "#!/bin/sh\ntouch fired\n"),
];

/// What `git` looks at (`is_git_directory`).
fn is_repository(folder: &Path) -> bool {
    let is_there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    let head = fs::symlink_metadata(folder.join("HEAD"));
    head.is_ok_and(|head| !head.is_dir())
        && (is_there("commondir") || is_there("objects") && is_there("refs"))
}

/// `git` itself says so, where it is installed.
fn git_says(project: &Project, folder: &str) -> Option<bool> {
    let (worked, _) = git(project, &["-C", folder, "rev-parse", "--git-dir"])?;
    Some(worked)
}

#[test]
fn the_pieces_make_a_repository_if_something_else_puts_them_there() {
    let project = Project::new();
    for (path, content) in PIECES {
        project.file(&format!("project/docs/{path}"), content);
    }
    assert!(is_repository(&project.outer().join("project/docs")));
    match git_says(&project, "docs") {
        Some(says) => assert!(says),
        None => println!("not tried: `git` is not installed"),
    }
}

/// Makes some pieces beforehand, and has a tool write all of them in one order.
fn check(before: &[bool], order: &[usize], folder: &str, head_is_link: bool) {
    let project = Project::new();
    let place = project.outer().join("project").join(folder);
    fs::create_dir_all(&place).unwrap();
    for ((path, content), _) in PIECES.iter().zip(before).filter(|(_, is_there)| **is_there) {
        project.file(&format!("project/{folder}/{path}"), content);
    }
    if head_is_link && !before.first().copied().unwrap_or_default() {
        std::os::unix::fs::symlink("refs/heads/main", place.join("HEAD")).unwrap();
    }
    if is_repository(&place) {
        return;
    }
    for (path, content) in order.iter().filter_map(|index| PIECES.get(*index)) {
        let path = format!("{folder}/{path}");
        drop(call(&project.root, "write", json!({ "path": path, "content": content })));
    }
    assert!(!is_repository(&place), "{before:?} {order:?} {folder}");
    assert_ne!(git_says(&project, folder), Some(true), "{before:?} {order:?} {folder}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.min(200)))]

    #[test]
    fn no_order_of_writes_completes_one(
        before in prop::collection::vec(any::<bool>(), PIECES.len()),
        order in Just((0..PIECES.len()).collect::<Vec<usize>>()).prop_shuffle(),
        folder in prop::sample::select(vec!["docs", "new/deep", "."]),
        head_is_link in any::<bool>(),
    ) {
        check(&before, &order, folder, head_is_link);
    }
}

/// The same from several threads at once.
#[test]
fn no_writes_at_the_same_time_complete_one() {
    for _ in 0..20 {
        let project = Project::new();
        std::thread::scope(|scope| {
            for (path, content) in PIECES {
                let root = &project.root;
                let arguments = json!({ "path": format!("docs/{path}"), "content": content });
                scope.spawn(move || drop(call(root, "write", arguments)));
            }
        });
        assert!(!is_repository(&project.outer().join("project/docs")));
    }
}

/// What only looks like a part of a repository stays writable.
#[test]
fn ordinary_names_stay_writable() {
    let project = Project::new();
    project.file("project/app/head/index.ts", "x");
    for path in [
        "app/head/index.ts",
        "app/new-head/HEAD.md",
        "head/a.ts",
        "objects/a.json",
        "refs/a.bib",
        "config",
        "hooks/use.ts",
        "commondir",
        ".gitignore",
        ".gitattributes",
        ".github/workflows/ci.yml",
        "git/a.md",
    ] {
        let output = call(&project.root, "write", json!({ "path": path, "content": "x" }));
        assert_eq!(output.content["path"], path, "{}", output.content);
    }
}
