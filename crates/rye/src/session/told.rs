//! A run's report as data, the same on every surface.

use rye_thread::{ApprovalRequest, ThreadId};
use serde_json::{Value, json};

use super::RunReport;

impl RunReport {
    /// Thread, state, outputs, text, cost, the call that waits, the failure and the warnings; and the threads before it,
    /// where it goes on with a conversation.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut told = self.last_to_json();
        if let Some(parent) = &self.parent {
            told["parent"] = json!({
                "thread": parent.thread.as_str(),
                "state": parent.state.as_str(),
            });
        }
        if !self.continues.is_empty() {
            told["continues"] = self.continues.iter().map(ThreadId::as_str).collect();
        }
        told
    }

    fn last_to_json(&self) -> Value {
        let outcome = &self.outcome;
        json!({
            "thread": self.thread.as_str(),
            "folder": self.folder.to_string_lossy(),
            "state": outcome.state.as_str(),
            "outputs": outcome.outputs,
            "text": outcome.text,
            "turns": outcome.turns,
            "tokens": outcome.usage.total(),
            "cost_nanos": outcome.cost.get(),
            "waits_for": outcome.asked.as_ref().map(waits_for),
            "failure": outcome.failure.as_ref().map(|failure| json!({
                "kind": failure.kind.as_str(),
                "message": failure.message,
            })),
            "warnings": self.warnings,
        })
    }
}

/// A call that waits, the same on every surface.
pub(crate) fn waits_for(request: &ApprovalRequest) -> Value {
    json!({
        "thread": request.thread.as_str(),
        "call_id": request.call_id,
        "item_id": request.item_id,
        "arguments": request.arguments,
        "arguments_sha256": request.sha256,
        "reason": request.reason.as_str(),
    })
}
