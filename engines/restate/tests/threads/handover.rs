//! Trees that move, or must not move, while something in them is under way.

use serde_json::{Value, json};

use crate::lab::Lab;

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| *line == text).count()
}

/// A root asks its model while its child's call runs. Another worker would ask for the call to be approved, and do it again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_tree_stays_while_a_child_beside_its_root_calls() {
    let lab = Lab::new().await;
    let _old = lab.worker("first").await;
    let thread = lab.start("beside").await;
    let begun = || async { (0 < count(&lab.effects("first"), "beside-begun")).then_some(()) };
    lab.wait_for("the call of the child", begun).await;
    let _new = lab.worker("second").await;
    let end = lab.end(&thread).await;
    assert_eq!(end["state"], "completed", "{end}");
    let effects = [lab.effects("first"), lab.effects("second")].concat();
    for text in ["beside-begun", "beside-slow", "beside-19"] {
        assert_eq!(count(&effects, text), 1, "{text}: {effects:?}");
    }
    let reader = lab.project("reader");
    lab.pull(&thread, &reader).await;
    lab.rye(&reader, &["threads", "verify", &thread]);
}

/// The turn that runs a child's long call has the object for itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_cancel_reaches_a_tree_in_the_middle_of_a_call() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("long").await;
    let begun = || async { (0 < count(&lab.effects("first"), "long-begun")).then_some(()) };
    lab.wait_for("the call of the child", begun).await;
    // The client does not wait for the call.
    lab.order(&thread, "rye-engine-cancel", &Value::Null).await.unwrap();
    assert_eq!(lab.end(&thread).await["state"], "cancelled");
    assert_eq!(count(&lab.effects("first"), "long-slow"), 0);
    let again = lab.order(&thread, "rye-engine-cancel", &Value::Null).await.unwrap_err();
    assert!(again.contains("409"), "{again}");
}

/// The server cuts off an invocation that says nothing for a time of its own settings.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_long_call_is_not_cut_off() {
    let settings = "inactivity-timeout = \"500ms\"\nabort-timeout = \"1s\"\n";
    let lab = Lab::with_settings(settings).await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("sleeps").await;
    let end = lab.end(&thread).await;
    assert_eq!(end["state"], "completed", "{end}");
    assert_eq!(lab.effects("first"), ["sleeps-begun", "sleeps-slow"]);
}

/// A tool that reaches the ingress makes no turns.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn only_the_engine_makes_turns() {
    let lab = Lab::new().await;
    let _worker = lab.worker("first").await;
    let thread = lab.start("waits-g").await;
    lab.end(&thread).await;
    let order = lab.signed(&crate::lab::order(&thread, "rye-engine-cancel", &Value::Null));
    for (handler, body) in
        [("turn", json!(1)), ("carry_out", json!({"order": order, "is_running": false}))]
    {
        let refused = lab.call(&thread, handler, &body).await.unwrap_err();
        assert!(refused.starts_with('4'), "{handler}: {refused}");
    }
    assert_eq!(lab.end(&thread).await["state"], "suspended");
}
