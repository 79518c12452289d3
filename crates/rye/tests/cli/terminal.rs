//! The prompt that asks for approval, on a terminal that this test holds.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::session::Session;

/// The quick start, whose file is written only when somebody says so.
fn asking() -> Session {
    let session = Session::new();
    session.put(
        ".ai/config/agent/approval.yaml",
        "ask:\n  - rye.execute.tool.rye.file-system.write\n",
    );
    session.rye("sign .ai/config/agent/approval.yaml --key KEY");
    session
}

/// Both ends of a terminal.
fn terminal() -> (File, File) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (near.into(), far)
}

/// Runs on a terminal and types the answer once it is asked for; what stood on the terminal, and the rest.
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn run(session: &Session, options: &[&str], answer: &[u8]) -> (String, Output) {
    let (mut near, far) = terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.args(["run", "notes/index", "--provider", "steps", "--trust", &session.trust()]);
    command.args(options).current_dir(session.project()).env_clear().env("HOME", session.home());
    command.stdin(far.try_clone().unwrap()).stdout(Stdio::piped()).stderr(far);
    let child = command.spawn().unwrap();
    // The program's ends are then the only ones, so that reading ends with it.
    drop(command);
    let (mut shown, mut is_answered) = (Vec::new(), false);
    let mut piece = [0; 1024];
    while let Ok(length @ 1..) = near.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
        if !is_answered && String::from_utf8_lossy(&shown).contains(ASKED) {
            near.write_all(answer).unwrap();
            is_answered = true;
        }
    }
    (String::from_utf8_lossy(&shown).replace("\r\n", "\n"), child.wait_with_output().unwrap())
}

const ASKED: &str = "Run it? [y]es, [n]o, anything else: later: ";

#[track_caller]
fn check(answer: &[u8], exit: i32, decision: Option<&str>, is_written: bool) {
    let session = asking();
    let (shown, output) = run(&session, &[], answer);
    assert!(shown.contains("`rye/file-system/write` with {\n"), "{shown}");
    assert_eq!(shown.matches(ASKED).count(), 1, "{shown}");
    assert_eq!(output.status.code(), Some(exit), "{shown}");
    assert_eq!(session.project().join("INDEX.md").exists(), is_written, "{shown}");
    let record = session.rye("threads show --json");
    match decision {
        Some(decision) => {
            assert!(record.contains(&format!("\"decision\": \"{decision}\"")), "{record}");
            assert!(record.contains("\"by\": \"prompt\""), "{record}");
        }
        None => assert!(!record.contains("approval_decided"), "{record}"),
    }
    // What was asked for and what was decided are about the same arguments.
    let hashes: Vec<&str> =
        record.lines().filter(|line| line.contains("\"arguments_sha256\"")).collect();
    assert_eq!(hashes.len(), 1 + usize::from(decision.is_some()), "{record}");
    assert!(
        hashes.iter().all(|hash| hash.trim_end_matches(',') == hashes[0].trim_end_matches(','))
    );
}

#[test]
fn yes_runs_the_call() {
    check(b"y\n", 0, Some("approved"), true);
    check(b"yes\n", 0, Some("approved"), true);
    check(b"  y  \n", 0, Some("approved"), true);
}

#[test]
fn no_does_not() {
    check(b"n\n", 3, Some("denied"), false);
    check(b"no\n", 3, Some("denied"), false);
}

/// Neither a yes nor a no is taken for one, and nor is a terminal that closes.
#[test]
fn anything_else_leaves_the_thread_suspended() {
    for answer in [&b"later\n"[..], b"\n", b"Y\n", b"yess\n", b"\x04"] {
        check(answer, 4, None, false);
    }
}

/// Who wants silence or data is not asked.
#[test]
fn nobody_is_asked_who_does_not_read_along() {
    for options in [["--quiet"], ["--json"]] {
        let session = asking();
        let (shown, output) = run(&session, &options, b"y\n");
        assert!(!shown.contains("Run it?"), "{shown}");
        assert_eq!(output.status.code(), Some(4), "{shown}");
        assert!(!session.project().join("INDEX.md").exists());
    }
}
