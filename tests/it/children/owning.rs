//! One owner for a whole tree, and what it decides about children.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rye::ReopenError;
use rye::thread::store::StoreError;
use rye::thread::{Clock, Decision, JournalError, ThreadId};
use rye::types::{Moment, ThreadState};
use rye_tests::{Scratch, StoppedClock};
use serde_json::{Value, json};

use super::cancelling::three;

/// A clock that goes on by a second at each look.
#[derive(Default)]
struct Passing(AtomicU64);

impl Clock for Passing {
    fn now(&self) -> Moment {
        StoppedClock.now()
    }
    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn folder(scratch: &Scratch, thread: &ThreadId) -> std::path::PathBuf {
    scratch.project().join(".ai/threads").join(thread.as_str())
}

fn state(scratch: &Scratch, thread: &ThreadId) -> ThreadState {
    let rye = scratch.rye();
    rye.thread(&rye.threads().unwrap(), thread).unwrap().record.state
}

/// Another process owns the tree: its lock is held by another descriptor.
fn owned_elsewhere(scratch: &Scratch, root: &ThreadId) -> File {
    let folder = folder(scratch, root);
    let lock = File::options().write(true).open(folder.join("lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let owner = json!({"process": 4711, "host": "elsewhere", "instance": "ab".repeat(16)});
    fs::write(folder.join("owner"), owner.to_string()).unwrap();
    lock
}

#[tokio::test]
async fn rule_09_every_beginning_names_the_root() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    for thread in &threads {
        let text = fs::read_to_string(folder(&scratch, thread).join("transcript.jsonl")).unwrap();
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["payload"]["root"], threads[0].as_str(), "{thread}");
        let lock = folder(&scratch, thread).join("lock");
        assert_eq!(lock.exists(), *thread == threads[0], "{thread}");
    }
}

/// A signed record and a transcript that name different trees are no thread that anything is decided about.
#[tokio::test]
async fn rule_09_a_record_that_names_another_root_is_refused() {
    let scratch = Scratch::new().with_operator();
    let threads = three(&scratch).await;
    scratch.edit(&threads[2], |record| record.root = threads[1].clone());
    let error = scratch.resume(&threads[2]).await.unwrap_err();
    assert!(error.to_string().contains("belongs to another thread tree than"), "{error}");
}

#[tokio::test]
async fn rule_09_going_on_with_a_child_owns_the_tree_of_its_root() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let owned = owned_elsewhere(&scratch, &threads[0]);
    let error = scratch.resume(&threads[2]).await.unwrap_err();
    let ReopenError::Journal(JournalError::Store(StoreError::Held { thread, owner })) = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!((thread, owner.process), (&threads[2], 4711));
    drop(owned);
    scratch.decide(&threads[2], &Decision::Approved);
    scratch.resume(&threads[2]).await.unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The folder of a child is an older copy, in which it waits: by the transcript of its parent it has ended.
#[tokio::test]
async fn rule_09_a_child_that_its_parent_knows_to_have_ended_does_not_go_on() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let (leaf, copied) = (folder(&scratch, &threads[2]), scratch.project().join("copied"));
    copy(&leaf, &copied);
    scratch.decide(&threads[2], &Decision::Approved);
    let report = scratch.resume(&threads[0]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    fs::remove_dir_all(&leaf).unwrap();
    copy(&copied, &leaf);
    assert_eq!(state(&scratch, &threads[2]), ThreadState::Suspended);
    let error = scratch.resume(&threads[2]).await.unwrap_err();
    assert!(matches!(error, ReopenError::Ended { state: ThreadState::Completed, .. }), "{error}");
}

#[tokio::test]
async fn rule_09_a_child_below_a_thread_that_has_ended_does_not_go_on() {
    for above in [0, 1] {
        let scratch = Scratch::new().with_operator();
        let threads = three(&scratch).await;
        scratch.edit(&threads[above], |record| record.state = ThreadState::Cancelled);
        let error = scratch.resume(&threads[2]).await.unwrap_err();
        let ReopenError::BelowEnded { thread, parent } = &error else { panic!("{error:?}") };
        assert_eq!((thread, parent), (&threads[2], &threads[above]));
    }
}

#[tokio::test]
async fn rule_15_an_owner_that_does_not_answer_is_named_and_nothing_is_changed() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let owned = owned_elsewhere(&scratch, &threads[0]);
    let error = scratch.cancel(&threads[2], &Passing::default()).unwrap_err();
    let begins = format!(
        "process 4711 on elsewhere drives thread `{}` and did not do that within 5 seconds; ",
        threads[2]
    );
    assert!(error.to_string().starts_with(&begins), "{error}");
    let requests = scratch.project().join(".ai/threads/requests");
    assert_eq!(fs::read_dir(requests).unwrap().count(), 0, "the request is taken back");
    assert_eq!(state(&scratch, &threads[2]), ThreadState::Suspended);
    drop(owned);
    scratch.cancel(&threads[2], &Passing::default()).unwrap();
    assert_eq!(state(&scratch, &threads[2]), ThreadState::Cancelled);
}

/// The owner ends while it is asked: the process that asks does it itself.
#[tokio::test]
async fn rule_14_a_process_acts_itself_once_the_tree_is_free() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let owned = owned_elsewhere(&scratch, &threads[0]);
    let requests = scratch.project().join(".ai/threads/requests");
    let is_asked = || fs::read_dir(&requests).is_ok_and(|requests| 0 < requests.count());
    let cancelled = std::thread::scope(|scope| {
        let cancelling = scope.spawn(|| scratch.cancel(&threads[0], &StoppedClock));
        while !is_asked() {
            std::thread::yield_now();
        }
        flock(&owned, FlockOperation::Unlock).unwrap();
        cancelling.join().unwrap()
    });
    assert_eq!(cancelled.unwrap().below, threads[1..]);
    for thread in &threads {
        assert_eq!(state(&scratch, thread), ThreadState::Cancelled, "{thread}");
    }
}
