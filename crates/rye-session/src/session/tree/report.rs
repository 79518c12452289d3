//! The state and the result of a thread, as its parent receives them.

use rye_sign::chain::Head;
use rye_thread::transcript::{Event, EventKind, Record};
use rye_thread::{ChildEnd, Failure, FailureKind, Outcome, ThreadId, ToolOutput, TranscriptClaim};
use rye_types::{Nanos, ThreadState};
use serde_json::{Map, Value, json};

use super::Standing;
use crate::thread_reading::ThreadReading;

/// The result of an ended thread.
#[derive(Debug, Clone)]
pub(in crate::session) struct Report {
    state: ThreadState,
    outputs: Option<Map<String, Value>>,
    text: String,
    turns: u64,
    tokens: u64,
    cost: u64,
    failure: Option<Failure>,
    /// The end of its transcript.
    transcript: Option<TranscriptClaim>,
}

impl Report {
    pub(super) fn of_outcome(outcome: &Outcome) -> Self {
        Self {
            state: outcome.state,
            outputs: outcome.outputs.clone(),
            text: outcome.text.clone(),
            turns: outcome.turns,
            tokens: outcome.usage.total(),
            cost: outcome.cost.get(),
            failure: outcome.failure.clone(),
            transcript: outcome.transcript.clone(),
        }
    }

    /// The report of a child that could not begin, so that it has no transcript.
    pub(super) fn unbegun(reason: &str) -> Self {
        Self {
            state: ThreadState::Error,
            outputs: None,
            text: String::new(),
            turns: 0,
            tokens: 0,
            cost: 0,
            failure: Some(Failure::new(FailureKind::Preparation, reason)),
            transcript: Some(TranscriptClaim::new(0, Head::genesis().to_string(), false)),
        }
    }

    /// The same from what its folder holds.
    pub(super) fn of_reading(reading: &ThreadReading) -> Self {
        let record = &reading.record;
        let records = reading.transcript.records.len();
        let end = reading.transcript.of_kind(EventKind::ThreadComplete).next_back();
        let text = match end.map(Record::event) {
            Some(Ok(Event::ThreadComplete(end))) => end.text,
            _ => String::new(),
        };
        Self {
            state: record.state,
            outputs: record.outputs.clone(),
            text,
            turns: record.turns,
            tokens: record.usage.total(),
            cost: record.cost.get(),
            failure: record.failure.clone(),
            transcript: Some(TranscriptClaim::new(
                u64::try_from(records).unwrap_or(u64::MAX),
                reading.transcript.head.to_string(),
                false,
            )),
        }
    }

    /// The same for a conversation of which this is the end, and `before` was a part.
    pub(super) fn after(self, before: &Self) -> Self {
        Self {
            turns: self.turns.saturating_add(before.turns),
            tokens: self.tokens.saturating_add(before.tokens),
            cost: self.cost.saturating_add(before.cost),
            ..self
        }
    }

    /// The end of a child, for the record of its parent; `None` if it is not known where its transcript ends.
    pub(super) fn end_of(&self, child: &ThreadId) -> Option<ChildEnd> {
        let claim = self.transcript.clone().filter(|claim| !claim.is_open)?;
        Some(ChildEnd::new(child.clone(), self.state, Nanos::new(self.cost), claim))
    }

    /// Returns the tool output for the caller of a child. A failed child is an error.
    pub(super) fn output(&self, thread: &ThreadId, directive: &str) -> ToolOutput {
        let content = self.value(thread, directive);
        if self.state == ThreadState::Completed {
            ToolOutput::ok(content)
        } else {
            ToolOutput::error(content)
        }
    }

    fn value(&self, thread: &ThreadId, directive: &str) -> Value {
        let mut value = json!({
            "thread": thread.as_str(),
            "directive": directive,
            "state": self.state.as_str(),
            "outputs": self.outputs,
            "text": self.text,
            "turns": self.turns,
            "tokens": self.tokens,
            "cost_nanos": self.cost,
        });
        if let Some(failure) = &self.failure {
            value["error"] = failure.message.as_str().into();
            value["failure"] = failure.kind.as_str().into();
        } else if self.state != ThreadState::Completed {
            value["error"] = format!("the thread is `{}`", self.state).into();
        }
        value
    }
}

/// A thread with its result where it has one, else with how it stands.
pub(super) fn whole(thread: &ThreadId, directive: &str, standing: &Standing) -> Value {
    match standing {
        Standing::Ended(report) => report.value(thread, directive),
        other => row(thread, None, directive, other),
    }
}

pub(super) fn row(
    thread: &ThreadId,
    parent: Option<&ThreadId>,
    directive: &str,
    standing: &Standing,
) -> Value {
    let state = match standing {
        Standing::Ended(report) => report.state,
        Standing::Suspended(_) => ThreadState::Suspended,
        Standing::Running | Standing::Interrupted => ThreadState::Running,
    };
    let mut value = json!({
        "thread": thread.as_str(),
        "directive": directive,
        "state": state.as_str(),
    });
    if let Some(parent) = parent {
        value["parent"] = parent.as_str().into();
    }
    if let Standing::Suspended(request) = standing {
        value["waits_for"] = json!({
            "thread": request.thread.as_str(),
            "item_id": request.item_id,
            "why": request.why(),
        });
    }
    value
}
