//! Threads that are stopped from outside.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rye_thread::{Cancel, FailureKind, ProviderErrorClass, ToolOutput};
use rye_types::{Effect, ThreadState};
use serde_json::json;

use crate::doubles::{
    Driven, Function, Thread, Turn, after, call, calls, echo, fails, says, score, thread_id, tool,
};

#[track_caller]
fn check_cancelled(driven: &Driven) {
    driven.check_consistent();
    assert_eq!((driven.outcome.state, &driven.outcome.failure), (ThreadState::Cancelled, &None));
    assert_eq!(driven.payloads("thread_error")[0]["state"], "cancelled");
}

#[tokio::test]
async fn before_it_begins() {
    let thread = Thread::new(vec![]);
    thread.cancel.cancel();
    let driven = thread.drive().await;
    check_cancelled(&driven);
    assert_eq!(driven.requests.len(), 0);
}

#[tokio::test]
async fn during_a_request() {
    let driven = cancelled_before(Turn::Hang).await;
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert_eq!(driven.spent(), (reserved, 0), "what was dropped may be charged");
}

#[tokio::test]
async fn during_a_wait_that_costs_nothing() {
    let driven = cancelled_before(Turn::Wait).await;
    assert_eq!(driven.spent(), (0, 0), "nothing was on its way");
}

/// A thread that is cancelled once it has asked, while this is what comes.
async fn cancelled_before(turn: Turn) -> Driven {
    let cancel = Cancel::new();
    let raise = cancel.clone();
    let mut thread = Thread::new(vec![after(move || raise.cancel(), turn)]);
    thread.cancel = cancel;
    let driven = thread.drive().await;
    check_cancelled(&driven);
    driven
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_outlasts_the_time() {
    let driven = Thread::new(vec![Turn::Wait]).drive().await;
    driven.check_consistent();
    assert!(driven.failure().starts_with("Limit(LimitHit { limit: Duration"));
    assert_eq!(driven.spent(), (0, 0));
    assert_eq!(driven.requests[0].patience, Some(Duration::from_secs(600)));
}

#[tokio::test]
async fn during_a_call() {
    let cancel = Cancel::new();
    let raise = cancel.clone();
    let stopped = Arc::new(());
    let alive = Arc::clone(&stopped);
    let hanging = Function(move |_| {
        let (raise, alive) = (raise.clone(), Arc::clone(&alive));
        async move {
            raise.cancel();
            std::future::pending::<()>().await;
            drop(alive);
            ToolOutput::ok(json!(null))
        }
    });
    let made = vec![call("1", "a_hang", json!({})), call("2", "a_echo", json!({}))];
    let mut thread = Thread::new(vec![calls(made)])
        .with(tool("a/hang", Effect::Once, hanging))
        .with(echo("a/echo", Effect::Once));
    thread.cancel = cancel;
    let driven = thread.drive().await;
    check_cancelled(&driven);
    let receipt =
        json!({"error": "the call was stopped while it ran; what it changed before is not undone"});
    assert_eq!(driven.results(), [receipt]);
    assert_eq!(driven.payloads("tool_call_start").len(), 1, "no further call begins");
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&stopped), 1, "the tool was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_outlasts_the_time() {
    let driven = Thread::new(vec![Turn::Hang]).drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    let booked = rye_types::Nanos::new(reserved);
    assert_eq!(
        driven.failure(),
        format!(
            "Limit(LimitHit {{ limit: Duration, value: 600, maximum: 600 }}): limit `duration_seconds` reached: 600 of 600; \
             {booked} counts as spent, because the provider may charge for it"
        )
    );
    assert_eq!(driven.spent(), (reserved, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_the_time() {
    let sleeping = Function(|_| async {
        tokio::time::sleep(Duration::from_secs(601)).await;
        ToolOutput::ok(json!("late"))
    });
    let made = vec![call("1", "a_echo", json!({})), call("2", "a_sleep", json!({}))];
    let driven = Thread::new(vec![calls(made)])
        .with(tool("a/sleep", Effect::ReadOnly, sleeping))
        .with(echo("a/echo", Effect::ReadOnly))
        .drive()
        .await;
    driven.check_consistent();
    assert!(
        driven.failure().starts_with("Limit(LimitHit { limit: Duration"),
        "{}",
        driven.failure()
    );
    let stopped =
        json!({"error": "the call was stopped while it ran; what it changed before is not undone"});
    assert_eq!(
        driven.results(),
        [json!({}), stopped],
        "the call that was done has its own receipt"
    );
}

#[tokio::test]
async fn an_end_that_cannot_be_recorded_is_none() {
    let thread = Thread::new(vec![]);
    let folder = thread.place.path().join("threads").join(thread_id().as_str());
    // The record is replaced by a rename, which a folder of its name prevents.
    let break_record = move || fs::create_dir_all(folder.join("thread.json/x")).unwrap();
    let driven =
        Thread { script: vec![after(break_record, says("Hello."))], ..thread }.drive().await;
    assert_eq!(driven.outcome.state, ThreadState::Running);
    let failure = driven.outcome.failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Storage);
    let path = driven.folder().join("thread.json");
    let message = format!(
        "cannot write `{}`; check the disk and the permissions of its folder: ",
        path.display()
    );
    assert!(failure.message.starts_with(&message), "{failure}");
}

#[tokio::test]
async fn a_failure_to_record_does_not_hide_the_first() {
    let thread = Thread::new(vec![]).returning(score());
    let folder = thread.place.path().join("threads").join(thread_id().as_str());
    let break_record = move || fs::create_dir_all(folder.join("thread.json/x")).unwrap();
    let script = vec![says("Done."), after(break_record, says("Done."))];
    let driven = Thread { script, ..thread }.drive().await;
    assert_eq!(driven.outcome.failure.unwrap().kind, FailureKind::MissingOutputs);
}

/// The lock of the thread's tree is removed, or another file takes its place, while the thread waits for the model: another process
/// may own the tree by now, so that nothing more is written.
#[cfg(unix)]
#[tokio::test]
async fn rule_12_a_thread_whose_lock_was_replaced_stops() {
    let rows = [
        ("an answer", says("Hello.")),
        ("a call", calls(vec![call("1", "a_echo", json!({}))])),
        ("a refusal", fails(ProviderErrorClass::Overloaded)),
    ];
    for ((name, turn), replaces) in rows.into_iter().zip([true, false, true]) {
        let mut thread = Thread::new(vec![]).with(echo("a/echo", Effect::Once));
        let mut other = thread.info.clone();
        other.model = "model-2".to_owned();
        thread.fallback = Some((other, vec![says("Here.")]));
        let folder = thread.place.path().join("threads").join(thread_id().as_str());
        let lock = folder.join("lock");
        let all =
            move || ["thread.json", "transcript.jsonl"].map(|it| fs::read(folder.join(it)).ok());
        let before = Arc::new(Mutex::new(None));
        let (left, look) = (Arc::clone(&before), all.clone());
        let replace = move || {
            fs::remove_file(&lock).unwrap();
            if replaces {
                fs::write(&lock, "").unwrap();
            }
            *left.lock().unwrap() = Some(look());
        };
        thread.script = vec![after(replace, turn)];
        let driven = thread.drive().await;
        assert_eq!(driven.outcome.state, ThreadState::Running, "{name}");
        let failure = driven.outcome.failure.as_ref().unwrap();
        assert_eq!(failure.kind, FailureKind::Storage, "{name}: {failure}");
        let lost = "is not the file that this process locked, so that another process may own the thread tree";
        assert!(failure.message.contains(lost), "{name}: {failure}");
        assert_eq!(Some(all()), before.lock().unwrap().take(), "{name}");
    }
}
