//! The end of a child, as its parent records it.

use rye_types::{Nanos, ThreadState};
use serde::{Deserialize, Serialize};

use crate::json::Shown;
use crate::{ThreadId, TranscriptClaim};

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
pub(crate) struct ChildEndDisk {
    thread: Shown<ThreadId>,
    state: Shown<ThreadState>,
    cost_nanos: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    overrun: bool,
    records: u64,
    head: String,
}

impl ChildEndDisk {
    pub(crate) fn of(end: &ChildEnd) -> Self {
        Self {
            thread: Shown(end.child.clone()),
            state: Shown(end.state),
            cost_nanos: end.cost.get(),
            overrun: end.is_overrun,
            records: end.records,
            head: end.head.clone(),
        }
    }

    pub(crate) fn into_end(self) -> ChildEnd {
        ChildEnd {
            child: self.thread.0,
            state: self.state.0,
            cost: Nanos::new(self.cost_nanos),
            is_overrun: self.overrun,
            records: self.records,
            head: self.head,
        }
    }
}
