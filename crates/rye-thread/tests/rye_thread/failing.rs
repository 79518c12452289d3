//! Every way in which a thread fails by itself.

use std::sync::Arc;

use rye_caps::Grant;
use rye_thread::{Cancel, FailureKind, ProviderError, ProviderErrorClass, StopReason};
use rye_types::{Effect, Nanos, SpendLimit, ThreadState};
use serde_json::json;

use crate::doubles::{
    Driven, Thread, Turn, after, call, calls, echo, fails, fails_for_good, reply, returns, says,
    score,
};
use crate::family::Logged;
use crate::world::World;

async fn fail(thread: Thread, expected: &str) -> Driven {
    let driven = fail_with(thread).await;
    assert_eq!(driven.failure(), expected);
    driven
}

/// The end of a message about a request that has no answer and may have cost something.
fn booked(driven: &Driven) -> String {
    match driven.payloads("request_failed").remove(0)["cost_nanos"].as_u64().unwrap() {
        0 => String::new(),
        cost => {
            let cost = Nanos::new(cost);
            format!("; {cost} counts as spent, because the provider may charge for it")
        }
    }
}

async fn fail_with(thread: Thread) -> Driven {
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Error);
    assert_eq!(driven.left, 0, "the script was followed to its end");
    let last = driven.payloads("thread_error");
    assert_eq!(last.len(), 1);
    assert_eq!(last[0]["failure"]["message"], driven.outcome.failure.as_ref().unwrap().message);
    driven
}

#[tokio::test]
async fn missing_outputs() {
    let thread = Thread::new(vec![says("Done."), says("Really.")]).returning(score());
    fail(
        thread,
        "MissingOutputs: the model did not call `directive_return`, even when asked; it must return `score` (integer, \
         required)",
    )
    .await;
}

#[tokio::test]
async fn refused() {
    let thread = Thread::new(vec![
        calls(vec![call("1", "a_echo", json!({}))]),
        says("I may not."),
        says("No."),
    ])
    .with(echo("a/echo", Effect::Once))
    .granting(Ok::<_, ()>(Grant::nothing()))
    .returning(score());
    fail(
        thread,
        "Refused: `rye.execute.tool.a.echo` is not allowed by the directive `test/greet` (add \
         `<execute><tool>a.echo</tool></execute>` to its `<permissions>`); then: the model did not call \
         `directive_return`, even when asked; it must return `score` (integer, required)",
    )
    .await;
}

#[tokio::test]
async fn a_planned_step_that_was_refused() {
    let thread = Thread::new(vec![
        calls(vec![call("1", "a_echo", json!({}))]),
        fails(ProviderErrorClass::StepFailed),
    ])
    .with(echo("a/echo", Effect::Once))
    .granting(Ok::<_, ()>(Grant::nothing()));
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.failure.unwrap().kind, FailureKind::Refused);
}

#[tokio::test]
async fn cut_off() {
    fail(
        Thread::new(vec![Turn::Reply(reply("Once", Vec::new(), StopReason::MaxTokens))]),
        "CutOff: the answer reached the most tokens it may have and is cut; raise `max_output` of the model in the provider's file, or the limits `tokens` and `spend` where they left less",
    )
    .await;
}

#[tokio::test]
async fn every_class_of_provider_error() {
    for &class in ProviderErrorClass::ALL {
        let driven = fail_with(Thread::new(fails_for_good(class))).await;
        let booked = booked(&driven);
        assert_eq!(booked.is_empty(), !class.may_have_cost(), "{class}");
        let advice = match class {
            ProviderErrorClass::CutCall => {
                "; it may have 2000 tokens; raise `max_output` of `model-1` in the file of the provider `scripted`"
            }
            ProviderErrorClass::Empty => "; it was asked twice",
            ProviderErrorClass::Malformed => "; it was asked three times",
            _ => "",
        };
        let expected = format!("Provider({class:?}): the provider failed{advice}{booked}");
        assert_eq!(driven.failure(), expected);
    }
}

#[tokio::test]
async fn the_cause_of_a_provider_error_is_told() {
    let error = ProviderError::new(ProviderErrorClass::Server, "the answer cannot be read");
    let error = error.with_source("missing field `usage`");
    let driven = fail_with(Thread::new(vec![Turn::Fail(error)])).await;
    let expected = "Provider(Server): the answer cannot be read: missing field `usage`";
    assert_eq!(driven.failure(), format!("{expected}{}", booked(&driven)));
}

#[tokio::test]
async fn turns() {
    let mut thread = Thread::new(vec![
        calls(vec![call("1", "x", json!({}))]),
        calls(vec![call("2", "x", json!({}))]),
    ]);
    thread.limits.turns = 2;
    let driven = fail(
        thread,
        "Limit(LimitHit { limit: Turns, value: 2, maximum: 2 }): limit `turns` reached: 2 of 2",
    )
    .await;
    assert_eq!(
        driven.payloads("thread_error")[0]["failure"],
        json!({
            "kind": "limit",
            "message": "limit `turns` reached: 2 of 2",
            "limit": {"name": "turns", "value": 2, "maximum": 2},
        })
    );
}

#[tokio::test]
async fn tokens() {
    let mut thread = Thread::new(vec![calls(vec![call("1", "x", json!({}))])]);
    thread.limits.tokens = 105;
    fail(
        thread,
        "Limit(LimitHit { limit: Tokens, value: 110, maximum: 105 }): limit `tokens` reached: 110 of 105",
    )
    .await;
}

/// A prompt that exceeds the limit by itself is not sent.
#[tokio::test]
async fn tokens_of_the_prompt_alone() {
    let mut thread = Thread::new(Vec::new());
    thread.limits.tokens = 0;
    let driven = thread.drive().await;
    let failure = driven.failure();
    assert!(failure.starts_with("Limit(LimitHit { limit: Tokens, value: "), "{failure}");
    let says = "; the prompt alone has more tokens, so that nothing was sent";
    assert!(failure.ends_with(says), "{failure}");
    assert_eq!(driven.outcome.turns, 0);
    assert_eq!(driven.payloads("step_start"), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn duration() {
    let mut thread = Thread::new(Vec::new());
    let clock = thread.clock.clone();
    thread.script = vec![after(move || clock.advance(600), calls(vec![call("1", "x", json!({}))]))];
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(
        driven.failure(),
        "Limit(LimitHit { limit: Duration, value: 600, maximum: 600 }): limit `duration_seconds` reached: 600 of 600"
    );
    assert_eq!(
        driven.results(),
        Vec::<serde_json::Value>::new(),
        "no call begins when the time is used up"
    );
}

#[tokio::test]
async fn without_a_price() {
    let mut thread = Thread::new(Vec::new());
    thread.info.prices = None;
    let driven = fail(
        thread,
        "Unpriced: model `model-1` has no price, so the spend limit cannot hold; state its prices in a provider \
         configuration of your user space, or set `spend=\"unlimited\"`",
    )
    .await;
    assert_eq!(driven.requests.len(), 0);
}

/// Who holds a thread is asked after a failure of its store, and after no other one.
#[tokio::test]
async fn only_a_failure_of_the_store_asks_the_store() {
    let (completed, asked) = ended_within(2_000_000_000).await;
    assert_eq!(completed, ThreadState::Completed);
    assert_eq!(ended_within(1).await, (ThreadState::Error, asked));
}

/// The end of a thread that may spend so much, and how often its store was asked to append nothing.
async fn ended_within(nanos: u64) -> (ThreadState, usize) {
    let (mut world, store) = (World::new(), Arc::new(Logged::default()));
    world.model.turns = vec![vec![returns("last", json!({"score": 7}))]];
    world.limits.spend = SpendLimit::AtMost(Nanos::new(nanos));
    let outcome = world.begin(Arc::clone(&store) as _, &Cancel::new()).await.unwrap();
    let log = store.log.lock().unwrap();
    (outcome.state, log.iter().filter(|(_, lines)| lines.is_empty()).count())
}
