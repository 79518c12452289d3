//! The row of a thread on the list.

use std::time::Duration;

use rye_types::{Moment, Nanos, ThreadState, Usage};

use crate::{ThreadId, ThreadRecord};

/// One row of the list of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadSummary {
    /// The thread.
    pub thread: ThreadId,
    /// The parent.
    pub parent: Option<ThreadId>,
    /// The id of its directive.
    pub directive: String,
    /// Its state.
    pub state: ThreadState,
    /// The creation time of its folder.
    pub created: Moment,
    /// The time of its last change.
    pub updated: Moment,
    /// Its cost.
    pub cost: Nanos,
    /// The model's id, once it is known.
    pub model: Option<String>,
    /// The number of answered requests. It is current for a thread that has ended; a running thread is listed with the number of its
    /// last stop.
    pub turns: u64,
    /// The token usage of all replies, current as `turns` is.
    pub usage: Usage,
    /// `true` if it used unsigned items; `None` if the row was made of records that nobody verified.
    pub used_unsigned: Option<bool>,
}

impl ThreadSummary {
    /// Creates the row of a thread from its record.
    #[must_use]
    pub fn of(record: &ThreadRecord) -> Self {
        Self {
            thread: record.thread.clone(),
            parent: record.parent.clone(),
            directive: record.directive.clone(),
            state: record.state,
            created: record.created,
            updated: record.updated,
            cost: record.cost,
            model: record.model.clone(),
            turns: record.turns,
            usage: record.usage,
            used_unsigned: Some(record.used_unsigned()),
        }
    }

    /// Returns the time from the creation of the thread to its last change, with approval waits.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let millis = self.updated.as_unix_millis().saturating_sub(self.created.as_unix_millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}
