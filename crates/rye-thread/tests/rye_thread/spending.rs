//! Money: nothing is asked that cannot be paid.

use std::sync::{Arc, Mutex};

use rye_thread::budget::{Ledger, LedgerError, MemoryLedger, SqliteLedger};
use rye_thread::{
    Effect, FailureKind, Limit, Nanos, Prices, ProviderError, ProviderErrorClass, SpendLimit,
    ThreadId, ThreadState, ToolOutput, Usage,
};
use serde_json::{Value, json};

use crate::doubles::{
    Function, Thread, Turn, after, again, call, calls, fails, says, thread_id, tool,
};
use crate::tapped::{Tap, Tapped, Use};

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
    for class in ProviderErrorClass::ALL {
        let driven = Thread::new(vec![fails(class)]).drive().await;
        driven.check_consistent();
        let reserved = driven.payloads("step_start")[0]["reserved_nanos"].as_u64().unwrap();
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

#[tokio::test]
async fn the_ledger_may_be_the_registrys_file() {
    let mut thread = Thread::new(vec![says("Hello.")]);
    let path = thread.place.path().join("registry.db");
    thread.ledger = Arc::new(SqliteLedger::open_file(&path).unwrap());
    let (place, limits) = (Arc::clone(&thread.place), thread.limits.clone());
    let driven = thread.drive().await;
    driven.check_consistent();
    let again = SqliteLedger::open_file(&place.path().join("registry.db")).unwrap();
    assert_eq!(again.open(&thread_id(), limits.spend).unwrap().settled, Nanos::new(110_000));
}

/// As when somebody cancelled the child from elsewhere, while it was about to ask.
#[tokio::test]
async fn an_account_that_was_closed_pays_nothing_more() {
    let mut thread = Thread::new(vec![says("Never asked.")]);
    let parent = ThreadId::new("test/parent", "019a0000-0000-7000-8000-0000000000ff").unwrap();
    let (ledger, spend) = (MemoryLedger::new(), thread.limits.spend);
    ledger.open(&parent, spend).unwrap();
    ledger.open_child(&parent, &thread_id(), spend).unwrap();
    ledger.close_child(&thread_id()).unwrap();
    thread.ledger = Arc::new(ledger);
    let driven = thread.drive().await;
    assert!(driven.failure().starts_with("Limit(LimitHit { limit: Spend"), "{}", driven.failure());
    assert_eq!(driven.requests.len(), 0);
}

/// A ledger that remembers what it was asked.
#[derive(Default)]
struct Asked(MemoryLedger, Mutex<Vec<String>>);

impl Asked {
    fn note(&self, what: &str) {
        self.1.lock().unwrap().push(what.to_owned());
    }
}

impl Tap for Asked {
    fn through<T>(
        &self,
        used: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        match used {
            Use::Reserve { .. } => self.note("reserve"),
            Use::Settle { actual, .. } => self.note(&format!("settle {actual}")),
            Use::Draw { actual, .. } => self.note(&format!("draw {actual}")),
            _ => {}
        }
        act(&self.0)
    }
}

/// Answers that follow each other at once are settled together at the end; slow ones, and whatever somebody may look at
/// while a tool runs, one by one.
#[tokio::test]
async fn the_account_is_told_when_somebody_may_look() {
    let together = ["reserve", "settle 0.00044 USD"];
    let apart = ["draw 0.00011 USD"; 3];
    let rows = [
        ("fast and reading", Effect::ReadOnly, 0, together.to_vec()),
        ("slow", Effect::ReadOnly, 1, [&["reserve"], &apart[..], &["settle 0.00011 USD"]].concat()),
        ("changing", Effect::Once, 0, [&["reserve"], &apart[..], &["settle 0.00011 USD"]].concat()),
    ];
    for (name, effect, seconds, expected) in rows {
        let mut thread = Thread::new(Vec::new());
        let clock = Arc::clone(&thread.clock);
        let slow = |turn| {
            let clock = Arc::clone(&clock);
            after(move || clock.advance(seconds), turn)
        };
        let turn = |id: &str| slow(calls(vec![call(id, "x", json!({}))]));
        thread.script = vec![turn("1"), turn("2"), turn("3"), slow(says("Done."))];
        let function = Function(|_: Value| async { ToolOutput::ok(json!(1)) });
        let mut thread = thread.with(tool("x", effect, function));
        let ledger = Arc::new(Tapped::<Asked>::default());
        thread.ledger = Arc::clone(&ledger) as _;
        let driven = thread.drive().await;
        driven.check_consistent();
        assert_eq!(*ledger.0.1.lock().unwrap(), expected, "{name}");
        assert_eq!(driven.outcome.cost, Nanos::new(440_000), "{name}");
    }
}
