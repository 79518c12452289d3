//! The transitions that hooks have, one row each: which state takes which input, where it leads, and what it leaves.

use super::*;
use crate::ProviderErrorClass;

type Input = fn(&mut Run) -> Result<(), OutOfTurn>;

const INPUTS: [(&str, Input); 5] = [
    ("inject", |run| run.inject("Be careful.")),
    ("hand_over", Run::hand_over),
    ("retry", Run::retry),
    ("extend", Run::extend),
    ("abort", Run::abort),
];

fn failed(kind: FailureKind) -> Run {
    let mut run = run(OutputContract::default());
    run.fail(Failure::new(kind, "no")).unwrap();
    run
}

fn calling() -> Run {
    let mut run = run(OutputContract::default());
    let _request = run.step(Duration::ZERO);
    run.model_replied(calls(vec![tool("a")]), Nanos::ZERO).unwrap();
    run
}

/// Each state with what it takes, in the order of [`INPUTS`], and the state that follows; empty where it is refused.
fn rows() -> Vec<(&'static str, Run, [&'static str; 5])> {
    let provider = |class| failed(FailureKind::Provider(class));
    let limit =
        |limit| failed(FailureKind::Limit(crate::LimitHit { limit, value: 10, maximum: 10 }));
    let mut in_calls = calling();
    in_calls.fail(Failure::new(FailureKind::CutOff, "no")).unwrap();
    let mut asked = run(OutputContract::default());
    let _request = asked.step(Duration::ZERO);
    let mut cancelled = run(OutputContract::default());
    cancelled.cancel().unwrap();
    let too_long = ProviderErrorClass::ContextTooLong;
    vec![
        ("ready", run(OutputContract::default()), ["ready", "done", "", "", ""]),
        ("asked", asked, ["", "", "", "", ""]),
        ("calling", calling(), ["", "", "", "", ""]),
        ("cancelled", cancelled, ["", "", "", "", ""]),
        ("server", provider(ProviderErrorClass::Server), ["", "", "ready", "", "done"]),
        ("money there", provider(ProviderErrorClass::SpendLimit), ["", "", "", "", "done"]),
        ("too long", provider(too_long), ["", "done", "ready", "", "done"]),
        ("in calls", in_calls, ["", "", "calling", "", "done"]),
        ("storage", failed(FailureKind::Storage), ["", "", "", "", "done"]),
        ("turns", limit(crate::Limit::Turns), ["", "", "", "ready", "done"]),
        ("tokens", limit(crate::Limit::Tokens), ["", "", "", "ready", "done"]),
        ("duration", limit(crate::Limit::Duration), ["", "", "", "ready", "done"]),
        ("spend", limit(crate::Limit::Spend), ["", "", "", "", "done"]),
    ]
}

#[test]
fn each_leads_where_its_row_says_and_no_other_does_anything() {
    for (name, state, expected) in rows() {
        for ((input, give), expected) in INPUTS.into_iter().zip(expected) {
            let mut run = state.clone();
            let taken = give(&mut run);
            assert_eq!(taken.is_ok(), !expected.is_empty(), "{name}: {input}");
            let restored = Run::from_json(&run.to_json()).unwrap();
            assert_eq!(restored.to_json(), run.to_json(), "{name}: {input}");
            match expected {
                "" => assert_eq!(run.to_json(), state.to_json(), "{name}: {input}"),
                expected => assert_eq!(run.phase.name(), expected, "{name}: {input}"),
            }
        }
    }
}

#[test]
fn a_retry_counts_as_a_turn_and_an_extended_limit_is_longer() {
    let mut run = failed(FailureKind::Provider(ProviderErrorClass::Server));
    run.retry().unwrap();
    assert_eq!((run.retries(), run.turns()), (1, 0));
    let most = run.limits().turns;
    for _ in 1..most {
        run.fail(Failure::new(FailureKind::Provider(ProviderErrorClass::Server), "no")).unwrap();
        run.retry().unwrap();
    }
    let Step::Done(End::Failed(failure)) = run.step(Duration::ZERO) else { panic!("a limit") };
    assert!(matches!(failure.kind, FailureKind::Limit(_)), "{failure}");
    run.extend().unwrap();
    assert_eq!(run.limits().turns, 2 * most);
    assert!(matches!(run.step(Duration::ZERO), Step::CallModel(_)));
}

#[test]
fn a_run_of_version_1_is_read() {
    let run = calling();
    let mut saved: Value = serde_json::from_str(&run.to_json()).unwrap();
    saved["version"] = 1.into();
    for member in ["retries", "failed_in"] {
        saved.as_object_mut().unwrap().remove(member);
    }
    assert_eq!(Run::from_json(&saved.to_string()).unwrap().to_json(), run.to_json());
}
