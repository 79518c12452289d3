//! The attempts by files in projects of other kinds, and on other file systems. What a machine cannot do is printed.

use std::fs;
use std::path::Path;
use std::process::Command;

use rye_types::SandboxMode;

use super::{Attempt, HOME, OUTSIDE, READING, WRITING, check_attempts, missing, needs, owned};
use crate::arena::Arena;
use crate::repositories;
use crate::starts::Mounted;
use crate::sweep::sweep;

/// The kinds of projects. Unless the sweep is whole, each attempt is made in one of them, by root or by an ordinary user.
const KINDS: [&str; 5] =
    ["no `.git`", "a worktree", "submodules", "a file system in memory", "a mount of its own"];

/// The fewest attempts for each project.
const FEWEST: usize = 75;

/// Makes the attempts in a project of each kind. `memory` is a folder on a file system in memory, if there is one.
#[expect(clippy::print_stdout, reason = "what is not tested is to be seen")]
pub(crate) fn check_all(mode: SandboxMode, memory: Option<&str>) {
    for kind in ["no `.git`", "a worktree", "submodules"] {
        let arena = Arena::new();
        let project = arena.root.join("project");
        match kind {
            "submodules" => repositories::project(&arena),
            "a worktree" => worktree(&project),
            _ => without_git(&project),
        }
        check(kind, &arena, mode);
    }
    match memory {
        Some(memory) => check("a file system in memory", &Arena::in_folder(memory), mode),
        None => println!("NOT TESTED HERE: there is no file system in memory for this user"),
    }
    let arena = Arena::new();
    match mounted(&arena) {
        Some(_mounted) => check("a mount of its own", &arena, mode),
        None => println!("NOT TESTED HERE: this user can mount nothing"),
    }
}

#[expect(clippy::print_stdout, reason = "what was tried is to be seen")]
fn check(ground: &str, arena: &Arena, mode: SandboxMode) {
    if arena.in_mode(mode).is_none() {
        return;
    }
    let index = SandboxMode::ALL.iter().position(|other| *other == mode).unwrap();
    let has_git = arena.root.join("project/.git").exists();
    let rows = owned(&[READING, WRITING, HOME, OUTSIDE].concat());
    // What a program makes where there was no repository is renamed after it, as other tests show.
    let missing = missing(arena, true);
    let wanted = |row: &&Attempt| {
        row.1.as_bytes()[index] == b'k'
            && (has_git || !row.2.contains(".git"))
            && !missing.iter().any(|word| needs(row, word))
    };
    let rows: Vec<&Attempt> = rows.iter().filter(wanted).collect();
    assert!(
        !missing.is_empty() || rows.len() >= FEWEST,
        "{mode} {ground}: {} attempts",
        rows.len()
    );
    // Each kind of project begins with another attempt, and so does each user.
    let kind = KINDS.iter().position(|kind| *kind == ground).unwrap();
    let first = 2 * kind + usize::from(rustix::process::geteuid().is_root());
    let rows = sweep(rows, first, 2 * KINDS.len());
    assert_eq!(check_attempts(arena, mode, index, ("", &rows)), Vec::<String>::new(), "{ground}");
    println!("{} attempts in {ground} in the sandbox `{mode}`", rows.len());
}

fn without_git(project: &Path) {
    fs::remove_dir_all(project.join(".git")).unwrap();
}

fn worktree(project: &Path) {
    without_git(project);
    fs::write(project.join(".git"), "gitdir: ../main/.git/worktrees/project\n").unwrap();
}

/// Puts the project on a file system of its own.
#[expect(clippy::disallowed_methods, reason = "the files are copied with their modes")]
fn mounted(arena: &Arena) -> Option<Mounted> {
    let (project, aside) = (arena.root.join("project"), arena.root.join("aside"));
    fs::rename(&project, &aside).unwrap();
    fs::create_dir(&project).unwrap();
    let mounted = Mounted::new(&project)?;
    let done = Command::new("cp").arg("-a").arg(aside.join(".")).arg(&project).status();
    assert!(done.unwrap().success());
    Some(mounted)
}
