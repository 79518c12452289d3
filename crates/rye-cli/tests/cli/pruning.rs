//! Removing threads that have ended.

use serde_json::{Value, json};

use crate::hooking::{answer, with_small_window};
use crate::server::Answer;
use crate::session::Session;

const RUN: &str = "run notes/index --provider steps --trust TRUST";

/// The JSON that a command printed.
fn data(session: &Session, arguments: &str) -> Value {
    serde_json::from_slice(&session.raw(arguments).stdout).unwrap()
}

fn folders(session: &Session) -> usize {
    let threads = std::fs::read_dir(session.project().join(".ai/threads")).unwrap();
    threads.map(Result::unwrap).filter(|entry| entry.path().is_dir()).count()
}

#[test]
fn without_yes_nothing_is_removed() {
    let session = Session::new();
    session.rye(RUN);
    let told = data(&session, "threads prune --json");
    assert_eq!(
        (&told["summary"]["threads"], &told["summary"]["removed"]),
        (&1.into(), &false.into())
    );
    assert_eq!(folders(&session), 1);
}

#[test]
fn the_newest_are_kept_and_the_rest_is_gone_everywhere() {
    let session = Session::new();
    for _ in 0..3 {
        session.rye(RUN);
    }
    let newest =
        data(&session, "threads list --json")["threads"][0]["thread"].as_str().unwrap().to_owned();
    let told = data(&session, "threads prune --keep 1 --yes --json");
    assert_eq!(told["summary"]["total"], 2);
    let left = data(&session, "threads list --json");
    let threads = left["threads"].as_array().unwrap();
    assert_eq!((threads.len(), threads[0]["thread"].as_str()), (1, Some(&*newest)));
    assert_eq!(folders(&session), 1);
    let gone = told["trees"][0]["thread"].as_str().unwrap();
    assert!(session.rye(&format!("threads show {gone}")).ends_with("--- exit 1\n"));
    assert!(session.rye("threads verify").ends_with("--- exit 0\n"));
    assert!(session.rye(RUN).ends_with("--- exit 0\n"), "the project runs on");
}

#[test]
fn a_thread_that_has_not_ended_is_kept() {
    let session = Session::new();
    session.asks_before_it_writes();
    assert!(session.rye(RUN).ends_with("--- exit 4\n"));
    let told = data(&session, "threads prune --yes --json");
    assert_eq!(told["summary"]["total"], 0);
    assert_eq!(folders(&session), 1);
}

/// A thread that can go on is not lost to a command that removes what has ended.
#[test]
fn a_thread_that_a_limit_ended_is_kept_and_counted() {
    let session = Session::new();
    session.rye(RUN);
    assert!(session.rye(&format!("{RUN} --turns 2")).contains("go on with `rye resume"));
    let stopped =
        data(&session, "threads list --json")["threads"][0]["thread"].as_str().unwrap().to_owned();
    let kept = "kept 1 tree that `rye resume` can continue; `--resumable` removes such trees, too";
    let told = session.rye("threads prune");
    assert!(told.contains(kept) && told.contains("would remove 1 tree of 1 thread"), "{told}");
    let told = session.rye("threads prune --resumable");
    assert!(!told.contains("kept") && told.contains("would remove 2 trees"), "{told}");
    let told = data(&session, "threads prune --yes --json");
    assert_eq!(told["summary"]["total"], 1, "{told}");
    assert_eq!(told["resumable"], json!([stopped]));
    // Neither is it one of those that `--keep` counts, nor one of another state.
    let told = data(&session, "threads prune --keep 1 --state completed --json");
    assert_eq!(told["resumable"], json!([]));
    assert_eq!(data(&session, "threads prune --state error --json")["resumable"][0], *stopped);
    assert!(session.rye("resume THREAD --turns 20 --trust TRUST").ends_with("--- exit 0\n"));
    let told = data(&session, "threads prune --yes --json");
    assert_eq!((&told["summary"]["total"], folders(&session)), (&1.into(), 0));
}

#[test]
fn a_thread_that_a_limit_ended_is_removed_where_that_is_asked_for() {
    let session = Session::new();
    session.rye(&format!("{RUN} --turns 2"));
    let told = data(&session, "threads prune --resumable --yes --json");
    assert_eq!((&told["summary"]["total"], &told["resumable"]), (&1.into(), &json!([])));
    assert_eq!(folders(&session), 0);
}

/// The first thread of a conversation was continued, so that only the next one can go on.
#[test]
fn a_conversation_whose_last_thread_can_go_on_is_kept() {
    let session = Session::new();
    let list = json!({"type": "tool_use", "id": "a", "name": "rye_file_system_ls", "input": {"path": "notes"}});
    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let _model = with_small_window(&session, vec![answer(&list), Answer::json(400, error)]);
    session.rye("run notes/index --trust TRUST --provider small --allow-unsigned");
    let listed = data(&session, "threads list --json");
    let states: Vec<_> =
        listed["threads"].as_array().unwrap().iter().map(|thread| &thread["state"]).collect();
    assert_eq!(states, ["error", "continued"]);
    let told = data(&session, "threads prune --yes --json");
    assert_eq!(told["resumable"], json!([listed["threads"][1]["thread"]]), "{told}");
    assert_eq!((&told["summary"]["total"], folders(&session)), (&0.into(), 2));
    let told = data(&session, "threads prune --resumable --yes --json");
    assert_eq!((&told["summary"]["threads"], folders(&session)), (&2.into(), 0));
}

#[test]
fn only_old_trees_of_the_states_that_are_named_are_chosen() {
    let session = Session::new();
    session.rye(RUN);
    session.rye("run notes/index --provider steps");
    for (options, trees) in [
        ("--older-than 1d", 0),
        ("--older-than 0s", 2),
        ("--state completed", 1),
        ("--state cancelled", 0),
        ("--state completed --state error", 2),
        ("--keep 2", 0),
    ] {
        let told = data(&session, &format!("threads prune {options} --json"));
        assert_eq!(told["summary"]["total"], trees, "{options}");
    }
}

/// What cannot be read is kept, and told of: nobody takes it for gone.
#[test]
fn threads_of_an_older_format_are_kept_and_told_of() {
    let session = Session::new();
    session.rye(RUN);
    let thread = session.thread();
    let transcript = format!(".ai/threads/{thread}/transcript.jsonl");
    session.change(&transcript, "\"version\":2", "\"version\":1");
    let told = session.rye("threads prune --yes");
    assert!(told.contains("kept index-<UUID>, which cannot be read: "), "{told}");
    assert!(told.contains("it begins a transcript of version 1"), "{told}");
    assert!(told.contains("removed 0 trees of 0 threads"), "{told}");
    let told = data(&session, "threads prune --json");
    assert_eq!(told["unreadable"][0]["thread"], thread.as_str());
    assert_eq!(folders(&session), 1);
}

/// A process that was killed after it set a folder aside leaves it to the next one.
#[test]
fn what_an_earlier_process_set_aside_is_deleted() {
    let session = Session::new();
    session.rye(RUN);
    let threads = session.project().join(".ai/threads");
    let thread = session.thread();
    std::fs::rename(threads.join(&thread), threads.join(format!(".removed-{thread}"))).unwrap();
    std::fs::create_dir(threads.join(".removed-notes")).unwrap();
    session.rye("threads prune --yes");
    assert!(!threads.join(format!(".removed-{thread}")).exists());
    assert!(threads.join(".removed-notes").exists(), "no thread had this name");
    assert_eq!(data(&session, "threads list --json")["threads"], json!([]));
}

/// Changes the rows of the registry, as whoever sends a project can.
fn lie(session: &Session, change: &str) {
    let path = session.project().join(".ai/threads/registry.db");
    rusqlite::Connection::open(path).unwrap().execute_batch(change).unwrap();
}

#[test]
fn times_and_states_of_the_registry_decide_nothing() {
    let session = Session::new();
    session.rye(RUN);
    session.asks_before_it_writes();
    assert!(session.rye(RUN).ends_with("--- exit 4\n"));
    lie(&session, "UPDATE thread SET state = 'completed', updated_millis = 0, created_millis = 0");
    for (options, trees) in [("--older-than 1d", 0), ("--state error", 0), ("", 1)] {
        let told = data(&session, &format!("threads prune {options} --yes --json"));
        assert_eq!(told["summary"]["total"], trees, "{options}");
    }
    assert_eq!(folders(&session), 1, "the thread that waits is kept");
}

#[test]
fn a_tree_with_a_record_that_cannot_be_read_is_kept() {
    let session = Session::new();
    session.rye(RUN);
    let first = session.thread();
    let threads = session.project().join(".ai/threads");
    let record = threads.join(&first).join("thread.json");
    let text = std::fs::read_to_string(&record).unwrap();
    std::fs::write(&record, text.replace("completed", "cancelled")).unwrap();
    session.rye(RUN);
    let told = data(&session, "threads prune --yes --json");
    assert_eq!(told["summary"]["total"], 1, "{told}");
    assert!(record.exists());
    // What its row names is kept with it, whether or not it is true.
    session.rye(RUN);
    let second =
        data(&session, "threads list --json")["threads"][0]["thread"].as_str().unwrap().to_owned();
    lie(&session, &format!("UPDATE thread SET parent = '{second}' WHERE id = '{first}'"));
    let told = data(&session, "threads prune --yes --json");
    assert_eq!(told["summary"]["total"], 0, "{told}");
}

#[test]
fn rows_that_name_each_other_are_no_way_round() {
    let session = Session::new();
    session.rye(RUN);
    session.rye(RUN);
    lie(
        &session,
        "UPDATE thread SET parent = (SELECT other.id FROM thread AS other WHERE other.id <> thread.id)",
    );
    assert_eq!(data(&session, "threads prune --yes --json")["summary"]["total"], 2);
}

#[test]
fn a_file_in_the_place_of_what_is_set_aside_is_removed() {
    let session = Session::new();
    session.rye(RUN);
    let aside = session.project().join(format!(".ai/threads/.removed-{}", session.thread()));
    std::fs::write(&aside, "x").unwrap();
    let told = data(&session, "threads prune --yes --json");
    assert_eq!((&told["summary"]["total"], folders(&session)), (&1.into(), 0));
    assert!(!aside.exists());
}

#[test]
fn a_row_that_names_a_parent_has_no_thread_cancelled() {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye(RUN);
    session.rye(RUN);
    let listed = data(&session, "threads list --json");
    let thread = |at: usize| listed["threads"][at]["thread"].as_str().unwrap().to_owned();
    let (first, second) = (thread(1), thread(0));
    lie(&session, &format!("UPDATE thread SET parent = '{first}' WHERE id = '{second}'"));
    assert!(session.rye(&format!("cancel {first}")).ends_with("--- exit 0\n"));
    let state = |thread: &str| {
        data(&session, &format!("threads show {thread} --json"))["threads"][0]["state"].clone()
    };
    assert_eq!((state(&first), state(&second)), ("cancelled".into(), "suspended".into()));
}
