//! The end that a transcript holds, for closing a thread without driving it.

use rye_types::{LimitSet, Moment, Nanos, ThreadState, Usage};
use serde_json::{Map, Value};

use crate::{Event, EventKind, Failure, ProviderInfo, Reading, Record, ThreadId, ToolSpec};

/// The end of a thread by its transcript, which is written before `thread.json` is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedEnd {
    pub(crate) state: ThreadState,
    /// The time of the record.
    pub(crate) at: Moment,
    /// The number of answered requests.
    pub turns: u64,
    /// The token usage of all replies.
    pub usage: Usage,
    /// The cost of the thread.
    pub cost: Nanos,
    /// The returned outputs, if it completed with some.
    pub outputs: Option<Map<String, Value>>,
    /// The failure, if there is one.
    pub failure: Option<Failure>,
    /// The thread that continues the conversation, if one does.
    pub next: Option<ThreadId>,
}

impl RecordedEnd {
    /// `Completed`, `Error`, `Cancelled` or `Continued`.
    #[must_use]
    pub const fn state(&self) -> ThreadState {
        self.state
    }

    /// Returns the time of the record.
    #[must_use]
    pub const fn at(&self) -> Moment {
        self.at
    }
}

/// The end of a thread, as its transcript holds it; `None` when it holds none.
#[must_use]
pub fn recorded_end(reading: &Reading) -> Option<RecordedEnd> {
    // One that was resumed after an end has not come to another one yet.
    let is_last =
        |record: &&Record| record.kind.is_end() || record.kind == EventKind::ThreadResumed;
    end(reading.records.iter().rev().find(is_last)?)
}

/// The limits that the transcript of a thread holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedLimits {
    /// The limits that the thread began with.
    pub first: LimitSet,
    /// The limits by now, as the operator raised them; hooks may have allowed more than this of anything but money.
    pub last: LimitSet,
}

/// The limits of a thread, as its transcript holds them; `None` before it began. Raised limits count only with a checkpoint of
/// their own.
#[must_use]
pub fn recorded_limits(reading: &Reading) -> Option<RecordedLimits> {
    let first = reading.start()?.limits;
    let raised = |(record, is_sealed): (&Record, bool)| {
        if !is_sealed || record.kind != EventKind::ThreadResumed {
            return None;
        }
        match record.event() {
            Ok(Event::ThreadResumed(resumed)) => resumed.limits,
            _ => None,
        }
    };
    let last = reading.records_with_seals().rev().find_map(raised);
    Some(RecordedLimits { last: last.unwrap_or_else(|| first.clone()), first })
}

/// The provider and the model that a thread began with, as its transcript holds them; `None` before it began, and if it ended
/// before its provider was known.
#[must_use]
pub fn recorded_provider(reading: &Reading) -> Option<ProviderInfo> {
    reading.start().map(|start| start.info()).filter(|info| !info.provider.is_empty())
}

/// The tools that the model of a thread sees, as the first record has them; none before the thread began.
#[must_use]
pub fn recorded_tools(reading: &Reading) -> Vec<ToolSpec> {
    reading.start().map(|start| start.tools).unwrap_or_default()
}

/// The root of the thread's tree, as the first record of its transcript names it; `None` before the thread began.
#[must_use]
pub fn recorded_root(reading: &Reading) -> Option<ThreadId> {
    reading.start().map(|start| start.root)
}

fn end(record: &Record) -> Option<RecordedEnd> {
    let at = record.at;
    Some(match record.event().ok()? {
        Event::ThreadComplete(end) => RecordedEnd {
            state: ThreadState::Completed,
            at,
            turns: end.turns,
            usage: end.usage,
            cost: end.cost,
            outputs: end.outputs,
            failure: None,
            next: None,
        },
        Event::ThreadContinued(end) => RecordedEnd {
            state: ThreadState::Continued,
            at,
            turns: end.turns,
            usage: end.usage,
            cost: end.cost,
            outputs: None,
            failure: None,
            next: Some(end.next),
        },
        Event::ThreadError(end) => RecordedEnd {
            state: end.state,
            at,
            turns: end.turns,
            usage: end.usage,
            cost: end.cost,
            outputs: None,
            failure: end.failure,
            next: None,
        },
        _ => return None,
    })
}
