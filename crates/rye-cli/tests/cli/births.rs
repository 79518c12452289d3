//! What a program leaves that was killed before its thread began is no thread.

use std::fs;

use crate::session::Session;

const THREAD: &str = "index-019a0000-0000-7000-8000-000000000000";

/// Lays out a thread's folder beside a whole thread, and asks every command that reads threads.
#[track_caller]
fn check(files: &[(&str, &str)]) {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    let folder = session.project().join(".ai/threads").join(THREAD);
    fs::create_dir(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    for command in ["threads list", "threads verify", "threads tree"] {
        let told = session.rye(command);
        assert!(!told.contains("019a0000") && told.ends_with("--- exit 0\n"), "{files:?} {told}");
        assert!(!told.contains("warning: thread") && !told.contains("REFUSED"), "{files:?} {told}");
    }
    for command in ["threads show", "threads verify", "threads tail", "cancel", "resume", "replay"]
    {
        let told = session.rye(&format!("{command} {THREAD}"));
        assert!(told.ends_with("--- exit 1\n"), "{files:?} {told}");
        assert!(
            told.contains("no whole record") || told.contains("no thread `"),
            "{files:?} {told}"
        );
    }
    // Nothing was made of it.
    let names = fs::read_dir(&folder).unwrap().count();
    assert_eq!(names, files.len(), "{files:?}");
    assert!(session.rye("threads show").contains("completed"));
}

#[test]
fn rule_08_a_folder_without_one_whole_record_is_no_thread() {
    check(&[]);
    check(&[("transcript.jsonl", "")]);
    check(&[("transcript.jsonl", "{\"seq\":0,\"ev")]);
    check(&[("transcript.md", "")]);
    check(&[("thread.json", "")]);
    check(&[("thread.json", "{\"thread\": \"ind")]);
    check(&[("thread.json", "null")]);
    check(&[("thread.json", ""), ("transcript.jsonl", "")]);
    check(&[("thread.json", "{"), ("transcript.jsonl", "{\"seq\":0,")]);
    check(&[(".thread.json.1.tmp", "{"), ("transcript.jsonl", "")]);
}

/// Beside a whole line, `thread.json` is only lost.
#[test]
fn rule_02_a_lost_record_is_read_from_the_transcript() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps");
    let shown = session.rye("threads show THREAD");
    let folder = session.project().join(".ai/threads").join(session.thread());
    for record in [None, Some(""), Some("{")] {
        match record {
            None => fs::remove_file(folder.join("thread.json")).unwrap(),
            Some(text) => fs::write(folder.join("thread.json"), text).unwrap(),
        }
        let told = session.rye("threads verify THREAD");
        assert!(told.contains("ok       ") && told.ends_with("--- exit 0\n"), "{told}");
        assert_eq!(session.rye("threads show THREAD"), shown);
        let listed = session.rye("threads list");
        assert!(listed.contains("completed") && listed.ends_with("--- exit 0\n"), "{listed}");
    }
}
