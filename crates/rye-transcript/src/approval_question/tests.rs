use serde_json::json;

use super::*;

fn request(item: &str, arguments: &Value, reason: ApprovalReason) -> ApprovalRequest {
    let thread = "a-019a0000-0000-7000-8000-000000000001".parse().unwrap();
    ApprovalRequest::new(&thread, "c", item, arguments, reason)
}

#[track_caller]
fn check(item: &str, reason: ApprovalReason, arguments: &Value, why: &str) {
    assert_eq!(request(item, arguments, reason).why(), why);
}

/// SPEC 14.1: a question says why it asks, and of a call that was cut off that it may have happened.
#[test]
fn a_question_says_why_it_asks() {
    use ApprovalReason::{Configured, Interrupted};
    let began = "it began before and may have happened, and an approval may do it a second time";
    check("a/b", Configured, &json!({}), "the configuration asks before each call of it");
    check("a/b", Interrupted, &json!({}), began);
    check("rye_sign", Interrupted, &json!({}), began);
    let sign = "each signature with the operator's key is asked about";
    check("rye_sign", Configured, &json!({}), sign);
}

/// A question of a hook says what the answers do, which its event decides.
#[test]
fn a_question_of_a_hook_says_what_yes_means() {
    for (data, means) in [
        (
            json!({ "event": "after_step" }),
            ": if approved, the thread goes on; if denied, it ends as failed",
        ),
        (
            json!({ "event": "directive_return", "outputs": {} }),
            ": if approved, the outputs are accepted; if denied, the model is told that they are not",
        ),
        (
            json!({ "event": "limit", "limit": { "final": true } }),
            ": if approved, the limit is raised by as much again and the thread goes on; if denied, it ends",
        ),
        (
            json!({ "event": "limit", "limit": { "final": false } }),
            ": if approved, the limit is raised by as much again; if denied, the thread goes on without",
        ),
        (
            json!({ "event": "error", "error": { "final": true } }),
            ": if approved, the request is sent again; if denied, the thread ends with the error",
        ),
        (
            json!({ "event": "error", "error": { "final": false } }),
            ": if approved, the thread goes on; if denied, it ends with the error",
        ),
        (json!({ "event": "something newer" }), ""),
        (json!(null), ""),
    ] {
        check("hook a at b", ApprovalReason::Escalated, &data, &format!("a hook asks{means}"));
    }
}

/// Of a hook's event, the data that each event has are left out. No other arguments are.
#[test]
fn the_arguments_that_decide_are_shown() {
    let data = json!({
        "event": "directive_return",
        "outputs": { "a": 1 },
        "inputs": { "event": "limit" },
        "cost": { "turns": 2 },
    });
    let asked = request("hook a at b", &data, ApprovalReason::Escalated);
    assert_eq!(asked.decisive_arguments(), json!({ "outputs": { "a": 1 } }));
    for reason in [ApprovalReason::Configured, ApprovalReason::Interrupted] {
        assert_eq!(request("a/b", &data, reason).decisive_arguments(), data);
    }
}
