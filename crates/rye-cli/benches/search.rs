//! What `rye search` costs over ten thousand signed entries, as a whole process: the first time, and again.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::{fs, path::Path, thread, time::Duration};

use project::{N_ENTRIES, word, write_project};

mod project;

const N_RUNS: usize = 15;

#[expect(clippy::disallowed_methods, reason = "a benchmark runs no tasks")]
fn main() {
    let folder = tempfile::tempdir().expect("because there is a temporary folder");
    let bytes = write_project(folder.path());
    // What was written just now is not known by its time yet, and so would not be cached.
    thread::sleep(Duration::from_secs(4));
    println!("{N_ENTRIES} signed entries, {} KiB in all; a whole process each", bytes / 1024);
    let mut first = Vec::new();
    for _ in 0..3 {
        fs::remove_dir_all(folder.path().join("home/.ai/cache")).ok();
        first.push(search(folder.path(), "needle haystack"));
    }
    project::report("first search, no cache", first);
    for (name, query) in [
        ("a word of one entry", "needle"),
        ("a frequent word", &word(3)),
        ("three words", &format!("{} {} needle", word(40), word(400))),
        ("a phrase", "\"needle in the haystack\""),
        ("a typo", "neelde"),
    ] {
        let times = (0..N_RUNS).map(|_| search(folder.path(), query)).collect();
        project::report(&format!("again, {name}"), times);
    }
    let entry = folder.path().join(".ai/knowledge/part0/entry0.md");
    let text = fs::read(&entry).expect("because it was written");
    let times = (0..N_RUNS).map(|_| {
        fs::write(&entry, &text).expect("because it was written before");
        search(folder.path(), "needle")
    });
    project::report("again, one entry written anew", times.collect());
}

fn search(folder: &Path, query: &str) -> Duration {
    let (output, elapsed) = project::rye(folder, &["search", query]);
    assert!(output.status.success() && !output.stdout.is_empty(), "it finds something");
    assert!(
        output.stderr.is_empty() || output.stderr.ends_with(b"shows more\n"),
        "nothing is refused: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    elapsed
}
