//! Outputs: how they are returned, asked for and refused.

use super::*;

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
