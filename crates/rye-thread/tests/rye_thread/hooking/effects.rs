//! Every effect at every event that has it.

use rye_thread::{Decision, ProviderErrorClass, StopReason};
use rye_types::{HookEffect, HookEvent};
use serde_json::{Value, json};

use super::{deciding, drive_with, running, telling};
use crate::doubles::{Thread, Turn, call, calls, fails, reply, returns, says, score};

const ABORTED: &str = "hook `h` of directive `test/greet` aborted the thread";
const PROVIDER_FAILED: &str = "the provider failed";

struct Row {
    name: &'static str,
    script: Vec<Turn>,
    event: HookEvent,
    effect: HookEffect,
    says: Option<Decision>,
    state: &'static str,
    failure: &'static str,
    requests: usize,
}

async fn check(row: Row) {
    let name = row.name;
    let mut thread = Thread::new(row.script).returning(score());
    thread.approves = row.says;
    thread.limits.turns = 4;
    if row.event == HookEvent::ContextLimitReached {
        thread.info.context_window = 120;
        thread.info.prices = Some(rye_types::Prices::free());
    }
    let own = telling(deciding("h", row.event, row.effect), "load knowledge k/x");
    let (driven, _) = drive_with(thread, vec![own]).await;
    assert_eq!(driven.outcome.state.as_str(), row.state, "{name}: {:?}", driven.outcome.failure);
    let failure = driven.outcome.failure.as_ref().map_or(String::new(), ToString::to_string);
    let booked = match driven.payloads("request_failed").first() {
        Some(failed) if row.failure == PROVIDER_FAILED => {
            let cost = rye_types::Nanos::new(failed["cost_nanos"].as_u64().unwrap());
            format!("; {cost} counts as spent, because the provider may charge for it")
        }
        _ => String::new(),
    };
    assert_eq!(failure, format!("{}{booked}", row.failure), "{name}");
    assert_eq!(driven.requests.len(), row.requests, "{name}");
    assert_eq!(driven.left, 0, "{name}: the script is used up");
    let is_continued = row.state == "continued";
    assert_eq!(driven.outcome.continued_by.is_some(), is_continued, "{name}");
    assert_eq!(driven.record().continued_by, driven.outcome.continued_by, "{name}");
}

fn done() -> Turn {
    calls(vec![returns("r", json!({"score": 1}))])
}

fn step() -> Turn {
    calls(vec![call("a", "a_note", json!({"n": 1}))])
}

fn row(name: &'static str, event: HookEvent, effect: HookEffect, script: Vec<Turn>) -> Row {
    let requests = script.len();
    Row { name, script, event, effect, says: None, state: "completed", failure: "", requests }
}

#[tokio::test]
async fn after_a_step() {
    use HookEffect::{Abort, Continue, Escalate, Fail};
    let event = HookEvent::AfterStep;
    let failed = "hook `h` of directive `test/greet` ended the thread";
    let denied = "hook `h` of directive `test/greet` asked whether to go on, and somebody said no";
    check(row("continue", event, Continue, vec![step(), done()])).await;
    check(Row { state: "error", failure: failed, ..row("fail", event, Fail, vec![step()]) }).await;
    check(Row { state: "cancelled", failure: ABORTED, ..row("abort", event, Abort, vec![step()]) })
        .await;
    let escalate = |name, script| row(name, event, Escalate, script);
    check(Row { state: "suspended", ..escalate("nobody", vec![step()]) }).await;
    let says = Some(Decision::Approved);
    check(Row { says, ..escalate("approved", vec![step(), done()]) }).await;
    let says = Some(Decision::DENIED);
    check(Row { says, state: "error", failure: denied, ..escalate("denied", vec![step()]) }).await;
}

#[tokio::test]
async fn at_an_error() {
    use HookEffect::{Abort, Continue, Escalate, Fail, Retry};
    let (event, failed) = (HookEvent::Error, PROVIDER_FAILED);
    let bad = || fails(ProviderErrorClass::Server);
    check(row("retry", event, Retry, vec![step(), bad(), done()])).await;
    check(Row { state: "error", failure: failed, ..row("fail", event, Fail, vec![bad()]) }).await;
    check(Row { state: "error", failure: failed, ..row("continue", event, Continue, vec![bad()]) })
        .await;
    check(Row { state: "cancelled", failure: ABORTED, ..row("abort", event, Abort, vec![bad()]) })
        .await;
    let escalate = |name, script| row(name, event, Escalate, script);
    check(Row { state: "suspended", ..escalate("nobody", vec![bad()]) }).await;
    let says = Some(Decision::Approved);
    check(Row { says, ..escalate("approved", vec![bad(), done()]) }).await;
    let says = Some(Decision::DENIED);
    check(Row { says, state: "error", failure: failed, ..escalate("denied", vec![bad()]) }).await;
    let cut = reply("half", vec![call("c", "a_note", json!({"n": 1}))], StopReason::MaxTokens);
    check(row("a cut answer", event, Retry, vec![Turn::Reply(cut), done()])).await;
    check(row("no outputs", event, Retry, vec![says_it(), says_it(), done()])).await;
}

fn says_it() -> Turn {
    says("text alone")
}

#[tokio::test]
async fn at_a_limit() {
    use HookEffect::{Abort, Escalate, Fail};
    let (event, failed) = (HookEvent::Limit, "limit `turns` reached: 4 of 4");
    let four = || vec![step(), step(), step(), step()];
    let five = || four().into_iter().chain([done()]).collect();
    check(Row { state: "error", failure: failed, ..row("fail", event, Fail, four()) }).await;
    check(Row { state: "cancelled", failure: ABORTED, ..row("abort", event, Abort, four()) }).await;
    check(Row { state: "suspended", ..row("nobody", event, Escalate, four()) }).await;
    let says = Some(Decision::Approved);
    check(Row { says, ..row("approved", event, Escalate, five()) }).await;
    let says = Some(Decision::DENIED);
    let denied = row("denied", event, Escalate, four());
    check(Row { says, state: "error", failure: failed, ..denied }).await;
}

#[tokio::test]
async fn when_outputs_are_returned() {
    use HookEffect::{Abort, Continue, Escalate, Fail, Retry};
    let event = HookEvent::DirectiveReturn;
    let failed = "hook `h` of directive `test/greet` ended the thread";
    let limit = "limit `turns` reached: 4 of 4";
    let four = || vec![done(), done(), done(), done()];
    check(row("continue", event, Continue, vec![done()])).await;
    check(Row { state: "error", failure: limit, ..row("retry", event, Retry, four()) }).await;
    check(Row { state: "error", failure: failed, ..row("fail", event, Fail, vec![done()]) }).await;
    check(Row { state: "cancelled", failure: ABORTED, ..row("abort", event, Abort, vec![done()]) })
        .await;
    let escalate = |name, script| row(name, event, Escalate, script);
    check(Row { state: "suspended", ..escalate("nobody", vec![done()]) }).await;
    let says = Some(Decision::Approved);
    check(Row { says, ..escalate("approved", vec![done()]) }).await;
    let says = Some(Decision::DENIED);
    check(Row { says, state: "error", failure: limit, ..escalate("denied", four()) }).await;
}

#[tokio::test]
async fn when_the_window_is_nearly_full() {
    use HookEffect::{Abort, Continue, Fail};
    let event = HookEvent::ContextLimitReached;
    let failed = "hook `h` of directive `test/greet` ended the thread";
    check(Row { state: "continued", ..row("continue", event, Continue, vec![step()]) }).await;
    check(Row { state: "error", failure: failed, ..row("fail", event, Fail, vec![step()]) }).await;
    check(Row { state: "cancelled", failure: ABORTED, ..row("abort", event, Abort, vec![step()]) })
        .await;
    let long = || vec![step_of_few_tokens(), fails(ProviderErrorClass::ContextTooLong)];
    check(Row { state: "continued", ..row("refused for its length", event, Continue, long()) })
        .await;
}

fn step_of_few_tokens() -> Turn {
    let mut reply = reply("", vec![call("a", "a_note", json!({"n": 1}))], StopReason::ToolUse);
    reply.usage = rye_types::Usage::new(1, 1);
    Turn::Reply(reply)
}

/// The model is told why its outputs are not accepted, in the hook's own words.
#[tokio::test]
async fn the_words_of_a_hook_reach_the_model() {
    let thread = Thread::new(vec![done(), done()]).returning(score());
    let own =
        telling(deciding("h", HookEvent::DirectiveReturn, HookEffect::Retry), "load knowledge k/x");
    let once = super::when(own, |data: &Value| data["cost"]["turns"] == 1);
    let (driven, _) = drive_with(thread, vec![once]).await;
    assert_eq!(driven.outcome.failure, None);
    let results = driven.results();
    assert_eq!(
        results[1]["problems"],
        json!(["hook `h` does not accept these outputs: Be careful."])
    );
}

/// No hook raises the limit on money.
#[tokio::test]
async fn money_is_not_extended() {
    let mut dear = reply("", vec![call("a", "a_note", json!({"n": 1}))], StopReason::ToolUse);
    dear.usage = rye_types::Usage::new(2_000, 1_000);
    let mut thread = Thread::new(vec![Turn::Reply(dear)]);
    thread.limits.spend = "0.004".parse().unwrap();
    thread.approves = Some(Decision::Approved);
    let own =
        running(deciding("h", HookEvent::Limit, HookEffect::Escalate), "a/note", json!({"n": 5}));
    let (driven, notes) = drive_with(thread, vec![own]).await;
    assert!(driven.failure().contains("limit `spend` reached"), "{}", driven.failure());
    assert_eq!(notes, [1, 5], "the hook acts, and nobody is asked");
    assert_eq!(driven.payloads("approval_requested").len(), 0);
}
