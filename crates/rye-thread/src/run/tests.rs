use std::time::Duration;

use rye_types::{Limit, LimitHit, ValueType};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::{Counted, DIRECTIVE_RETURN, OutputField, ProviderErrorClass, StopReason, ToolCall};

mod failing;
mod hooked;
mod measuring;
mod replying;
mod returning;
mod transitions;

const START: Duration = Duration::ZERO;

/// Returns all that a run holds, for comparisons.
fn shown(run: &Run) -> String {
    format!("{run:?}")
}

fn run(contract: OutputContract) -> Run {
    let opening =
        Opening { system: Some("Be brief.".to_owned()), first_user_message: "Go.".to_owned() };
    Run::new(
        opening,
        vec![ToolSpec::new("t", "Tool.", json!({"type": "object"}))],
        contract,
        LimitSet::default(),
        500,
    )
}

fn required() -> OutputContract {
    OutputContract::new(vec![OutputField::required("score", ValueType::Integer)]).unwrap()
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
    let capability = "rye.execute.tool.t";
    let message = "`rye.execute.tool.t` is not allowed";
    Refusal::new(capability, "the directive `d`", Some(capability), message)
}
