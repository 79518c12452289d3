//! What `rye check` costs over ten thousand signed items, as a whole process: over knowledge alone, and over a project of
//! directives, tools and knowledge that refer to each other.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::{path::Path, time::Duration};

use project::{N_ENTRIES, write_project};

mod mixed;
mod project;

const N_RUNS: usize = 15;

fn main() {
    measure("knowledge alone", write_project);
    measure("a mixed project", mixed::write_project);
}

fn measure(name: &str, write: fn(&Path) -> usize) {
    let folder = tempfile::tempdir().expect("because there is a temporary folder");
    let bytes = write(folder.path());
    println!("{name}: {N_ENTRIES} signed items, {} KiB in all; a whole process each", bytes / 1024);
    let times = (0..N_RUNS).map(|_| check(folder.path())).collect();
    project::report(&format!("rye check, {name}"), times);
}

fn check(folder: &Path) -> Duration {
    let (output, elapsed) = project::rye(folder, &["check"]);
    let verdict = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "no item has a problem: {verdict}");
    assert_eq!(verdict, format!("{N_ENTRIES} checked: 0 errors, 0 warnings, 0 notes\n"));
    elapsed
}
