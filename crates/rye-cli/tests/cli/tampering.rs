//! A thread whose transcript somebody changed, by every command that reads it: refused, and located.

use std::fs;
use std::path::PathBuf;

use crate::session::Session;

/// The quick start, with a thread that waits before it writes its file, so that every command has something to do.
fn suspended() -> Session {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye("run notes/index --trust TRUST --provider steps");
    session
}

fn transcript(session: &Session) -> PathBuf {
    session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl")
}

fn lines(session: &Session) -> Vec<String> {
    fs::read_to_string(transcript(session)).unwrap().lines().map(str::to_owned).collect()
}

/// The first record of this event.
#[track_caller]
fn first(lines: &[String], event: &str) -> usize {
    let member = format!(r#""event":"{event}""#);
    lines.iter().position(|line| line.contains(&member)).unwrap()
}

fn payload(line: &str) -> &str {
    line.split_once(r#""payload":"#).unwrap().1.rsplit_once(r#","prev""#).unwrap().0
}

const COMMANDS: [&str; 10] = [
    "threads export THREAD --format html",
    "threads export THREAD --format jsonl",
    "threads show THREAD",
    "threads verify THREAD",
    "threads tail THREAD",
    "resume THREAD --trust TRUST",
    "replay THREAD --trust TRUST",
    "approve THREAD --trust TRUST",
    "deny THREAD --trust TRUST",
    "cancel THREAD",
];

/// Changes the lines; `change` gives the record at which that must be found, and what is said of it.
#[track_caller]
fn check(change: impl FnOnce(&mut Vec<String>) -> (usize, &'static str)) {
    let session = suspended();
    let mut lines = lines(&session);
    let (record, why) = change(&mut lines);
    fs::write(transcript(&session), lines.join("\n") + "\n").unwrap();
    let byte: usize = lines.iter().take(record).map(|line| line.len() + 1).sum();
    let place = format!("record {record} at byte {byte}: ");
    for command in COMMANDS {
        let refused = session.rye(command);
        let is_located = refused.contains(&place) && refused.contains(why);
        assert!(is_located && refused.ends_with("--- exit 3\n"), "{place}{why}: {refused}");
    }
    assert!(!session.project().join("INDEX.md").exists());
    let left = fs::read_to_string(transcript(&session)).unwrap();
    assert_eq!(left, lines.join("\n") + "\n", "nothing is added to it");
}

const CHAIN: &str = "the record before it was changed, or one was added or removed there";

#[test]
fn an_edited_record() {
    check(|lines| {
        let edited = first(lines, "tool_call_result");
        lines[edited] = lines[edited].replace("bread.md", "brood.md");
        (edited + 1, CHAIN)
    });
    check(|lines| {
        let edited = first(lines, "system_prompt");
        lines[edited] = lines[edited].replacen("\"text\":\"", "\"text\":\"Obey. ", 1);
        (edited + 1, CHAIN)
    });
}

#[test]
fn swapped_records() {
    check(|lines| {
        let one = first(lines, "step_start");
        lines.swap(one, one + 1);
        (one, CHAIN)
    });
}

#[test]
fn a_dropped_record() {
    check(|lines| {
        let dropped = first(lines, "tool_call_start");
        lines.remove(dropped);
        (dropped, CHAIN)
    });
}

#[test]
fn a_doubled_record() {
    check(|lines| {
        let doubled = first(lines, "tool_call_result");
        lines.insert(doubled + 1, lines[doubled].clone());
        (doubled + 1, CHAIN)
    });
}

/// The checkpoint of another thread, signed by a key that may not sign here, in place of a record and inside it.
#[test]
fn a_foreign_checkpoint() {
    let other = lines(&suspended());
    let foreign = other[first(&other, "checkpoint")].clone();
    check(|lines| {
        let own = first(lines, "checkpoint");
        lines[own] = lines[own].replace(payload(&lines[own]), payload(&foreign));
        (own, "its checkpoint is not valid")
    });
    check(|lines| {
        let own = first(lines, "checkpoint");
        lines[own].clone_from(&foreign);
        (own, CHAIN)
    });
}

#[test]
fn a_record_that_is_none() {
    check(|lines| {
        let broken = first(lines, "step_finish");
        lines[broken].truncate(20);
        (broken, "it is not a record: ")
    });
}

/// What is missing at the end leaves a transcript that is whole; the signed record of the thread knows better.
#[test]
fn a_missing_end() {
    let session = suspended();
    let mut lines = lines(&session);
    lines.pop();
    fs::write(transcript(&session), lines.join("\n") + "\n").unwrap();
    for command in COMMANDS {
        let refused = session.rye(command);
        let is_told = refused.contains("does not end where `thread.json` says");
        assert!(is_told && refused.ends_with("--- exit 3\n"), "{refused}");
    }
}

/// What a run wrote is not only there to be changed: it can be removed.
#[test]
fn a_transcript_that_was_removed_is_refused() {
    let session = suspended();
    let folder = session.project().join(".ai/threads").join(session.thread());
    fs::remove_file(folder.join("transcript.jsonl")).unwrap();
    for command in ["threads show THREAD", "threads verify", "resume THREAD --trust TRUST"] {
        let refused = session.rye(command);
        let is_said = refused.contains("it was removed") && refused.ends_with("--- exit 3\n");
        assert!(is_said, "{refused}");
    }
}
