//! The Python of this machine, if there is one.

use std::{
    cell::RefCell,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/caps/cpython/answers.py");

/// A Python that answers pairs, one after the other, until it is dropped.
pub(super) struct Python {
    child: Child,
    pipes: RefCell<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Python {
    /// Starts the script; `None` if there is no Python.
    pub(super) fn start() -> Option<Self> {
        let spawned = command("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| skipped(&error)).ok()?;
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        Some(Self { child, pipes: RefCell::new((stdin, BufReader::new(stdout))) })
    }

    /// CPython's two answers: for the pattern, and for the pattern without a final `.*`.
    pub(super) fn ask(&self, pattern: &str, subject: &str) -> [String; 2] {
        let (stdin, stdout) = &mut *self.pipes.borrow_mut();
        writeln!(stdin, "{pattern}\t{subject}").expect("because Python reads on");
        let mut line = String::new();
        stdout.read_line(&mut line).expect("because Python answers each line");
        let fields = line.trim_end().split_once('\t').expect("because an answer has two fields");
        [fields.0.to_owned(), fields.1.to_owned()]
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It also ends with its input, but a failed test must not wait for this.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the table that the script prints; `None` if there is no Python.
pub(super) fn table() -> Option<String> {
    let output = command("table").output().map_err(|error| skipped(&error)).ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).expect("because the script prints UTF-8"))
}

#[expect(clippy::disallowed_methods, reason = "the other implementation is a program")]
fn command(mode: &str) -> Command {
    let mut command = Command::new("python3");
    // `-I` and `-B`: the user's settings have no effect, and the source folder stays clean.
    command.args(["-I", "-B", SCRIPT, mode]);
    command
}

/// Prints a note past the test harness, which would otherwise capture it.
fn skipped(error: &io::Error) {
    let note =
        format!("SKIPPED: nothing was held against CPython: cannot start `python3`: {error}\n");
    drop(io::stderr().write_all(note.as_bytes()));
}
