//! One line of a transcript, as read without its chain.

use rye_types::Moment;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::payload::{Intent, Receipt};
use crate::{Event, EventKind, ThreadId};

/// A line of a transcript that was not verified. Nothing may be decided by it.
#[derive(Debug, Deserialize)]
pub struct UnverifiedRecord {
    #[serde(rename = "ts")]
    at: Moment,
    #[serde(rename = "thread_id")]
    thread: ThreadId,
    directive: String,
    event: String,
    payload: Box<RawValue>,
}

impl UnverifiedRecord {
    /// Reads a line, with or without its end; `None` if it is no record.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Returns the time of the record.
    #[must_use]
    pub const fn at(&self) -> Moment {
        self.at
    }

    /// Returns the thread that it says it belongs to.
    #[must_use]
    pub const fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the directive of the thread.
    #[must_use]
    pub fn directive(&self) -> &str {
        &self.directive
    }

    /// Returns the kind of the event.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        EventKind::named(&self.event)
    }

    /// Reads the event; `None` if this version cannot.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        self.kind().read(&self.payload).ok()
    }

    /// Reads the intent of a `tool_call_start` without its arguments, which may be unreadable for themselves; `None` for another event.
    #[must_use]
    pub fn intent(&self) -> Option<Intent<IgnoredAny>> {
        serde_json::from_str(self.payload.get()).ok()
    }

    /// Reads the receipt of a `tool_call_result` without its content, which may be unreadable for itself; `None` for another event.
    #[must_use]
    pub fn receipt(&self) -> Option<Receipt<IgnoredAny>> {
        serde_json::from_str(self.payload.get()).ok()
    }
}
