//! The end that a transcript holds, for closing a thread without driving it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::disk::{FailureDisk, LimitsDisk};
use crate::message::disk::UsageDisk;
use crate::{Failure, Limits, Moment, Nanos, Reading, Record, ThreadId, ThreadState, Usage};

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
    pub first: Limits,
    /// The limits by now, as the operator raised them; hooks may have allowed more than this of anything but money.
    pub last: Limits,
}

/// The limits of a thread, as its transcript holds them; `None` before it began. Raised limits count only with a checkpoint of
/// their own.
#[must_use]
pub fn recorded_limits(reading: &Reading) -> Option<RecordedLimits> {
    let limits = |record: &Record| {
        let wire: LimitsWire = serde_json::from_str(record.payload.get()).ok()?;
        wire.limits.map(LimitsDisk::into_limits)
    };
    let first = reading.records.iter().find(|record| record.event == "thread_start");
    let first = limits(first?)?;
    let resumed =
        |(record, is_sealed): &(&Record, bool)| *is_sealed && record.event == "thread_resumed";
    let last =
        reading.records_with_seals().rev().filter(resumed).find_map(|(record, _)| limits(record));
    Some(RecordedLimits { last: last.unwrap_or_else(|| first.clone()), first })
}

/// The root of the thread's tree, as the first record of its transcript names it; `None` before the thread began.
#[must_use]
pub fn recorded_root(reading: &Reading) -> Option<ThreadId> {
    let first = reading.records.first().filter(|record| record.event == "thread_start")?;
    let wire: RootWire = serde_json::from_str(first.payload.get()).ok()?;
    wire.root.parse().ok()
}

#[derive(Deserialize)]
struct RootWire {
    root: String,
}

#[derive(Deserialize)]
struct LimitsWire {
    limits: Option<LimitsDisk>,
}

fn end(record: &Record) -> Option<RecordedEnd> {
    let known = match record.event.as_str() {
        "thread_complete" => Some(ThreadState::Completed),
        "thread_continued" => Some(ThreadState::Continued),
        "thread_error" => None,
        _ => return None,
    };
    let Wire { state, turns, usage, cost_nanos, outputs, failure, next } =
        serde_json::from_str(record.payload.get()).ok()?;
    Some(RecordedEnd {
        state: known.or_else(|| state?.parse().ok())?,
        at: record.at,
        turns,
        usage: usage.into_usage(),
        cost: Nanos::new(cost_nanos),
        outputs,
        failure: failure.map(FailureDisk::into_failure).transpose().ok()?,
        next: next.map(|next| next.parse()).transpose().ok()?,
    })
}

#[derive(Deserialize)]
struct Wire {
    state: Option<String>,
    turns: u64,
    usage: UsageDisk,
    cost_nanos: u64,
    outputs: Option<Map<String, Value>>,
    failure: Option<FailureDisk>,
    next: Option<String>,
}
