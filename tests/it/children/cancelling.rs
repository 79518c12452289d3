//! Thread trees that are cancelled from outside, with any of their threads already ended.

use std::fs;
use std::sync::Barrier;

use rye::ReopenError;
use rye::thread::{Account, Registry, ThreadId};
use rye::types::ThreadState;
use rye_tests::{Scratch, StoppedClock};
use serde_json::json;

use super::{CHILD, PARENT, SPAWN, directive, put, waiting, write};

/// Starts a chain of three threads, of which the last waits for approval, and returns them from the root on.
pub(super) async fn three(scratch: &Scratch) -> Vec<ThreadId> {
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    scratch.sign(".ai/config/agent/approval.yaml", ask);
    put(scratch, "test/leaf", &directive("test/leaf", CHILD, &[write("a.txt")], ""));
    let starts = |name: &str| [(SPAWN, json!({ "directive": name }))];
    put(scratch, "test/middle", &directive("test/middle", PARENT, &starts("test/leaf"), ""));
    put(scratch, "test/parent", &directive("test/parent", PARENT, &starts("test/middle"), ""));
    let report = scratch.run("test/parent", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    let registry = Registry::open(&scratch.project().join(".ai/threads/registry.db")).unwrap();
    let mut threads = vec![report.thread];
    while let Some(below) =
        registry.list().unwrap().into_iter().find(|row| row.parent.as_ref() == threads.last())
    {
        threads.push(below.thread);
    }
    assert_eq!(threads.len(), 3);
    threads
}

fn state(scratch: &Scratch, thread: &ThreadId) -> ThreadState {
    let rye = scratch.rye();
    rye.thread(&rye.threads().unwrap(), thread).unwrap().record.state
}

/// The account of a thread, by the transcripts.
pub(super) fn account(scratch: &Scratch, thread: &ThreadId) -> Account {
    let rye = scratch.rye();
    let threads = rye.threads().unwrap();
    let reading = rye.thread(&threads, thread).unwrap();
    rye.thread_account(&threads, &reading.transcript).unwrap()
}

/// The share of a child is held and not spent.
#[tokio::test]
async fn a_cancelled_tree_has_cost_what_its_requests_did() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    assert_eq!(account(&scratch, &threads[0]).held.get(), 500_000_000);
    scratch.cancel(&threads[0], &StoppedClock).unwrap();
    for thread in &threads {
        assert_eq!(state(&scratch, thread), ThreadState::Cancelled, "{thread}");
    }
    let Account { cost, reserved, .. } = account(&scratch, &threads[0]);
    assert_eq!((cost.get(), reserved.get()), (0, 0));
}

/// Each caller says that it ended the tree, or that it had ended.
#[tokio::test]
async fn many_that_end_a_tree_at_once_end_it() {
    const MANY: usize = 4;
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let barrier = Barrier::new(MANY);
    let ends = || {
        barrier.wait();
        scratch.cancel(&threads[0], &StoppedClock)
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..MANY).map(|_| scope.spawn(ends)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for thread in &threads {
        assert_eq!(state(&scratch, thread), ThreadState::Cancelled, "{thread}: {found:?}");
    }
    let is_ended = |it: &Result<_, _>| matches!(it, Ok(_) | Err(ReopenError::Ended { .. }));
    assert!(found.iter().all(is_ended) && found.iter().any(Result::is_ok), "{found:?}");
}

/// The list is no record: a thread that has ended by its line alone is ended.
#[tokio::test]
async fn a_thread_below_is_ended_whatever_its_line_says() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let rye = scratch.rye();
    let mut ended = rye.thread(&rye.threads().unwrap(), &threads[2]).unwrap().record;
    ended.state = ThreadState::Completed;
    let registry = Registry::open(&scratch.project().join(".ai/threads/registry.db")).unwrap();
    registry.enter(&ended).unwrap();
    scratch.cancel(&threads[0], &StoppedClock).unwrap();
    assert_eq!(state(&scratch, &threads[2]), ThreadState::Cancelled);
}

/// One that cannot be ended keeps no other from it; whoever asks again ends it, though the thread itself has ended long ago.
#[tokio::test]
async fn below_a_thread_that_has_ended_the_rest_is_ended() {
    let scratch = Scratch::new();
    let threads = three(&scratch).await;
    let record =
        scratch.project().join(".ai/threads").join(threads[2].as_str()).join("thread.json");
    let text = fs::read(&record).unwrap();
    fs::write(&record, "{}").unwrap();
    let error = scratch.cancel(&threads[0], &StoppedClock).unwrap_err();
    assert!(matches!(error, ReopenError::Read(_)), "{error}");
    fs::write(&record, text).unwrap();
    let states: Vec<ThreadState> = threads.iter().map(|thread| state(&scratch, thread)).collect();
    assert_eq!(states, [ThreadState::Cancelled, ThreadState::Cancelled, ThreadState::Suspended]);
    scratch.cancel(&threads[0], &StoppedClock).unwrap();
    assert_eq!(state(&scratch, &threads[2]), ThreadState::Cancelled);
    let Account { cost, reserved, .. } = account(&scratch, &threads[0]);
    assert_eq!((cost.get(), reserved.get()), (0, 0));
    let again = scratch.cancel(&threads[0], &StoppedClock).unwrap_err();
    assert!(matches!(again, ReopenError::Ended { .. }), "{again}");
}

/// An operator with a key does not trust a thread that only its own key signed, but can cancel it. Otherwise
/// a thread from before the key could never be ended.
#[tokio::test]
async fn a_thread_that_is_not_believed_is_ended() {
    let scratch = Scratch::new();
    let (report, child) = waiting(&scratch).await;
    let scratch = scratch.with_operator();
    for thread in [&report.thread, &child] {
        let error = scratch.resume(thread).await.unwrap_err();
        assert!(matches!(error, ReopenError::SelfVouched { .. }), "{error}");
    }
    scratch.cancel(&report.thread, &StoppedClock).unwrap();
    for thread in [&report.thread, &child] {
        assert_eq!(state(&scratch, thread), ThreadState::Cancelled, "{thread}");
    }
}

/// A thread that another operator's key signed can be cancelled only by that operator.
#[tokio::test]
async fn a_thread_of_another_operator_is_not_ended() {
    let scratch = Scratch::new().with_operator();
    let (report, child) = waiting(&scratch).await;
    let other = scratch.with_another_operator();
    let error = other.cancel(&report.thread, &StoppedClock).unwrap_err();
    assert!(matches!(error, ReopenError::OtherKey { .. }), "{error}");
    for thread in [&report.thread, &child] {
        assert_eq!(state(&other, thread), ThreadState::Suspended, "{thread}");
    }
}
