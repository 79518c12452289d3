//! Removing threads that have ended.

use serde_json::Value;

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
    assert_eq!(data(&session, "threads list --json")["threads"], serde_json::json!([]));
}
