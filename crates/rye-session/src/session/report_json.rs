//! A run's report as data, the same on every surface.

use rye_project::LimitSource;
use rye_thread::{ApprovalRequest, FailureKind, ThreadId};
use rye_types::ThreadState;
use serde_json::{Value, json};

use super::RunReport;
use super::reopen::option;

impl RunReport {
    /// The next step after a run that a limit ended: the place that sets the limit, and the option that raises it.
    ///
    /// There is none for a request that cost more than was reserved for it, which its own message explains.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let failure = self.outcome.failure.as_ref()?;
        let FailureKind::Limit(hit) = &failure.kind else { return None };
        let source = self.limit_set_by.as_ref()?;
        let name = hit.limit.as_str();
        let again = match (&self.resume, option(hit.limit)) {
            // The command that has it go on has the option, and refuses a directive that was changed meanwhile.
            (Some(_), _) => " for later runs".to_owned(),
            (None, None) => String::new(),
            (None, Some(option)) => format!(", or run it again with `{option}`"),
        };
        Some(match source {
            LimitSource::Default => format!(
                "`{name}` is the program's default; write a higher one into `<limits>` of the directive{again}"
            ),
            LimitSource::Config(location) => {
                format!("`{name}` is set under `limits` of `{location}`; raise it there{again}")
            }
            LimitSource::Directive(id) => {
                format!("`{name}` is set in `<limits>` of directive `{id}`; raise it there{again}")
            }
            LimitSource::Options => {
                let again = if self.resume.is_some() { "" } else { "; raise it there" };
                format!("`{name}` is set by the options of this run{again}")
            }
            LimitSource::Parent(thread) => {
                format!("`{name}` is what thread `{thread}` had left; give that thread more")
            }
        })
    }

    /// Returns the state of the thread, or `stopped` if the run was interrupted, so that nothing drives the thread.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.outcome.state {
            ThreadState::Created | ThreadState::Running => "stopped",
            state => state.as_str(),
        }
    }

    /// Returns the command that goes on with a thread that was stopped or that a limit or its provider ended.
    fn resume_command(&self) -> Option<String> {
        let is_stopped = self.outcome.state == ThreadState::Running;
        self.resume.clone().or_else(|| is_stopped.then(|| format!("rye resume {}", self.thread)))
    }

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
        if let Some(called) = &self.called {
            told["result"] = json!({ "content": called.content, "is_error": called.is_error });
            if let Some(text) = &called.standard_error {
                told["result"]["standard_error"] = text.as_str().into();
            }
        }
        if let Some(command) = self.resume_command() {
            told["resume"] = command.into();
        }
        if !self.self_starting.is_empty() {
            told["self_starting"] = self.self_starting.as_slice().into();
        }
        told
    }

    fn last_to_json(&self) -> Value {
        let outcome = &self.outcome;
        json!({
            "thread": self.thread.as_str(),
            "folder": self.folder.to_string_lossy(),
            "state": self.state(),
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
        "why": request.why(),
    })
}
