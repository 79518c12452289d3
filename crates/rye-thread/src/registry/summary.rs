//! The row of a thread on the list.

use crate::{Moment, Nanos, ThreadId, ThreadRecord, ThreadState};

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
        }
    }
}
