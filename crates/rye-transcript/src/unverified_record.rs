//! One line of a transcript, as read without its chain.

use rye_types::Moment;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::payload::{Intent, Receipt};
use crate::{Event, EventKind, ThreadId};

/// A line of a transcript that was not verified. No money and no authority may depend on it.
///
/// Lists, warnings and the search for an owner use it: a false one misleads them, and widens nothing.
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

    /// Reads the root that a `thread_start` names; `None` for another event.
    #[must_use]
    pub fn root(&self) -> Option<ThreadId> {
        self.read_as::<Rooted>(EventKind::ThreadStart).map(|start| start.root)
    }

    /// Reads the members of a `thread_start` that a list of threads shows; `None` for another event.
    #[must_use]
    pub fn listed_start(&self) -> Option<ListedStart> {
        self.read_as(EventKind::ThreadStart)
    }

    /// Reads some members of a payload. A newer version may write others that this one cannot read.
    fn read_as<'a, T: Deserialize<'a>>(&'a self, kind: EventKind) -> Option<T> {
        let payload = Some(&self.payload).filter(|_| self.kind() == kind)?;
        serde_json::from_str(payload.get()).ok()
    }

    /// Reads the intent of a `tool_call_start` without its arguments, which may be unreadable for themselves; `None` for another event.
    #[must_use]
    pub fn intent(&self) -> Option<Intent<IgnoredAny>> {
        self.read_as(EventKind::ToolCallStart)
    }

    /// Reads the receipt of a `tool_call_result` without its content, which may be unreadable for itself; `None` for another event.
    #[must_use]
    pub fn receipt(&self) -> Option<Receipt<IgnoredAny>> {
        self.read_as(EventKind::ToolCallResult)
    }
}

#[derive(Deserialize)]
struct Rooted {
    root: ThreadId,
}

/// The members of a `thread_start` that a list of threads shows.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ListedStart {
    /// The time of the start.
    pub created: Moment,
    /// The thread that started it.
    #[serde(default)]
    pub parent: Option<ThreadId>,
    /// The model. Empty if the thread ended before it was known.
    pub model: String,
}
