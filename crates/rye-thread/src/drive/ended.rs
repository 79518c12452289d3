//! The end that a transcript holds, for who closes a thread without driving it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::disk::UsageDisk;
use crate::outcome::disk::FailureDisk;
use crate::transcript::{Reading, Record};
use crate::{Failure, ThreadId, ThreadState, Usage};

/// How a thread ended by its transcript, which is written before `thread.json` says so.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedEnd {
    pub(crate) state: ThreadState,
    pub(crate) turns: u64,
    pub(crate) usage: Usage,
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
}

/// The end of a thread, as its transcript holds it; `None` when it holds none, or one that this version cannot read.
#[must_use]
pub fn recorded_end(reading: &Reading) -> Option<RecordedEnd> {
    reading.records.iter().rev().find_map(end)
}

fn end(record: &Record) -> Option<RecordedEnd> {
    let known = match record.event.as_str() {
        "thread_complete" => Some(ThreadState::Completed),
        "thread_continued" => Some(ThreadState::Continued),
        "thread_error" => None,
        _ => return None,
    };
    let Wire { state, turns, usage, outputs, failure, next } =
        serde_json::from_str(record.payload.get()).ok()?;
    Some(RecordedEnd {
        state: known.or_else(|| state?.parse().ok())?,
        turns,
        usage: usage.into_usage(),
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
    outputs: Option<Map<String, Value>>,
    failure: Option<FailureDisk>,
    next: Option<String>,
}
