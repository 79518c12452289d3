//! Answers as clients get them: structured, and the same as text for those that read no structure.

use rmcp::model::{CallToolResult, ContentBlock};
use rye_project::primary::Executed;
use rye_thread::{DecidedApproval, ThreadId, ToolStatus};
use rye_types::ThreadState;
use serde_json::{Value, json};

use super::error::RequestError;
use crate::session::{Stands, Waiting, waits_for};

/// A value that answers.
pub(super) fn answer(value: Value) -> CallToolResult {
    tool_result(value, ToolStatus::Ok)
}

/// Returns the answer with the result of an execution.
pub(super) fn execution_result(executed: &Executed) -> CallToolResult {
    tool_result(executed.to_json(), executed.status)
}

/// Adds to a result that the client has not decided on the waiting call, with the reason and the operator's
/// commands.
pub(super) fn with_reason(
    result: CallToolResult,
    root: &ThreadId,
    waiting: &Waiting,
    why: &str,
) -> CallToolResult {
    let Some(mut value) = result.structured_content.clone() else { return result };
    let commands = waiting.commands();
    value["undecided"] =
        format!("{why}; the operator decides with {commands}, then `rye resume {root}` goes on")
            .into();
    answer(value)
}

/// Returns the present state of a thread that has waited. It is the given result, unless the thread has
/// changed since.
pub(super) fn present_state(
    root: &ThreadId,
    now: &Stands,
    result: CallToolResult,
) -> CallToolResult {
    let waits = now.asked.as_ref().map(waits_for);
    let then = result.structured_content.as_ref().and_then(|told| told.get("waits_for"));
    if now.state == ThreadState::Suspended && waits.is_some() && waits.as_ref() == then {
        return result;
    }
    let mut value = json!({ "thread": root.as_str(), "state": now.state.as_str() });
    if now.thread != *root {
        value["went_on_in"] = now.thread.as_str().into();
    }
    if now.state == ThreadState::Suspended {
        value["waits_for"] = json!(waits);
    }
    if let Some(DecidedApproval { item_id, decision, by, at, .. }) = &now.decided {
        value["decided"] =
            format!("{decision}: `{item_id}` ({by}, {at}); `rye resume {root}` goes on").into();
    }
    answer(value)
}

/// A failure that the client's model can read. It is text alone: there are clients that hold every structured result
/// against the output schema, failures too.
pub(super) fn error_result(error: &RequestError) -> CallToolResult {
    refusal(&error.to_json())
}

fn refusal(error: &Value) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

/// Arguments that the input schema refuses.
pub(super) fn misfit(problems: &[String]) -> CallToolResult {
    let causes: Vec<String> = std::iter::once("the arguments do not fit".to_owned())
        .chain(problems.iter().cloned())
        .collect();
    refusal(&json!({ "error": { "class": "usage", "causes": causes } }))
}

/// A failure of the server itself. Its details are left out.
pub(super) fn broken_result() -> CallToolResult {
    let causes = ["the operation ended without an answer, which is a fault of this server"];
    refusal(&json!({ "error": { "class": "failed", "causes": causes } }))
}

/// Structured results are objects; anything else is text alone.
pub(super) fn tool_result(value: Value, status: ToolStatus) -> CallToolResult {
    let is_ok = status == ToolStatus::Ok;
    match value {
        value @ Value::Object(_) if is_ok => CallToolResult::structured(value),
        value @ Value::Object(_) => CallToolResult::structured_error(value),
        other => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            let content = vec![ContentBlock::text(text)];
            if is_ok { CallToolResult::success(content) } else { CallToolResult::error(content) }
        }
    }
}
