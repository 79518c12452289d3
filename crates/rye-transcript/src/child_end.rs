//! The end of a child, as its parent records it.

use rye_types::{Nanos, ThreadState};

use crate::{ThreadId, TranscriptClaim};

use crate::payload::ChildEnd;

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
