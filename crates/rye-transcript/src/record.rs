//! One line of a transcript, as read.

use std::time::Duration;

use rye_sign::chain::Head;
use rye_types::Moment;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::money::Change;
use crate::payload::{Intent, Receipt, StepFinish, Triggered};
use crate::{Event, EventKind, ThreadId};

/// A record that fits the chain.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// The hash of all records before it.
    pub prev: Head,
    /// The time of the record.
    pub at: Moment,
    /// The approval waits since the previous record, in whole milliseconds.
    pub approval_wait: Duration,
    /// The thread that it belongs to.
    pub thread: ThreadId,
    /// The directive of the thread.
    pub directive: String,
    /// The kind of the event.
    pub kind: EventKind,
    /// The payload, as the JSON text that was written.
    pub payload: Box<RawValue>,
    /// The name of an event that this version does not know.
    pub(crate) unknown: Option<String>,
    /// `true` if a program that does not know the event may go on without it.
    pub(crate) is_ignorable: bool,
    /// The change that it makes to the money of the thread.
    pub(crate) change: Option<Change>,
}

impl Record {
    /// Returns the name of the event. Unknown names are kept.
    #[must_use]
    pub fn name(&self) -> &str {
        self.unknown.as_deref().unwrap_or(self.kind.name())
    }

    /// Returns `true` if this version does not know the event and may not go on without it.
    ///
    /// Such a record is verified and shown. Resume, decisions and accounts refuse its thread.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        matches!(self.kind, EventKind::Unknown) && !self.is_ignorable
    }

    /// Reads the event.
    ///
    /// # Errors
    ///
    /// The reason in words, if this version does not know the event or cannot read its payload.
    pub fn event(&self) -> Result<Event, String> {
        match self.kind {
            EventKind::Unknown => Err(format!("this version knows no event `{}`", self.name())),
            kind => kind.read(&self.payload).map_err(|message| {
                format!("its event `{}` cannot be read: {message}", self.name())
            }),
        }
    }

    fn read_as<'a, T: Deserialize<'a>>(&'a self, kind: EventKind) -> Result<T, String> {
        match self.kind == kind {
            true => read(&self.payload),
            false => Err(format!("it is no `{}`", kind.name())),
        }
    }

    /// Reads the intent of a `tool_call_start` without its arguments, which may be unreadable for themselves.
    ///
    /// # Errors
    ///
    /// The reason in words, also for a record of another event.
    pub fn intent(&self) -> Result<Intent<IgnoredAny>, String> {
        self.read_as(EventKind::ToolCallStart)
    }

    /// Reads the receipt of a `tool_call_result` without its content, which may be unreadable for itself.
    ///
    /// # Errors
    ///
    /// The reason in words, also for a record of another event.
    pub fn receipt(&self) -> Result<Receipt<IgnoredAny>, String> {
        self.read_as(EventKind::ToolCallResult)
    }

    /// Reads the `step_finish` of a reply without the reply, which may be unreadable for itself.
    ///
    /// # Errors
    ///
    /// The reason in words, also for a record of another event.
    pub fn finish(&self) -> Result<StepFinish<IgnoredAny>, String> {
        self.read_as(EventKind::StepFinish)
    }

    /// Reads what the event decides: its money, and whether the rest of it can be read at all.
    ///
    /// # Errors
    ///
    /// The reason in words, if the event decides something and cannot be read.
    pub(crate) fn decide(kind: EventKind, payload: &RawValue) -> Result<Option<Change>, String> {
        match kind {
            EventKind::HookTriggered => read::<Triggered<IgnoredAny>>(payload).map(|_| None),
            EventKind::StepFinish => {
                read::<StepFinish<IgnoredAny>>(payload).map(|finish| Some(finish.change()))
            }
            EventKind::ToolCallResult => read::<Receipt<IgnoredAny>>(payload).map(|_| None),
            EventKind::ToolCallStart => read::<Intent<IgnoredAny>>(payload).map(|_| None),
            kind if kind.decides() => Ok(kind.read(payload)?.money()),
            _ => Ok(None),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(payload: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(payload.get()).map_err(|error| error.to_string())
}
