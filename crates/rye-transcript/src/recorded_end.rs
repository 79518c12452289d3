//! The end that a transcript holds, for closing a thread without driving it.

use rye_types::{LimitSet, Moment, Nanos, ThreadState, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::disk::LimitsDisk;
use crate::json::Shown;
use crate::money::LimitedDisk;
use crate::{Event, Failure, ProviderInfo, Reading, Record, ThreadId, ToolSpec, recorded_event};

/// The end of a thread by its transcript, which is written before `thread.json` is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedEnd {
    pub(crate) state: ThreadState,
    /// The time of the record.
    pub(crate) at: Moment,
    pub(crate) turns: u64,
    pub(crate) usage: Usage,
    pub(crate) cost: Nanos,
    pub(crate) outputs: Option<Map<String, Value>>,
    pub(crate) failure: Option<Failure>,
    pub(crate) next: Option<ThreadId>,
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

/// The end of a thread, as its transcript holds it; `None` when it holds none, or one that this version cannot read.
#[must_use]
pub fn recorded_end(reading: &Reading) -> Option<RecordedEnd> {
    let is_end = |record: &&Record| {
        ["thread_complete", "thread_continued", "thread_error", "thread_resumed"]
            .contains(&record.event.as_str())
    };
    // One that was resumed after an end has not come to another one yet.
    end(reading.records.iter().rev().find(is_end)?)
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
    let limits = |record: &Record| {
        let LimitedDisk { limits } = record.payload_as().ok()?;
        limits.map(LimitsDisk::into_limits)
    };
    let first = reading.records.iter().find(|record| record.event == "thread_start");
    let first = limits(first?)?;
    let resumed =
        |(record, is_sealed): &(&Record, bool)| *is_sealed && record.event == "thread_resumed";
    let last =
        reading.records_with_seals().rev().filter(resumed).find_map(|(record, _)| limits(record));
    Some(RecordedLimits { last: last.unwrap_or_else(|| first.clone()), first })
}

/// The provider and the model that a thread began with, as its transcript holds them; `None` before it began, and if it ended
/// before its provider was known.
#[must_use]
pub fn recorded_provider(reading: &Reading) -> Option<ProviderInfo> {
    let first = reading.records.iter().find(|record| record.event == "thread_start")?;
    match recorded_event(first) {
        Ok(Event::ThreadStart { provider, .. }) => {
            Some(provider).filter(|provider| !provider.provider.is_empty())
        }
        _ => None,
    }
}

/// The tools that the model of a thread sees, as the first record has them; none before the thread began.
#[must_use]
pub fn recorded_tools(reading: &Reading) -> Vec<ToolSpec> {
    match reading.records.first().map(recorded_event) {
        Some(Ok(Event::ThreadStart { tools, .. })) => tools,
        _ => Vec::new(),
    }
}

/// The root of the thread's tree, as the first record of its transcript names it; `None` before the thread began.
#[must_use]
pub fn recorded_root(reading: &Reading) -> Option<ThreadId> {
    let first = reading.records.first().filter(|record| record.event == "thread_start")?;
    let RootDisk { root: Shown(root) } = first.payload_as().ok()?;
    Some(root)
}

/// The member of a first record that says which lock is taken. The others may be of a newer version.
#[derive(Deserialize)]
struct RootDisk {
    root: Shown<ThreadId>,
}

fn end(record: &Record) -> Option<RecordedEnd> {
    let at = record.at;
    let (state, outputs, failure, next, turns, usage, cost) = match recorded_event(record).ok()? {
        Event::ThreadComplete { outputs, turns, usage, cost, .. } => {
            (ThreadState::Completed, outputs, None, None, turns, usage, cost)
        }
        Event::ThreadContinued { next, turns, usage, cost, .. } => {
            (ThreadState::Continued, None, None, Some(next), turns, usage, cost)
        }
        Event::ThreadError { state, failure, turns, usage, cost } => {
            (state, None, failure, None, turns, usage, cost)
        }
        _ => return None,
    };
    Some(RecordedEnd { state, at, turns, usage, cost, outputs, failure, next })
}
