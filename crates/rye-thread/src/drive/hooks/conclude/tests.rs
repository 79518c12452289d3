//! Which effects can be had at which event, one row each.

use rye_types::{Limit, LimitHit, LimitSet};

use super::*;
use crate::{Opening, OutputContract};

/// What can be had while the thread goes on, and what once it has failed.
struct Row {
    event: HookEvent,
    goes_on: &'static str,
    has_failed: &'static str,
}

/// Rows by the event's name. An event without a row fails.
macro_rules! rows {
    ($($event:ident: $goes_on:literal, $has_failed:literal;)*) => {
        const ROWS: &[Row] = &[$(
            Row { event: HookEvent::$event, goes_on: $goes_on, has_failed: $has_failed }
        ),*];
    };
}

rows! {
    ThreadStarted: "", "";
    ThreadContinued: "", "";
    AfterStep: "abort continue escalate fail", "abort continue escalate fail";
    Limit: "abort escalate fail", "abort escalate fail";
    Error: "abort continue escalate fail", "abort escalate fail retry";
    DirectiveReturn: "abort continue escalate fail retry", "abort continue escalate fail retry";
    AfterComplete: "", "";
    ContextLimitReached: "abort continue fail", "abort continue fail";
}

fn run() -> Run {
    let opening = Opening { system: None, first_user_message: "Go.".to_owned() };
    Run::new(opening, Vec::new(), OutputContract::default(), LimitSet::default(), 100)
}

fn had(event: HookEvent, failure: &Failure, is_final: bool, run: &Run) -> String {
    let can = |effect: &HookEffect| {
        let triggered = Triggered {
            evaluation: 1,
            event,
            hook: "h".to_owned(),
            declared_by: "a test".to_owned(),
            layer: 1,
            effect: Some(*effect),
            failure: Some(failure.clone()),
            is_final,
            data: Value::Null,
        };
        Frame::new(triggered).decides(run)
    };
    let had = HookEffect::ALL.iter().copied().filter(can);
    let mut had: Vec<&str> = had.map(HookEffect::as_str).collect();
    had.sort_unstable();
    had.join(" ")
}

fn of(event: HookEvent) -> Failure {
    let kind = match event {
        HookEvent::Limit => FailureKind::Limit(LimitHit::new(Limit::Turns, 1, 1)),
        _ => FailureKind::CutOff,
    };
    Failure::new(kind, "no")
}

#[test]
fn each_event_has_its_effects() {
    assert!(ROWS.iter().map(|row| row.event).eq(HookEvent::of_threads()));
    for Row { event, goes_on, has_failed } in ROWS {
        let failure = of(*event);
        let mut run = run();
        assert_eq!(had(*event, &failure, false, &run), *goes_on, "{event}");
        run.fail(failure.clone()).unwrap();
        assert_eq!(had(*event, &failure, true, &run), *has_failed, "{event}");
    }
}

/// Nobody raises the limit on money, and asking again mends not every failure.
#[test]
fn what_cannot_be_had_is_passed_over() {
    for &limit in Limit::ALL {
        let hit = LimitHit::new(limit, 1, 1);
        let failure = Failure::new(FailureKind::Limit(hit), "no");
        let expected = if limit == Limit::Spend { "abort fail" } else { "abort escalate fail" };
        assert_eq!(had(HookEvent::Limit, &failure, true, &run()), expected, "{limit}");
    }
    let failure = Failure::new(FailureKind::Storage, "no");
    let mut run = run();
    run.fail(failure.clone()).unwrap();
    assert_eq!(had(HookEvent::Error, &failure, true, &run), "abort fail");
}
