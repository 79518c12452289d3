//! Money: nothing is asked that cannot be paid.

use rye_thread::{FailureKind, ProviderError, ProviderErrorClass};
use rye_types::{Limit, Nanos, Prices, SpendLimit, ThreadState, Usage};
use serde_json::{Value, json};

use crate::doubles::{Thread, Turn, again, call, calls, fails, fails_for_good, says};

fn at_most(nanos: u64) -> SpendLimit {
    SpendLimit::AtMost(Nanos::new(nanos))
}

#[tokio::test]
async fn the_worst_case_is_reserved_and_the_cost_settled() {
    let driven = Thread::new(vec![says("Hello.")]).drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert!(
        2_000_000 < reserved && reserved < 10_000_000,
        "{reserved} is for 2,000 tokens out and the bytes in"
    );
    assert_eq!(driven.payloads("step_finish")[0]["cost_nanos"], 110_000);
}

#[tokio::test]
async fn exhaustion_is_terminal() {
    let mut thread =
        Thread::new(vec![calls(vec![call("1", "x", json!({}))]), says("Never asked.")]);
    thread.limits.spend = at_most(4_000_000);
    thread.info.prices = Some(Prices::new(Nanos::new(1_000_000_000), Nanos::new(1_000_000_000)));
    thread.script[0] = Turn::Reply({
        let Turn::Reply(mut reply) = calls(vec![call("1", "x", json!({}))]) else {
            panic!("a reply")
        };
        reply.usage = Usage::new(2_000, 1_000);
        reply
    });
    let driven = thread.drive().await;
    driven.check_consistent();
    let failure = driven.failure();
    assert!(failure.starts_with("Limit(LimitHit { limit: Spend, value: "), "{failure}");
    assert!(failure.ends_with(" of 0.004 USD"), "{failure}");
    assert_eq!((driven.left, driven.requests.len()), (1, 1));
    assert_eq!(driven.outcome.cost, Nanos::new(3_000_000));
}

#[tokio::test]
async fn an_answer_is_no_longer_than_the_money() {
    let mut thread = Thread::new(vec![says("Short.")]);
    thread.info.max_output = 1_000_000;
    thread.limits.spend = at_most(10_000_000);
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed);
    let output = driven.requests[0].max_output_tokens;
    assert!((1_024..10_000).contains(&output), "{output}");
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert!((9_999_000..=10_000_000).contains(&reserved), "{reserved} is all there is");
}

#[tokio::test]
async fn unlimited_needs_no_price() {
    let mut thread = Thread::new(vec![says("Hello.")]);
    thread.info.prices = None;
    thread.limits.spend = SpendLimit::Unlimited;
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!((driven.outcome.state, driven.outcome.cost), (ThreadState::Completed, Nanos::ZERO));
}

#[tokio::test]
async fn unlimited_with_a_price_is_counted() {
    let mut thread = Thread::new(vec![says("Hello.")]);
    thread.limits.spend = SpendLimit::Unlimited;
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.cost, Nanos::new(110_000));
}

#[tokio::test]
async fn a_free_provider_runs_under_a_limit_of_nothing() {
    let mut thread = Thread::new(vec![says("Hello.")]);
    thread.info.prices = Some(Prices::free());
    thread.limits.spend = at_most(0);
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed);
}

/// What a failed request cost: nothing where the provider did no work, what it says, and otherwise the worst.
#[tokio::test]
async fn a_failed_request_is_settled_too() {
    for &class in ProviderErrorClass::ALL {
        let driven = Thread::new(fails_for_good(class)).drive().await;
        driven.check_consistent();
        let reserved = |event| {
            let reservation = |payload: Value| payload["reserved_nanos"].as_u64().unwrap();
            driven.payloads(event).into_iter().map(reservation).sum::<u64>()
        };
        let reserved = reserved("step_start") + reserved("request_retried");
        let expected = if class.may_have_cost() { reserved } else { 0 };
        assert_eq!(driven.spent(), (expected, 0), "{class}");
    }
    let turn = again(ProviderErrorClass::Server, fails(ProviderErrorClass::RateLimited));
    let driven = Thread::new(vec![turn]).drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert_eq!(driven.spent(), (reserved, 0));
    let error = ProviderError::new(ProviderErrorClass::Server, "m").with_usage(Usage::new(7, 0));
    let driven = Thread::new(vec![Turn::Fail(error)]).drive().await;
    driven.check_consistent();
    assert_eq!(driven.spent(), (7_000, 0));
}

/// Two attempts that the provider may charge for, one that it refused, and the answer.
#[tokio::test]
async fn each_attempt_that_may_be_billed_has_a_reservation_of_its_own() {
    use ProviderErrorClass::{RateLimited, Server, Timeout};
    let turn = again(Server, again(RateLimited, again(Timeout, says("Hello."))));
    let driven = Thread::new(vec![turn]).drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    let told: Vec<(Value, Value, Value)> = driven
        .payloads("request_retried")
        .into_iter()
        .map(|retried| {
            (
                retried["class"].clone(),
                retried["cost_nanos"].clone(),
                retried["wait_millis"].clone(),
            )
        })
        .collect();
    let row = |class: &str, cost: u64| (json!(class), json!(cost), json!(6_000));
    assert_eq!(told, [row("server", reserved), row("rate_limited", 0), row("timeout", reserved)]);
    assert_eq!(driven.spent(), (2 * reserved + 110_000, 0));
    assert_eq!(driven.outcome.state, ThreadState::Completed);
}

/// The money for the second attempt is not there, so that it is never sent.
#[tokio::test]
async fn an_attempt_that_cannot_be_paid_is_not_made() {
    let mut thread = Thread::new(vec![again(ProviderErrorClass::Server, says("Never sent."))]);
    thread.limits.spend = at_most(8_000_000);
    let driven = thread.drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    assert!(4_000_000 < reserved, "{reserved}: two do not fit");
    assert_eq!((driven.spent(), driven.left), ((reserved, 0), 1));
    let failure = driven.outcome.failure.clone().unwrap();
    assert!(matches!(failure.kind, FailureKind::Limit(_)), "{failure:?}");
    let spent = Nanos::new(reserved);
    let told = format!(
        "the provider failed; another attempt is not paid for; {spent} counts as spent, because the provider may charge for it: \
         limit `spend` reached: the next request may bring the cost to {} of 0.008 USD",
        Nanos::new(2 * reserved)
    );
    assert_eq!(failure.message, told);
    let failed = driven.payloads("request_failed");
    assert_eq!((failed.len(), &failed[0]["cost_nanos"]), (1, &json!(reserved)));
}

/// An answer that would have completed the thread.
#[tokio::test]
async fn a_charge_beyond_the_reservation_ends_the_thread_with_the_sum() {
    let Turn::Reply(mut reply) = says("Dear.") else { panic!("a reply") };
    reply.usage = Usage::new(100, 50_000);
    let mut thread = Thread::new(vec![Turn::Reply(reply)]);
    thread.limits.spend = at_most(1_000_000_000);
    let driven = thread.drive().await;
    driven.check_consistent();
    let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
    let failure = driven.outcome.failure.clone().unwrap();
    let told = format!(
        "limit `spend` reached: the answer cost 0.0501 USD, which is {} more than the {} that was reserved for it; check the \
         prices and `max_output` of the model in the provider's file",
        Nanos::new(50_100_000 - reserved),
        Nanos::new(reserved)
    );
    assert_eq!(failure.message, told);
    let FailureKind::Limit(hit) = failure.kind else { panic!("{failure:?}") };
    assert_eq!((hit.limit, hit.value, hit.maximum), (Limit::Spend, 50_100_000, reserved));
    assert_eq!((driven.outcome.state, driven.outcome.text.as_str()), (ThreadState::Error, "Dear."));
    assert_eq!(driven.replayed.unwrap().divergence, None);
}

/// The message of an error says what a request without an answer counts as.
#[tokio::test]
async fn a_request_without_an_answer_is_explained() {
    for class in [ProviderErrorClass::Server, ProviderErrorClass::RateLimited] {
        let driven = Thread::new(vec![fails(class)]).drive().await;
        let failed = driven.payloads("request_failed").remove(0);
        let cost = Nanos::new(failed["cost_nanos"].as_u64().unwrap());
        let why = match class.may_have_cost() {
            true => format!("; {cost} counts as spent, because the provider may charge for it"),
            false => String::new(),
        };
        assert_eq!(failed["class"], class.as_str());
        assert_eq!(failed["message"], "the provider failed");
        assert_eq!(driven.outcome.failure.unwrap().message, format!("the provider failed{why}"));
    }
}

#[tokio::test]
async fn a_charge_beyond_the_bound_is_told() {
    let mut thread = Thread::new(vec![]);
    thread.limits.spend = at_most(10_000_000);
    let Turn::Reply(mut reply) = calls(vec![call("1", "x", json!({}))]) else { panic!("a reply") };
    reply.usage = Usage::new(100, 50_000);
    thread.script = vec![Turn::Reply(reply)];
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.cost, Nanos::new(50_100_000));
    assert!(driven.failure().starts_with("Limit(LimitHit { limit: Spend"), "{}", driven.failure());
}
