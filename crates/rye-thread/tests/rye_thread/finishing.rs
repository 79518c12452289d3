//! Threads that do what they were asked.

use rye_thread::Message;
use rye_types::{Effect, Nanos, ThreadState, Usage};
use serde_json::json;

use crate::doubles::{Thread, call, calls, echo, execute, returns, says, score};

#[tokio::test]
async fn text_alone() {
    let driven = Thread::new(vec![says("Hello.")]).drive().await;
    driven.check_consistent();
    let outcome = &driven.outcome;
    assert_eq!(
        (outcome.state, outcome.text.as_str(), &outcome.outputs),
        (ThreadState::Completed, "Hello.", &None)
    );
    assert_eq!(
        (outcome.turns, outcome.usage, outcome.cost),
        (1, Usage::new(100, 10), Nanos::new(110_000))
    );
}

#[tokio::test]
async fn tools_then_outputs() {
    let driven = Thread::new(vec![
        calls(vec![call("1", "a_echo", json!({"n": 1})), execute("2", "a/echo", &json!({"n": 2}))]),
        calls(vec![returns("3", json!({"score": 3}))]),
    ])
    .with(echo("a/echo", Effect::Once))
    .returning(score())
    .drive()
    .await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed);
    assert_eq!(serde_json::to_value(&driven.outcome.outputs).unwrap(), json!({"score": 3}));
    assert_eq!(driven.results(), [json!({"n": 1}), json!({"n": 2}), json!({"accepted": true})]);
}

#[tokio::test]
async fn outputs_through_execute_need_no_grant() {
    let outputs = json!({"score": 3});
    let returned = execute("1", "rye/agent/threads/directive_return", &outputs);
    let mut thread = Thread::new(vec![calls(vec![returned])]).returning(score());
    thread.grant = rye_caps::Grant::nothing();
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(serde_json::to_value(&driven.outcome.outputs).unwrap(), outputs);
}

#[tokio::test]
async fn wrong_outputs_are_corrected() {
    let driven = Thread::new(vec![
        calls(vec![returns("1", json!({"score": "three"}))]),
        calls(vec![returns("2", json!({"score": 3}))]),
    ])
    .returning(score())
    .drive()
    .await;
    driven.check_consistent();
    let problems = json!({"accepted": false, "problems": ["`score` must be integer, not string"]});
    assert_eq!(driven.results(), [problems, json!({"accepted": true})]);
    assert_eq!(driven.outcome.state, ThreadState::Completed);
}

#[tokio::test]
async fn outputs_that_were_forgotten_are_asked_for() {
    let driven =
        Thread::new(vec![says("I am done."), calls(vec![returns("1", json!({"score": 3}))])])
            .returning(score())
            .drive()
            .await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed);
    assert_eq!(driven.outcome.text, "I am done.");
    let texts = driven.payloads("user_message");
    assert_eq!(texts.len(), 2);
    let Some(Message::User { text }) = driven.requests[1].messages.last() else {
        panic!("no reminder")
    };
    assert_eq!(texts[1], json!({ "text": text }));
}

/// Each request is the one before it with something added at its end.
#[tokio::test]
async fn the_history_only_grows() {
    let driven = Thread::new(vec![
        calls(vec![call("1", "a_echo", json!({}))]),
        says("I am done."),
        calls(vec![returns("2", json!({}))]),
        calls(vec![returns("3", json!({"score": 1}))]),
    ])
    .with(echo("a/echo", Effect::ReadOnly))
    .returning(score())
    .drive()
    .await;
    driven.check_consistent();
    let shown: Vec<Vec<String>> = driven
        .requests
        .iter()
        .map(|request| request.messages.iter().map(|message| format!("{message:?}")).collect())
        .collect();
    assert_eq!(shown.iter().map(Vec::len).collect::<Vec<_>>(), [1, 3, 5, 7]);
    for pair in shown.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:#?}");
    }
    for request in &driven.requests {
        assert_eq!(
            (&request.system, &request.tools),
            (&driven.requests[0].system, &driven.requests[0].tools)
        );
    }
}
