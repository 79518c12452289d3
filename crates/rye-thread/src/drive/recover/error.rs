//! The reasons for which a thread does not go on.

use rye_types::{LimitHit, NotRaised, ThreadState};

use crate::JournalError;

/// The reason why a thread cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The opening of the thread differs from the one that it would have now.
    #[error(
        "the thread cannot go on as it began, because this changed since: {}; undo the change, or start the directive again",
        .changes.join(", ")
    )]
    Changed {
        /// The changes, in words.
        changes: Vec<String>,
    },
    /// The records are whole, and no run leads from one to the next.
    #[error("record {record} of the transcript does not follow from those before it: {problem}")]
    Contradiction {
        /// The record, from 0.
        record: u64,
        /// The contradiction, in words.
        problem: String,
    },
    /// The thread has ended already.
    #[error("thread is `{state}`, and nothing more will happen in it; start the directive again")]
    Ended {
        /// The state in which it ended.
        state: ThreadState,
    },
    /// The limit that ended the thread would end it again at once.
    #[error("{hit}, and that limit was not raised above it")]
    LimitStands {
        /// The limit, and where it stood.
        hit: LimitHit,
    },
    /// A limit was to be raised to a value that is not higher than its own.
    #[error(transparent)]
    NotRaised(#[from] NotRaised),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
}
