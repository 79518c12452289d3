//! What `rye check` costs over ten thousand signed entries, as a whole process.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::{path::Path, time::Duration};

use project::{N_ENTRIES, write_project};

mod project;

const N_RUNS: usize = 15;

fn main() {
    let folder = tempfile::tempdir().expect("because there is a temporary folder");
    let bytes = write_project(folder.path());
    println!("{N_ENTRIES} signed entries, {} KiB in all; a whole process each", bytes / 1024);
    let times = (0..N_RUNS).map(|_| check(folder.path())).collect();
    project::report("rye check, a whole process", times);
}

fn check(folder: &Path) -> Duration {
    let (output, elapsed) = project::rye(folder, &["check"]);
    let verdict = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "no entry has a problem: {verdict}");
    assert_eq!(verdict, format!("{N_ENTRIES} checked: 0 errors, 0 warnings, 0 notes\n"));
    elapsed
}
