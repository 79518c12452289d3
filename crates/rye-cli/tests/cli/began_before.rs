//! A call that was cut off: each surface says that it began before and may have happened (SPEC 14.1).

use std::fs;

use serde_json::Value;

use crate::session::Session;
use crate::terminal::on_terminal;

/// The clause that every surface shows.
const BEGAN: &str =
    "it began before and may have happened, and an approval may do it a second time";

/// A thread whose program was killed between a command's start and its result.
fn cut_off() -> Session {
    let session = Session::new();
    session.rye("keys generate");
    let called = session.rye("call rye/bash/bash command=true");
    assert!(called.ends_with("exit 0\n"), "{called}");
    let folder = session.project().join(".ai/threads").join(session.thread());
    let transcript = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    let is_result = |line: &&str| line.contains("\"event\":\"tool_call_result\"");
    let kept = transcript.lines().take_while(|line| !is_result(line));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("transcript.jsonl"), kept).unwrap();
    fs::remove_file(folder.join("thread.json")).unwrap();
    session
}

fn json_of(told: &str) -> Value {
    let (_, told) = told.split_once('\n').unwrap();
    serde_json::from_str(told.split("--- standard error").next().unwrap()).unwrap()
}

#[test]
fn each_command_says_that_a_call_may_have_happened() {
    let session = cut_off();
    for command in
        ["resume THREAD", "threads show THREAD", "threads tail THREAD", "approve THREAD --call 1"]
    {
        let told = session.rye(command);
        assert!(told.contains(BEGAN), "{told}");
    }
    let shown = json_of(&session.rye("resume THREAD --json --quiet"));
    assert_eq!(shown["threads"][0]["waits_for"]["why"], BEGAN, "{shown}");
    let folder = session.project().join(".ai/threads").join(session.thread());
    let text = fs::read_to_string(folder.join("transcript.md")).unwrap();
    assert!(text.contains(BEGAN), "{text}");
    for format in ["html", "atif"] {
        session.rye(&format!("threads export THREAD --format {format} --output exported"));
        let exported = fs::read_to_string(session.project().join("exported")).unwrap();
        assert!(exported.contains(BEGAN), "{exported}");
        fs::remove_file(session.project().join("exported")).unwrap();
    }
    let saved = session.save();
    let decided = json_of(&session.rye("approve THREAD --json"));
    assert_eq!(decided["decisions"][0]["why"], BEGAN, "{decided}");
    session.restore(&saved);
    let told = session.rye("approve THREAD");
    assert!(told.starts_with("$ rye approve THREAD\napproved: `rye/bash/bash` with "), "{told}");
    assert!(told.contains(BEGAN), "{told}");
}

#[test]
fn the_prompt_says_that_a_call_may_have_happened() {
    let session = cut_off();
    let thread = session.thread();
    let (shown, output) = on_terminal(&session, &["resume", &thread], &[], "[n]o", |near| {
        std::io::Write::write_all(near, b"n\n").unwrap();
    });
    assert!(shown.contains(&format!("\n{BEGAN}\nRun it? [y]es")), "{shown}");
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("is not run again"), "{shown}");
}
