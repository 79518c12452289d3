//! What of an answer reaches the thread beside its content: its pieces, its count, and another model in place of the first.

use rye_thread::{Counted, ProviderError, ProviderErrorClass, ProviderInfo};
use rye_types::{Nanos, Prices, ThreadState, Usage};
use serde_json::json;

use crate::doubles::{Driven, PRICES, Thread, Turn, call, calls, fails_for_good, says};

#[tokio::test]
async fn pieces_reach_who_watches_before_the_events() {
    let driven = Thread::new(vec![says("Hello.")]).drive().await;
    driven.check_consistent();
    assert_eq!(driven.deltas, [r#"Text("Hello.")"#]);
}

/// Tokens that nobody counted are taken for as many as there can be, and so is their price.
#[tokio::test]
async fn what_nobody_counted_costs_the_worst_case() {
    let Turn::Reply(mut reply) = says("Hello.") else { panic!("a reply") };
    reply.usage = Usage::default();
    reply.counted = Counted::Unreported;
    let driven = Thread::new(vec![Turn::Reply(reply)]).drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert_eq!(driven.outcome.cost, Nanos::new(reserved));
    assert_eq!(driven.outcome.usage.output, 2_000);
    assert!(driven.outcome.usage.input > 2_000, "{:?}", driven.outcome.usage);
}

/// What is counted beside a missing part is paid where it is more than the worst case of the request.
#[tokio::test]
async fn a_count_that_lacks_a_part_costs_no_less_than_it_says() {
    let nobody = Usage::default();
    let few = Usage::new(100, 0);
    let (mut cached, mut cached_many) = (few, nobody);
    (cached.cache_read, cached_many.cache_write) = (50, 100_000_000);
    let many = Usage::new(100_000_000, 0);
    let output_alone = Usage::new(0, 100_000_000);
    for (counted, is_more) in [
        (nobody, false),
        (few, false),
        (cached, false),
        (many, true),
        (cached_many, true),
        (output_alone, true),
    ] {
        let Turn::Reply(mut reply) = says("Hello.") else { panic!("a reply") };
        (reply.usage, reply.counted) = (counted, Counted::Unreported);
        let driven = Thread::new(vec![Turn::Reply(reply)]).drive().await;
        driven.check_consistent();
        let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
        let usage = driven.outcome.usage;
        assert!(
            2_000 <= usage.output && counted.total() <= usage.total(),
            "{counted:?}: {usage:?}"
        );
        let expected = if is_more { PRICES.cost(&usage) } else { Nanos::new(reserved) };
        assert_eq!(driven.outcome.cost, expected, "{counted:?}");
        assert_eq!(Nanos::new(reserved) < driven.outcome.cost, is_more, "{counted:?}");
        assert_eq!(driven.replayed.unwrap().divergence, None, "{counted:?}");
    }
}

#[tokio::test]
async fn an_answer_that_broke_may_have_cost_whatever_its_class() {
    let error = ProviderError::new(ProviderErrorClass::Overloaded, "busy").after_the_answer_began();
    let driven = with_fallback(vec![Turn::Fail(error)]).drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert_eq!(driven.outcome.cost, Nanos::new(reserved));
    let cost = driven.outcome.cost;
    assert_eq!(
        driven.failure(),
        format!(
            "Provider(Overloaded): busy; {cost} counts as spent, because the provider may charge for it"
        )
    );
}

/// A thread whose provider has another, dearer model behind it.
fn with_fallback(script: Vec<Turn>) -> Thread {
    let mut thread = Thread::new(script);
    let mut info = ProviderInfo::new("scripted", "model-2", 50_000, 1_000);
    info.prices = Some(Prices::new(Nanos::new(2_000_000_000), Nanos::new(2_000_000_000)));
    thread.fallback = Some((info, vec![says("Here."), says("Again.")]));
    thread
}

fn refuses(class: ProviderErrorClass) -> Vec<Turn> {
    vec![Turn::Fail(ProviderError::new(class, "not now"))]
}

#[track_caller]
fn check_fell_back(driven: &Driven) {
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed, "{:?}", driven.outcome.failure);
    assert_eq!(driven.outcome.text, "Here.");
    assert_eq!(driven.outcome.cost, Nanos::new(220_000), "at the prices of who answered");
    assert_eq!(driven.record().model.as_deref(), Some("model-2"));
    let noted = &driven.payloads("model_fallback")[0];
    assert_eq!((&noted["model"], &noted["reason"]), (&json!("model-2"), &json!("not now")));
    let events = driven.events();
    let starts = events.iter().filter(|event| *event == "step_start").count();
    assert_eq!(starts, 2, "{events:?}");
}

#[tokio::test]
async fn capacity_and_existence_are_for_the_fallback() {
    for class in [ProviderErrorClass::Overloaded, ProviderErrorClass::RateLimited] {
        check_fell_back(&with_fallback(refuses(class)).drive().await);
    }
    let error = ProviderError::new(ProviderErrorClass::InvalidRequest, "not now");
    let driven = with_fallback(vec![Turn::Fail(error.for_want_of_the_model())]).drive().await;
    check_fell_back(&driven);
}

#[tokio::test]
async fn nothing_else_is_for_the_fallback() {
    for &class in ProviderErrorClass::ALL {
        if matches!(class, ProviderErrorClass::Overloaded | ProviderErrorClass::RateLimited) {
            continue;
        }
        let driven = with_fallback(fails_for_good(class)).drive().await;
        driven.check_consistent();
        assert_eq!(driven.outcome.state, ThreadState::Error, "{class}");
        assert_eq!(driven.payloads("model_fallback").len(), 0, "{class}");
    }
}

/// Reasoning is bound to the model that a conversation began with.
#[tokio::test]
async fn a_conversation_that_began_stays_with_its_model() {
    let mut script = vec![calls(vec![call("1", "x", json!({}))])];
    script.extend(refuses(ProviderErrorClass::Overloaded));
    let driven = with_fallback(script).drive().await;
    driven.check_consistent();
    assert_eq!(driven.failure(), "Provider(Overloaded): not now");
}

#[tokio::test]
async fn a_fallback_without_a_price_does_not_run_under_a_limit() {
    let mut thread = with_fallback(refuses(ProviderErrorClass::Overloaded));
    assert_eq!(thread.info.prices, Some(PRICES));
    thread.fallback = Some((ProviderInfo::new("scripted", "model-2", 50_000, 1_000), vec![]));
    let driven = thread.drive().await;
    driven.check_consistent();
    assert!(
        driven
            .failure()
            .starts_with("Unpriced: not now; its fallback is not asked: model `model-2`"),
        "{}",
        driven.failure()
    );
}
