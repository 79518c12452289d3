//! One call before it runs, and the result that the model reads if it does not.

use rye_caps::Capability;
use rye_types::Effect;
use serde_json::{Value, json};

use crate::palette::Offered;
use crate::transcript::Event;
use crate::transcript::payload::{Intent, Target};
use crate::{
    ApprovalRequest, AuthorisedCall, DenialReason, Refusal, Returned, ToolCall, ToolOutput,
    ToolResult, ToolStatus,
};

/// A call before anything runs.
pub(super) struct Prepared<'a> {
    /// Its place among the calls of the turn that are run.
    pub(super) index: usize,
    pub(super) call: &'a ToolCall,
    /// The request for an approval that comes first.
    pub(super) asks: Option<ApprovalRequest>,
    pub(super) intent: Event,
    pub(super) plan: Plan<'a>,
}

pub(super) enum Plan<'a> {
    /// There is nothing to run: the answer is known.
    Answer(Returned),
    /// The call is for this tool.
    Run { offered: &'a Offered, call: AuthorisedCall },
}

impl Prepared<'_> {
    /// Returns `true` if it may run beside other calls that only read.
    pub(super) fn may_join(&self) -> bool {
        self.asks.is_none() && self.plan.is_read_only()
    }
}

impl Plan<'_> {
    pub(super) fn runs(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Returns `true` if it changes nothing outside the thread.
    pub(super) fn changes_nothing(&self) -> bool {
        matches!(self, Self::Answer(_)) || self.is_read_only()
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self, Self::Run { offered, call } if offered.effect(call.arguments()) == Effect::ReadOnly)
    }
}

/// Returns the result of a call from the output of its tool.
pub(super) fn tool_answer(
    call: &ToolCall,
    capability: &Capability,
    output: ToolOutput,
) -> Returned {
    match output.status {
        ToolStatus::Ok => {
            let result = ToolResult::ok(call, output.content);
            let result = result.with_standard_error(output.standard_error.map(String::from));
            Returned::ran(result).with_added(output.added)
        }
        ToolStatus::Error => Returned::ran(ToolResult::error(call, output.content)),
        ToolStatus::Refused => {
            let message = words(&output.content);
            let refusal = Refusal::of_tool(capability.as_str(), &message);
            Returned::refusal(ToolResult::error(call, output.content), refusal)
        }
    }
}

/// Returns the words of a refusal: its text, or the `error` of its object, which may be a list of
/// causes.
fn words(content: &Value) -> String {
    let error = content.get("error").unwrap_or(content);
    match (error, error.get("causes").and_then(Value::as_array)) {
        (Value::String(text), _) => text.clone(),
        (_, Some(causes)) => causes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(": "),
        _ => content.to_string(),
    }
}

/// Returns the event that is recorded before a call runs.
pub(super) fn intent(call: &ToolCall, arguments: Value, target: Option<Target>) -> Event {
    Event::ToolCallStart(Intent {
        call_id: call.id.clone(),
        name: call.name.clone(),
        arguments,
        target,
        hook: None,
        injects: None,
    })
}

/// The answer to a call that is not allowed.
pub(super) fn refusal_answer(call: &ToolCall, refusal: Refusal) -> Returned {
    Returned::refusal(ToolResult::error(call, json!({ "error": refusal.message })), refusal)
}

/// The answer with the operator's reason beside it.
pub(super) fn with_reason(mut answer: Returned, reason: Option<&DenialReason>) -> Returned {
    if let Some(reason) = reason {
        answer.result.content["reason"] = json!(reason.as_str());
    }
    answer
}

/// The answer to a call that is wrong, with what is wrong with it.
pub(super) fn failure_answer(call: &ToolCall, error: &str, problems: &[String]) -> Returned {
    let content = if problems.is_empty() {
        json!({ "error": error })
    } else {
        json!({ "error": error, "problems": problems })
    };
    Returned::ran(ToolResult::error(call, content))
}
