//! The end of a child, as its parent records it.

use serde::{Deserialize, Serialize};

use crate::{Nanos, ThreadId, ThreadState, TranscriptClaim};

/// The end of a child. The parent records it after the end is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildEnd {
    /// The child. For a conversation, its first thread.
    pub child: ThreadId,
    /// The final state of the child.
    pub state: ThreadState,
    /// The cost of the child and all its descendants.
    pub cost: Nanos,
    /// `true` if a request of the child or of a descendant cost more than its reservation.
    pub is_overrun: bool,
    /// The number of records in its transcript. For a conversation, in the transcript of its last thread.
    pub records: u64,
    /// The hash of the last of these records.
    pub head: String,
}

impl ChildEnd {
    /// Creates the end of a child that stayed within its reservations. `transcript` claims all its records.
    #[must_use]
    pub fn new(
        child: ThreadId,
        state: ThreadState,
        cost: Nanos,
        transcript: TranscriptClaim,
    ) -> Self {
        let TranscriptClaim { records, head, .. } = transcript;
        Self { child, state, cost, is_overrun: false, records, head }
    }
}

/// The saved form of a [`ChildEnd`].
#[derive(Debug, Serialize, Deserialize)]
pub struct ChildEndDisk {
    thread: String,
    state: String,
    cost_nanos: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    overrun: bool,
    records: u64,
    head: String,
}

impl ChildEndDisk {
    pub(crate) fn of(end: &ChildEnd) -> Self {
        Self {
            thread: end.child.to_string(),
            state: end.state.to_string(),
            cost_nanos: end.cost.get(),
            overrun: end.is_overrun,
            records: end.records,
            head: end.head.clone(),
        }
    }

    /// Returns the end.
    ///
    /// # Errors
    ///
    /// The reason in words, if the id or the state is none.
    pub fn into_end(self) -> Result<ChildEnd, String> {
        Ok(ChildEnd {
            child: self.thread.parse().map_err(|error| format!("{error}"))?,
            state: self.state.parse().map_err(|error| format!("{error}"))?,
            cost: Nanos::new(self.cost_nanos),
            is_overrun: self.overrun,
            records: self.records,
            head: self.head,
        })
    }
}
