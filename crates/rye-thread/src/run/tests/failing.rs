//! Early ends of a run, and the failures that they report.

use super::*;

#[test]
fn limits_are_checked_before_every_request() {
    let mut run = run(OutputContract::default());
    run.limits.turns = 2;
    for id in ["1", "2"] {
        exchange(&mut run, calls(vec![tool(id)]));
        run.tools_returned(vec![ok(id)]).unwrap();
    }
    assert!(phase(&run.step(START)).ends_with("limit `turns` reached: 2 of 2"));

    let mut run = self::run(OutputContract::default());
    run.limits.tokens = 110;
    exchange(&mut run, calls(vec![tool("1")]));
    run.tools_returned(vec![ok("1")]).unwrap();
    assert!(phase(&run.step(START)).ends_with("limit `tokens` reached: 110 of 110"));

    let mut run = self::run(OutputContract::default());
    assert_eq!(phase(&run.step(Duration::from_secs(599))), "call model");
    assert!(
        phase(&run.step(Duration::from_secs(600)))
            .ends_with("limit `duration_seconds` reached: 600 of 600")
    );
    assert!(phase(&run.step(START)).ends_with("limit `duration_seconds` reached: 600 of 600"));
}

#[test]
fn an_answer_has_no_more_room_than_the_limit_leaves() {
    let mut run = run(OutputContract::default());
    run.limits.tokens = 300;
    let Step::CallModel(request) = run.step(START) else { panic!("not asked") };
    assert_eq!(request.max_output_tokens, 300);
    run.model_replied(calls(vec![tool("1")]), Nanos::ZERO).unwrap();
    run.tools_returned(vec![ok("1")]).unwrap();
    let Step::CallModel(request) = run.step(START) else { panic!("not asked") };
    assert_eq!(request.max_output_tokens, 190);
}

#[test]
fn what_comes_out_of_turn_changes_nothing() {
    let mut run = run(OutputContract::default());
    let before = shown(&run);
    assert_eq!(
        run.model_replied(text("?"), Nanos::ZERO).unwrap_err().to_string(),
        "a reply came while the run was `ready`; do what `step` says and report that"
    );
    assert_eq!(
        run.tools_returned(Vec::new()).unwrap_err().to_string(),
        "tool results came while the run was `ready`; do what `step` says and report that"
    );
    assert_eq!(shown(&run), before);

    exchange(&mut run, calls(vec![tool("1"), tool("2")]));
    let before = shown(&run);
    assert_eq!(
        run.model_replied(text("?"), Nanos::ZERO).unwrap_err().to_string(),
        "a reply came while the run was `calling`; do what `step` says and report that"
    );
    assert_eq!(
        run.tools_returned(vec![ok("2"), ok("1")]).unwrap_err().to_string(),
        "results for `2`, `1` came where `1`, `2` were called; report one result per call, in order"
    );
    assert_eq!(shown(&run), before);

    run.cancel().unwrap();
    let before = shown(&run);
    let rows = [
        run.cancel().unwrap_err().to_string(),
        run.fail(Failure::new(FailureKind::Storage, "x")).unwrap_err().to_string(),
        run.model_replied(text("?"), Nanos::ZERO).unwrap_err().to_string(),
    ];
    assert_eq!(
        rows,
        ["a cancellation", "a failure", "a reply"].map(|input| {
            format!("{input} came while the run was `done`; do what `step` says and report that")
        })
    );
    assert_eq!(shown(&run), before);
    assert_eq!(phase(&run.step(START)), "cancelled");
}

#[track_caller]
fn check_blame(kind: FailureKind, expected: &FailureKind, message: &str) {
    let mut run = run(required());
    exchange(&mut run, calls(vec![tool("1")]));
    let refused = Returned::refusal(ToolResult::error(&tool("1"), json!("no")), refusal());
    run.tools_returned(vec![refused]).unwrap();
    run.fail(Failure::new(kind, "it ended")).unwrap();
    let Step::Done(End::Failed(failure)) = run.step(START) else { panic!("not failed") };
    assert_eq!((&failure.kind, failure.message.as_str()), (expected, message));
}

#[test]
fn a_failure_that_quotes_the_refusal_says_it_once() {
    let mut run = run(required());
    exchange(&mut run, calls(vec![tool("1")]));
    let refused = Returned::refusal(ToolResult::error(&tool("1"), json!("no")), refusal());
    run.tools_returned(vec![refused]).unwrap();
    let quoting = format!("the step failed: {}", refusal().message);
    let kind = FailureKind::Provider(ProviderErrorClass::StepFailed);
    run.fail(Failure::new(kind, &quoting)).unwrap();
    let Step::Done(End::Failed(failure)) = run.step(START) else { panic!("not failed") };
    assert_eq!((failure.kind, failure.message), (FailureKind::Refused, quoting));
}

#[test]
fn a_failure_that_may_follow_from_a_refusal_is_one() {
    let both = "`rye.execute.tool.t` is not allowed; then: it ended";
    check_blame(FailureKind::MissingOutputs, &FailureKind::Refused, both);
    check_blame(FailureKind::Provider(ProviderErrorClass::StepFailed), &FailureKind::Refused, both);
    check_blame(FailureKind::Storage, &FailureKind::Storage, "it ended");
    let network = FailureKind::Provider(ProviderErrorClass::Network);
    check_blame(network.clone(), &network, "it ended");
    // A limit stays a limit, so that no hook treats it as a failure that a retry could mend.
    let limit = FailureKind::Limit(LimitHit::new(Limit::Turns, 1, 1));
    let limit_first =
        "it ended; the last call before it was refused: `rye.execute.tool.t` is not allowed";
    check_blame(limit.clone(), &limit, limit_first);
    assert!(!limit.may_be_retried());
}

/// A refusal that a later call got over causes neither the limit nor the missing outputs that come long after it.
#[test]
fn a_refusal_that_was_survived_is_not_blamed() {
    let limit = FailureKind::Limit(LimitHit::new(Limit::Turns, 1, 1));
    for kind in [limit, FailureKind::MissingOutputs] {
        let mut run = run(required());
        exchange(&mut run, calls(vec![tool("1")]));
        let refused = Returned::refusal(ToolResult::error(&tool("1"), json!("no")), refusal());
        run.tools_returned(vec![refused]).unwrap();
        exchange(&mut run, calls(vec![tool("2")]));
        // Also by one that failed for another reason.
        let result = ToolResult::error(&tool("2"), json!("no such file"));
        run.tools_returned(vec![Returned::ran(result)]).unwrap();
        run.fail(Failure::new(kind.clone(), "it ended")).unwrap();
        let Step::Done(End::Failed(failure)) = run.step(START) else { panic!("not failed") };
        assert_eq!((failure.kind, failure.message.as_str()), (kind, "it ended"));
    }
}

#[test]
fn a_refusal_that_the_model_got_over_is_no_failure() {
    let mut run = run(OutputContract::default());
    exchange(&mut run, calls(vec![tool("1")]));
    let refused = Returned::refusal(ToolResult::error(&tool("1"), json!("no")), refusal());
    run.tools_returned(vec![refused]).unwrap();
    exchange(&mut run, text("Then not."));
    assert_eq!(phase(&run.step(START)), r#"completed: null "Then not.""#);
    assert_eq!(run.refusals(), [refusal()]);
}
