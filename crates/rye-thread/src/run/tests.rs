use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::{
    Counted, DIRECTIVE_RETURN, Limit, LimitHit, OutputField, OutputType, ProviderErrorClass,
    SpendLimit, StopReason,
};

mod hooked;
mod saving;
mod transitions;

const START: Duration = Duration::ZERO;

fn run(contract: OutputContract) -> Run {
    let opening =
        Opening { system: Some("Be brief.".to_owned()), first_user_message: "Go.".to_owned() };
    Run::new(
        opening,
        vec![ToolSpec::new("t", "Tool.", json!({"type": "object"}))],
        contract,
        Limits::default(),
        500,
    )
}

fn required() -> OutputContract {
    OutputContract::new(vec![OutputField::required("score", OutputType::Integer)]).unwrap()
}

fn reply(text: &str, calls: Vec<ToolCall>, stop: StopReason) -> Reply {
    let raw = RawValue::from_string(json!([{"type": "text", "text": text}]).to_string()).unwrap();
    let mut reply = Reply::new(raw, stop);
    text.clone_into(&mut reply.text);
    reply.calls = calls;
    reply.usage = Usage::new(100, 10);
    reply
}

fn text(text: &str) -> Reply {
    reply(text, Vec::new(), StopReason::EndTurn)
}

fn calls(calls: Vec<ToolCall>) -> Reply {
    reply("", calls, StopReason::ToolUse)
}

fn tool(id: &str) -> ToolCall {
    ToolCall::new(id, "t", json!({}))
}

fn direct_return(id: &str, outputs: Value) -> ToolCall {
    ToolCall::new(id, "rye_agent_threads_directive_return", outputs)
}

fn return_by_execute(id: &str, outputs: &Value) -> ToolCall {
    let arguments =
        json!({"item_type": "tool", "item_id": DIRECTIVE_RETURN, "parameters": outputs});
    ToolCall::new(id, "rye_execute", arguments)
}

/// Asks and answers.
#[track_caller]
fn exchange(run: &mut Run, reply: Reply) {
    assert_eq!(phase(&run.step(START)), "call model");
    run.model_replied(reply, Nanos::new(7)).unwrap();
}

fn phase(step: &Step) -> String {
    match step {
        Step::AskApproval { index, call } => format!("ask approval of {} at {index}", call.id),
        Step::CallModel(_) => "call model".to_owned(),
        Step::CallTools { calls, returns } => {
            format!("call {} tools, {} returns", calls.len(), returns.len())
        }
        Step::Done(End::Cancelled) => "cancelled".to_owned(),
        Step::Done(End::Completed { outputs, text }) => {
            format!("completed: {} {text:?}", json!(outputs))
        }
        Step::Done(End::Continued) => "continued".to_owned(),
        Step::Done(End::Failed(failure)) => format!("failed: {:?}: {failure}", failure.kind),
    }
}

fn ok(id: &str) -> Returned {
    Returned::ran(ToolResult::ok(&tool(id), json!("done")))
}

fn refusal() -> Refusal {
    Refusal {
        capability: "rye.execute.tool.t".to_owned(),
        layer: "the directive `d`".to_owned(),
        pattern: Some("rye.execute.tool.t".to_owned()),
        message: "`rye.execute.tool.t` is not allowed".to_owned(),
    }
}

#[track_caller]
fn check_reply(contract: OutputContract, reply: Reply, expected: &str) {
    let mut run = run(contract);
    exchange(&mut run, reply);
    assert_eq!(phase(&run.step(START)), expected);
}

#[test]
fn text_completes_where_nothing_is_required() {
    check_reply(OutputContract::default(), text("Hi."), r#"completed: null "Hi.""#);
    let optional = OutputContract::new(vec![OutputField::optional("x", OutputType::Any)]).unwrap();
    check_reply(optional, text("Hi."), r#"completed: null "Hi.""#);
}

#[test]
fn a_reply_with_calls_leads_to_tools() {
    check_reply(
        OutputContract::default(),
        calls(vec![tool("1"), tool("2")]),
        "call 2 tools, 0 returns",
    );
    check_reply(
        required(),
        calls(vec![direct_return("1", json!({})), tool("2"), return_by_execute("3", &json!({}))]),
        "call 1 tools, 2 returns",
    );
}

#[test]
fn a_pause_asks_again() {
    check_reply(required(), reply("So far", Vec::new(), StopReason::Pause), "call model");
}

#[test]
fn a_cut_answer_is_no_answer() {
    check_reply(
        OutputContract::default(),
        reply("Once upon", Vec::new(), StopReason::MaxTokens),
        "failed: CutOff: the answer reached the most tokens it may have and is cut; raise the limits or ask for less",
    );
    check_reply(
        OutputContract::default(),
        reply("Once upon", Vec::new(), StopReason::Other("recitation".to_owned())),
        "failed: CutOff: the model stopped for `recitation`, so its answer may not be whole; run it again",
    );
}

#[test]
fn a_cut_answer_runs_no_call() {
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::MaxTokens),
        "failed: CutOff: the answer reached the most tokens it may have and is cut; raise the limits or ask for less",
    );
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::ContextWindow),
        "failed: Provider(ContextTooLong): the conversation no longer fits the model's context window; ask for less or use a larger model",
    );
}

#[test]
fn an_answer_that_stopped_for_an_unknown_reason_runs_no_call() {
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::Other("malformed_function_call".to_owned())),
        "failed: CutOff: the model stopped for `malformed_function_call`, so its answer may not be whole; run it again",
    );
}

#[test]
fn a_stop_for_calls_without_a_call_is_no_end() {
    check_reply(
        OutputContract::default(),
        reply("Half", Vec::new(), StopReason::ToolUse),
        "failed: CutOff: the model stopped to call tools and its answer has no call; run it again",
    );
}

#[test]
fn a_refusal_runs_no_call() {
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::Refusal),
        "failed: Provider(ContentRefused): the model refused to answer for the content",
    );
}

#[test]
fn a_full_context_window_fails() {
    check_reply(
        OutputContract::default(),
        reply("", Vec::new(), StopReason::ContextWindow),
        "failed: Provider(ContextTooLong): the conversation no longer fits the model's context window; ask for less or use a larger model",
    );
}

#[test]
fn missing_outputs_are_asked_for_once() {
    let mut run = run(required());
    exchange(&mut run, text("I am done."));
    let Step::CallModel(request) = run.step(START) else { panic!("not asked again") };
    let Some(Message::User { text: reminder }) = request.messages.last() else {
        panic!("no reminder")
    };
    assert_eq!(
        reminder,
        "The directive is not finished until its outputs are returned. Call `rye_agent_threads_directive_return` now \
         with: `score` (integer, required)."
    );
    run.model_replied(text("Really."), Nanos::ZERO).unwrap();
    assert_eq!(
        phase(&run.step(START)),
        "failed: MissingOutputs: the model did not call `directive_return`, even when asked; it must return `score` \
         (integer, required)"
    );
}

#[test]
fn the_reminder_is_not_repeated_after_tools() {
    let mut run = run(required());
    exchange(&mut run, text("I am done."));
    exchange(&mut run, calls(vec![tool("1")]));
    run.tools_returned(vec![ok("1")]).unwrap();
    exchange(&mut run, text("Now I am."));
    assert!(phase(&run.step(START)).starts_with("failed: MissingOutputs"));
}

#[track_caller]
fn check_return(contract: OutputContract, call: ToolCall, own: Value, then: &str) {
    let mut run = run(contract);
    exchange(&mut run, calls(vec![call]));
    let results = run.tools_returned(Vec::new()).unwrap();
    assert_eq!(results.iter().map(|result| result.content.clone()).collect::<Vec<_>>(), [own]);
    assert_eq!(phase(&run.step(START)), then);
}

#[test]
fn outputs_come_by_name_or_through_execute() {
    let outputs = json!({"score": 7});
    let done = r#"completed: {"score":7} """#;
    check_return(required(), direct_return("1", outputs.clone()), json!({"accepted": true}), done);
    check_return(required(), return_by_execute("1", &outputs), json!({"accepted": true}), done);
}

#[test]
fn wrong_outputs_are_an_error_that_the_model_reads() {
    let own = json!({"accepted": false, "problems": [
        "`score` must be integer, not string",
        "`note` is not an output; the outputs are `score`",
    ]});
    let outputs = json!({"score": "7", "note": ""});
    check_return(required(), direct_return("1", outputs.clone()), own.clone(), "call model");
    check_return(required(), return_by_execute("1", &outputs), own, "call model");
}

#[test]
fn unreadable_outputs_are_an_error_that_the_model_reads() {
    let call = ToolCall::unreadable("1", "rye_agent_threads_directive_return", "EOF at column 9");
    let own = json!({"accepted": false, "problems": ["the arguments are not readable JSON: EOF at column 9"]});
    check_return(required(), call, own, "call model");
    let arguments = json!({"item_id": DIRECTIVE_RETURN, "parameters": {"score": 1}});
    let own = json!({"accepted": false, "problems": [
        "`item_type` must be `tool`, the only kind of item that this thread can execute",
    ]});
    check_return(required(), ToolCall::new("1", "rye_execute", arguments), own, "call model");
}

#[test]
fn nothing_is_returned_where_nothing_is_declared() {
    let own = json!({"accepted": false, "problems": ["this directive declares no outputs; end with text instead"]});
    check_return(OutputContract::default(), direct_return("1", json!({})), own, "call model");
}

#[test]
fn outputs_beside_a_call_that_failed_are_not_accepted() {
    let mut run = run(required());
    exchange(&mut run, calls(vec![direct_return("r", json!({"score": 1})), tool("1")]));
    let failed = Returned::ran(ToolResult::error(&tool("1"), json!("no")));
    let own = run.tools_returned(vec![failed]).unwrap();
    assert_eq!(
        own.first().map(|result| result.content.clone()),
        Some(json!({"accepted": false, "problems": [
            "another call of the same turn failed; read its result, then return the outputs again",
        ]}))
    );
    assert_eq!(phase(&run.step(START)), "call model");
}

#[test]
fn results_stand_in_the_order_of_the_calls() {
    let mut run = run(required());
    let first = direct_return("r1", json!({"score": 1}));
    exchange(&mut run, calls(vec![first, tool("1"), direct_return("r2", json!({"score": 2}))]));
    let own = run.tools_returned(vec![ok("1")]).unwrap();
    assert_eq!(own.iter().map(|result| result.is_error).collect::<Vec<_>>(), [false, true]);
    let Some(Message::ToolResults { results }) = run.messages().last() else {
        panic!("no results")
    };
    assert_eq!(
        results.iter().map(|result| result.call_id.as_str()).collect::<Vec<_>>(),
        ["r1", "1", "r2"]
    );
    assert_eq!(phase(&run.step(START)), r#"completed: {"score":1} """#);
}

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
    let before = run.to_json();
    assert_eq!(
        run.model_replied(text("?"), Nanos::ZERO).unwrap_err().to_string(),
        "a reply came while the run was `ready`; do what `step` says and report that"
    );
    assert_eq!(
        run.tools_returned(Vec::new()).unwrap_err().to_string(),
        "tool results came while the run was `ready`; do what `step` says and report that"
    );
    assert_eq!(run.to_json(), before);

    exchange(&mut run, calls(vec![tool("1"), tool("2")]));
    let before = run.to_json();
    assert_eq!(
        run.model_replied(text("?"), Nanos::ZERO).unwrap_err().to_string(),
        "a reply came while the run was `calling`; do what `step` says and report that"
    );
    assert_eq!(
        run.tools_returned(vec![ok("2"), ok("1")]).unwrap_err().to_string(),
        "results for `2`, `1` came where `1`, `2` were called; report one result per call, in order"
    );
    assert_eq!(run.to_json(), before);

    run.cancel().unwrap();
    let before = run.to_json();
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
    assert_eq!(run.to_json(), before);
    assert_eq!(phase(&run.step(START)), "cancelled");
}

#[track_caller]
fn check_blame(kind: FailureKind, expected: &FailureKind, message: &str) {
    let mut run = run(required());
    exchange(&mut run, calls(vec![tool("1")]));
    let refused = Returned::refused(ToolResult::error(&tool("1"), json!("no")), refusal());
    run.tools_returned(vec![refused]).unwrap();
    run.fail(Failure::new(kind, "it ended")).unwrap();
    let Step::Done(End::Failed(failure)) = run.step(START) else { panic!("not failed") };
    assert_eq!((&failure.kind, failure.message.as_str()), (expected, message));
}

#[test]
fn a_failure_that_may_follow_from_a_refusal_is_one() {
    let both = "`rye.execute.tool.t` is not allowed; then: it ended";
    check_blame(FailureKind::MissingOutputs, &FailureKind::Refused, both);
    check_blame(FailureKind::Provider(ProviderErrorClass::StepFailed), &FailureKind::Refused, both);
    check_blame(FailureKind::Storage, &FailureKind::Storage, "it ended");
    let network = FailureKind::Provider(ProviderErrorClass::Network);
    check_blame(network.clone(), &network, "it ended");
    // A limit stays one, so that no hook takes it for what asking again could mend.
    let limit = FailureKind::Limit(LimitHit { limit: Limit::Turns, value: 1, maximum: 1 });
    check_blame(limit.clone(), &limit, both);
    assert!(!limit.may_be_retried());
}

#[test]
fn a_refusal_that_the_model_got_over_is_no_failure() {
    let mut run = run(OutputContract::default());
    exchange(&mut run, calls(vec![tool("1")]));
    let refused = Returned::refused(ToolResult::error(&tool("1"), json!("no")), refusal());
    run.tools_returned(vec![refused]).unwrap();
    exchange(&mut run, text("Then not."));
    assert_eq!(phase(&run.step(START)), r#"completed: null "Then not.""#);
    assert_eq!(run.refusals(), [refusal()]);
}

#[test]
fn the_input_bound_counts_bytes_until_a_provider_counted() {
    let mut run = run(OutputContract::default());
    let first = run.input_bound();
    assert!(2_048 < first, "{first}");
    exchange(&mut run, calls(vec![tool("1")]));
    run.tools_returned(vec![ok("1")]).unwrap();
    let second = run.input_bound();
    assert!(100 < second && second < first, "{second}");
    let Step::CallModel(request) = run.step(START) else { panic!("not asked") };
    let added: usize = request
        .messages
        .iter()
        .skip(1)
        .map(|message| match message {
            Message::Assistant { reply } => reply.raw().get().len(),
            Message::ToolResults { results } => {
                results.iter().map(|result| result.content.to_string().len()).sum()
            }
            Message::User { text } => text.len(),
        })
        .sum();
    assert!(100 + u64::try_from(added).unwrap() <= second);
}

/// A server that counts nothing: the worst case is what its answers may have cost, and says nothing of how full the window is.
#[test]
fn what_nobody_counted_measures_nothing() {
    let uncounted = |name: &str| {
        let mut reply = calls(vec![tool(name)]);
        (reply.usage, reply.counted) = (Usage::new(2_600, 500), Counted::ByNobody);
        reply
    };
    let mut run = run(OutputContract::default());
    for (name, most) in [("1", 700), ("2", 800), ("3", 900)] {
        exchange(&mut run, uncounted(name));
        run.tools_returned(vec![ok(name)]).unwrap();
        let copy = Run::from_json(&run.to_json()).unwrap();
        assert_eq!(copy.context_estimate(), run.context_estimate(), "{name}");
        assert!(run.context_estimate() < most, "{name}: {}", run.context_estimate());
    }
    exchange(&mut run, calls(vec![tool("4")]));
    run.tools_returned(vec![ok("4")]).unwrap();
    let counted = run.context_estimate();
    assert!((110..200).contains(&counted), "a count is one: {counted}");
}
