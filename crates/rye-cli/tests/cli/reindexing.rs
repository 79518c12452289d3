//! The list of threads, which is written anew from the transcripts.

use std::fs;
use std::path::Path;

use rye::thread::Registry;

use crate::session::Session;

/// Changes the file of the list.
type Change = fn(&Path);

/// What may become of the file, and whether a reader warns of it.
const CHANGES: [(&str, Change, bool); 4] = [
    ("removed", |path| fs::remove_file(path).unwrap(), false),
    ("emptied", |path| fs::write(path, "").unwrap(), false),
    ("no database", |path| fs::write(path, "x".repeat(4_096)).unwrap(), true),
    (
        "half of it",
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        },
        true,
    ),
];

/// Standard output of a command.
fn out(session: &Session, command: &str) -> String {
    let told = session.rye(command);
    told.split("--- standard error").next().unwrap().to_owned()
}

#[test]
fn rule_22_a_list_that_cannot_be_read_is_read_from_the_transcripts() {
    for (name, change, warns) in CHANGES {
        let session = Session::new();
        session.rye("run notes/index --trust TRUST --provider steps");
        let path = session.project().join(".ai/threads/registry.db");
        for command in ["threads list --json", "threads tree --json"] {
            let before = out(&session, command);
            change(&path);
            let held = fs::read(&path).ok();
            assert_eq!(out(&session, command), before, "{name}");
            let warned = session.rye(command).contains("the threads are listed by their folders");
            assert_eq!(warned, warns, "{name}");
            assert_eq!(fs::read(&path).ok(), held, "{name}: a reader changed it");
            let told = session.rye("threads reindex");
            assert!(told.contains("\n1 thread listed\n") && told.ends_with("exit 0\n"), "{told}");
            let listed = session.rye(command);
            assert!(!listed.contains("warning"), "{name}: {listed}");
            assert_eq!(out(&session, command), before, "{name}");
        }
    }
}

/// A process that starts a thread writes the list anew, and adds what it lacks.
#[test]
fn rule_22_the_list_is_completed_by_names() {
    let (session, other) = (Session::new(), Session::new());
    for session in [&session, &other] {
        session.rye("run notes/index --trust TRUST --provider steps");
    }
    let threads = session.project().join(".ai/threads");
    for (name, change, _) in CHANGES {
        change(&threads.join("registry.db"));
        session.rye("run notes/index --trust TRUST --provider steps");
        let listed = session.rye("threads list");
        assert!(!listed.contains("warning"), "{name}: {listed}");
    }
    assert_eq!(session.rye("threads list").matches("completed").count(), 5);
    let copied = other.project().join(".ai/threads").join(other.thread());
    let to = threads.join(other.thread());
    fs::create_dir(&to).unwrap();
    for file in ["thread.json", "transcript.jsonl"] {
        fs::copy(copied.join(file), to.join(file)).unwrap();
    }
    session.rye("run notes/index --trust TRUST --provider steps");
    // What was added is on the list itself: without its folder the row remains, and is not shown.
    fs::remove_dir_all(&to).unwrap();
    let rows = Registry::open(&threads.join("registry.db")).unwrap().list().unwrap();
    assert_eq!(rows.len(), 7);
    assert_eq!(session.rye("threads list").matches("completed").count(), 6);
    let told = session.rye("threads reindex --json");
    assert!(told.contains("\"threads\": 6") && told.ends_with("exit 0\n"), "{told}");
    assert_eq!(session.rye("threads list").matches("completed").count(), 6);
}

#[test]
fn a_thread_whose_records_cannot_be_read_is_left_out() {
    let session = Session::new();
    let nothing = session.rye("threads reindex");
    assert!(nothing.contains("no thread has run") && nothing.ends_with("exit 0\n"), "{nothing}");
    session.rye("run notes/index --trust TRUST --provider steps");
    let folder = session.project().join(".ai/threads").join(session.thread());
    fs::write(folder.join("transcript.jsonl"), "{\"seq\":0}\n").unwrap();
    let told = session.rye("threads reindex");
    assert!(told.contains("0 threads listed") && told.ends_with("exit 1\n"), "{told}");
    assert!(told.contains("is left out; `rye threads verify index-"), "{told}");
    let json = session.rye("threads reindex --json");
    assert!(json.contains("\"ok\": false") && json.contains("index-"), "{json}");
}

/// The list is read from the index alone, so that its time does not grow with the records. What is shown of one thread is read from
/// its records.
#[test]
fn rule_22_the_list_reads_no_record_of_a_thread_that_ended() {
    let session = Session::new();
    session.rye("run notes/index --trust TRUST --provider steps --allow-unsigned");
    let folder = session.project().join(".ai/threads").join(session.thread());
    for command in ["threads list --trust TRUST", "threads reindex --trust TRUST"] {
        session.rye(command);
        let listed = out(&session, "threads list --trust TRUST");
        assert!(!listed.contains("unverified"), "{listed}");
        let record = fs::read(folder.join("thread.json")).unwrap();
        let transcript = fs::read(folder.join("transcript.jsonl")).unwrap();
        fs::write(folder.join("thread.json"), "{}").unwrap();
        fs::write(folder.join("transcript.jsonl"), "{}\n").unwrap();
        assert_eq!(out(&session, "threads list --trust TRUST"), listed, "after {command}");
        let shown = session.rye("threads show --trust TRUST");
        assert!(!shown.ends_with("exit 0\n"), "{shown}");
        fs::write(folder.join("thread.json"), record).unwrap();
        fs::write(folder.join("transcript.jsonl"), transcript).unwrap();
    }
}
