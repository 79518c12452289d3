use super::*;

/// Runs with a saved and restored copy beside them after every input.
#[test]
fn a_restored_run_goes_on_as_the_saved_one() {
    let mut run = run(required());
    let mut seen = vec![restored(&run)];
    exchange(
        &mut run,
        reply(
            "Let me see.\n",
            vec![tool("1"), ToolCall::unreadable("2", "t", "cut")],
            StopReason::ToolUse,
        ),
    );
    seen.push(restored(&run));
    let failed = Returned::refusal(
        ToolResult::error(&ToolCall::unreadable("2", "t", "cut"), json!(1.5e300)),
        refusal(),
    );
    run.tools_returned(vec![ok("1"), failed]).unwrap();
    seen.push(restored(&run));
    exchange(&mut run, text("Enough."));
    seen.push(restored(&run));
    exchange(&mut run, calls(vec![direct_return("3", json!({"score": 1}))]));
    run.tools_returned(Vec::new()).unwrap();
    seen.push(restored(&run));
    let phases: Vec<String> = seen.iter_mut().map(|run| phase(&run.step(START))).collect();
    assert_eq!(
        phases,
        [
            "call model",
            "call 2 tools, 0 returns",
            "call model",
            "call model",
            r#"completed: {"score":1} "Enough.""#
        ]
    );
}

#[track_caller]
fn restored(run: &Run) -> Run {
    let text = run.to_json();
    let restored = Run::from_json(&text).unwrap();
    assert_eq!(restored.to_json(), text);
    restored
}

#[test]
fn every_end_is_restored() {
    let hit =
        FailureKind::Limit(crate::LimitHit { limit: crate::Limit::Spend, value: 2, maximum: 1 });
    for kind in [hit, FailureKind::Provider(ProviderErrorClass::Auth), FailureKind::Unpriced] {
        let mut run = run(OutputContract::default());
        run.limits.spend = SpendLimit::Unlimited;
        run.fail(Failure::new(kind, "m")).unwrap();
        let expected = phase(&run.step(START));
        assert_eq!(phase(&restored(&run).step(START)), expected);
    }
    let mut run = run(OutputContract::default());
    run.cancel().unwrap();
    assert_eq!(phase(&restored(&run).step(START)), "cancelled");
}

#[test]
fn the_raw_answer_is_kept_to_the_byte() {
    let raw = "[ {\"type\":\"thinking\", \"signature\":\"\\u00e9/+==\",\"n\":1.0e5},\n {\"z\":1,\"a\":2} ]";
    let mut run = run(OutputContract::default());
    exchange(
        &mut run,
        Reply::new(RawValue::from_string(raw.to_owned()).unwrap(), StopReason::Pause),
    );
    let run = restored(&run);
    let Some(Message::Assistant { reply }) = run.messages().last() else { panic!("no reply") };
    assert_eq!(reply.raw().get(), raw.replace('\n', " "));
}

proptest::proptest! {
    /// A saved history is sent with the same bytes, for any tool result.
    #[test]
    fn every_number_of_a_result_is_kept(number in proptest::num::f64::NORMAL, text in ".*") {
        let mut run = run(OutputContract::default());
        exchange(&mut run, calls(vec![tool("1")]));
        let content = json!({"number": number, "text": text, "of": [number / 3.0, {"n": number * 1e-7}]});
        run.tools_returned(vec![Returned::ran(ToolResult::ok(&tool("1"), content.clone()))]).unwrap();
        let run = restored(&run);
        let Some(Message::ToolResults { results }) = run.messages().last() else { panic!("no result") };
        proptest::prop_assert_eq!(results[0].content.to_string(), content.to_string());
    }
}

/// A list in a list, and so on.
fn nested(levels: usize) -> serde_json::Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

proptest::proptest! {
    /// Any nesting of a model's or tool's value can be saved and read again.
    #[test]
    fn whatever_is_saved_is_read(asked in 0..200_usize, given in 0..200_usize, fails in proptest::bool::ANY) {
        let mut run = run(OutputContract::default());
        let call = crate::ToolCall::new("1", "t", json!({"a": nested(asked)}));
        proptest::prop_assert_eq!(call.arguments.is_ok(), asked < 64);
        exchange(&mut run, calls(vec![call.clone()]));
        let content = nested(given);
        let result = if fails { ToolResult::error(&call, content) } else { ToolResult::ok(&call, content) };
        proptest::prop_assert_eq!(result.is_error, fails || 64 < given);
        run.tools_returned(vec![Returned::ran(result)]).unwrap();
        restored(&run);
    }
}

#[test]
fn what_is_no_saved_run_is_refused() {
    let saved = run(OutputContract::default()).to_json();
    let rows = [
        ("", "saved run cannot be read; start the directive again"),
        ("{}", "saved run cannot be read; start the directive again"),
        (
            r#"{"format": "rye-thread", "version": 1}"#,
            "`rye-thread` is not the format of a saved run, which is `rye-run`",
        ),
        (
            r#"{"format": "rye-run", "version": 3}"#,
            "saved run has version 3 and this program reads versions 1 and 2; use the program that saved it",
        ),
    ];
    for (text, message) in rows {
        assert_eq!(Run::from_json(text).unwrap_err().to_string(), message);
    }
    let unknown = saved.replace("\"turns\":0", "\"turns\":0,\"trust_me\":true");
    assert_ne!(unknown, saved);
    let error = Run::from_json(&unknown).unwrap_err();
    assert_eq!(error.to_string(), "saved run cannot be read; start the directive again");
    let text = required_saved().replace("\"integer\"", "\"int\"");
    assert_eq!(
        Run::from_json(&text).unwrap_err().to_string(),
        "saved run contradicts itself: `int` is not a type of output; use `any`, `array`, `boolean`, `integer`, \
         `number`, `object` or `string`; start the directive again"
    );
}

fn required_saved() -> String {
    run(required()).to_json()
}
