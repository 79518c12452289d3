//! What becomes of tool calls.

use std::sync::{Arc, Mutex};

use rye_caps::Grant;
use rye_thread::{FailureKind, ToolCall, ToolOutput};
use rye_types::{Effect, ThreadState};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::doubles::{Driven, Function, Thread, call, calls, echo, execute, says, score, tool};

/// One turn of these calls, then text.
async fn drive(thread: impl FnOnce(Thread) -> Thread, made: Vec<ToolCall>) -> Driven {
    let driven = thread(Thread::new(vec![calls(made), says("So it is.")])).drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed);
    driven
}

#[tokio::test]
async fn a_denial_is_told_to_the_model_and_recorded() {
    let driven = drive(
        |thread| {
            thread
                .with(echo("a/echo", Effect::Once))
                .granting(Grant::of_items("execute", "tool", "b.*"))
        },
        vec![call("1", "a_echo", json!({}))],
    )
    .await;
    let message = "`rye.execute.tool.a.echo` is not allowed by the directive `test/greet` (add \
                   `<execute><tool>a.echo</tool></execute>` to its `<permissions>`)";
    assert_eq!(driven.results(), [json!({ "error": message })]);
    assert_eq!(
        driven.payloads("tool_call_result")[0]["refusal"],
        json!({
            "capability": "rye.execute.tool.a.echo",
            "layer": "the directive `test/greet`",
            "pattern": "rye.execute.tool.a.echo",
            "message": message,
        })
    );
}

#[tokio::test]
async fn a_denied_call_does_not_run() {
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let counting = Function(move |_| {
        *count.lock().unwrap() += 1;
        async { ToolOutput::ok(json!(null)) }
    });
    drive(
        |thread| {
            thread
                .with(tool("a/count", Effect::Once, counting))
                .granting(Ok::<_, ()>(Grant::nothing()))
        },
        vec![
            call("1", "a_count", json!({})),
            execute("2", "a/count", &json!({})),
            call("3", "a_count", json!({"n": "x"})),
        ],
    )
    .await;
    assert_eq!(*ran.lock().unwrap(), 0);
}

/// What is authorised is what is run: arguments that name another tool are arguments.
#[tokio::test]
async fn arguments_cannot_name_another_tool() {
    let driven = drive(
        |thread| {
            thread
                .with(echo("a/allowed", Effect::Once))
                .with(echo("a/denied", Effect::Once))
                .granting(Grant::of_items("execute", "tool", "a.allowed"))
        },
        vec![
            call("1", "a_allowed", json!({"item_id": "a/denied"})),
            execute("2", "a/denied", &json!({})),
            execute("3", "a/allowed", &json!({"item_id": "a/denied"})),
        ],
    )
    .await;
    let refused: Vec<bool> = driven
        .payloads("tool_call_result")
        .iter()
        .map(|payload| !payload["refusal"].is_null())
        .collect();
    assert_eq!(refused, [false, true, false]);
    let targets: Vec<Value> = driven
        .payloads("tool_call_start")
        .iter()
        .map(|payload| payload["target"]["item_id"].clone())
        .collect();
    assert_eq!(targets, ["a/allowed", "a/denied", "a/allowed"]);
    // The schemas do not know `item_id`, so that nothing ran at all.
    let errors: Vec<bool> =
        driven.payloads("tool_call_result").iter().map(|p| p["is_error"] == true).collect();
    assert_eq!(errors, [true, true, true]);
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_denied_or_unknown() {
    let driven = drive(
        |thread| {
            thread
                .with(echo("a/echo", Effect::Once))
                .granting(Grant::of_items("execute", "tool", "a.*"))
        },
        vec![
            execute("1", "rye/bash/bash", &json!({})),
            execute("2", "a/missing", &json!({})),
            call("3", "missing", json!({})),
            execute("4", "../a", &json!({})),
        ],
    )
    .await;
    assert_eq!(
        driven.results(),
        [
            json!({"error": "`rye.execute.tool.rye.bash.bash` is not allowed by the directive `test/greet` (add \
                             `<execute><tool>rye.bash.bash</tool></execute>` to its `<permissions>`)"}),
            json!({"error": "there is no tool `a/missing` in this thread; the tools are: a_echo, rye_execute"}),
            json!({"error": "there is no tool `missing` in this thread; the tools are: a_echo, rye_execute"}),
            json!({"error": "`../a` is not an item id: a segment starts with an ASCII letter, a digit or `_`"}),
        ]
    );
}

#[tokio::test]
async fn arguments_are_validated_before_anything_runs() {
    let driven = drive(
        |thread| thread.with(echo("a/echo", Effect::Once)),
        vec![
            call("1", "a_echo", json!({"n": "x", "m": 1})),
            call("2", "a_echo", (0..99).fold(json!(1), |inner, _| json!([inner]))),
        ],
    )
    .await;
    assert_eq!(
        driven.results(),
        [
            json!({"error": "the arguments do not fit the tool", "problems": [
                "at `/n`: \"x\" is not of type \"integer\"",
                "there is no argument `m`; it takes `n`",
            ]}),
            json!({"error": "the call cannot be read", "problems": [
                "the arguments are not readable JSON: the arguments are nested deeper than 64 levels",
            ]}),
        ]
    );
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_result() {
    let panicking = Function(|_| async { panic!("broken") });
    let driven = drive(
        |thread| {
            thread.with(tool("a/panic", Effect::Once, panicking)).with(echo("a/echo", Effect::Once))
        },
        vec![call("1", "a_panic", json!({})), call("2", "a_echo", json!({}))],
    )
    .await;
    let broken = json!({"error": "the tool broke off without a result; what it changed before is not undone"});
    assert_eq!(driven.results(), [broken, json!({})]);
}

#[tokio::test]
async fn a_tools_own_refusal_is_a_refusal() {
    let words = "`/etc/passwd` is outside the project";
    check_refusal(json!(words), words).await;
    check_refusal(json!({ "error": words }), words).await;
    check_refusal(json!({ "code": 7 }), r#"{"code":7}"#).await;
}

async fn check_refusal(content: Value, words: &str) {
    let confined = Function(move |_| {
        let content = content.clone();
        async { ToolOutput::refusal(content) }
    });
    let thread =
        Thread::new(vec![calls(vec![call("1", "a_read", json!({}))]), says("No."), says("No.")])
            .with(tool("a/read", Effect::ReadOnly, confined))
            .returning(score());
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(
        driven.outcome.failure.as_ref().map(|failure| &failure.kind),
        Some(&FailureKind::Refused)
    );
    assert_eq!(
        driven.failure(),
        format!(
            "Refused: {words}; then: the model did not call `directive_return`, even when asked; it must return `score` \
             (integer, required)"
        )
    );
    assert_eq!(driven.payloads("tool_call_result")[0]["refusal"]["layer"], "tool");
}

/// Each call waits for the other, so that neither returns unless both run.
#[tokio::test(start_paused = true)]
async fn read_only_tools_run_in_parallel() {
    let barrier = Arc::new(Barrier::new(2));
    let meeting = Function(move |_| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            ToolOutput::ok(json!("met"))
        }
    });
    let driven = drive(
        |thread| thread.with(tool("a/meet", Effect::ReadOnly, meeting)),
        vec![call("1", "a_meet", json!({})), call("2", "a_meet", json!({}))],
    )
    .await;
    assert_eq!(driven.results(), [json!("met"), json!("met")]);
    let calls: Vec<String> =
        driven.events().into_iter().filter(|event| event.starts_with("tool_call")).collect();
    assert_eq!(
        calls,
        ["tool_call_start", "tool_call_start", "tool_call_result", "tool_call_result"]
    );
}

#[tokio::test]
async fn results_come_in_the_order_of_the_calls() {
    let late = Function(|arguments: Value| async move {
        // The first call is the last to finish.
        for _ in 0..10 - arguments["n"].as_u64().unwrap() {
            tokio::task::yield_now().await;
        }
        ToolOutput::ok(arguments)
    });
    let made = (0..10).map(|n| call(&n.to_string(), "a_late", json!({"n": n}))).collect();
    let driven = drive(|thread| thread.with(tool("a/late", Effect::ReadOnly, late)), made).await;
    assert_eq!(driven.results(), (0..10).map(|n| json!({"n": n})).collect::<Vec<_>>());
}

#[tokio::test]
async fn other_tools_run_alone_and_in_order() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let logging = |log: &Arc<Mutex<Vec<String>>>| {
        let log = Arc::clone(log);
        Function(move |arguments: Value| {
            let log = Arc::clone(&log);
            async move {
                log.lock().unwrap().push(format!("{} begins", arguments["n"]));
                tokio::task::yield_now().await;
                log.lock().unwrap().push(format!("{} ends", arguments["n"]));
                ToolOutput::ok(arguments)
            }
        })
    };
    drive(
        |thread| {
            thread
                .with(tool("a/read", Effect::ReadOnly, logging(&log)))
                .with(tool("a/write", Effect::Once, logging(&log)))
                .with(tool("a/put", Effect::Idempotent, logging(&log)))
        },
        vec![
            call("1", "a_write", json!({"n": 1})),
            call("2", "a_put", json!({"n": 2})),
            call("3", "a_read", json!({"n": 3})),
            call("4", "a_write", json!({"n": 4})),
        ],
    )
    .await;
    let expected =
        (1..=4).flat_map(|n| [format!("{n} begins"), format!("{n} ends")]).collect::<Vec<_>>();
    assert_eq!(*log.lock().unwrap(), expected);
}
