//! The successor of a thread that was continued.

use rye_types::LimitSet;

use crate::{Event, EventKind, Reading, ThreadId};

/// The rest of a thread for its successor (SPEC 10.10).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handover {
    /// The successor.
    pub thread: ThreadId,
    /// The limits that are left. Turns, tokens, time and money that were used are gone for both
    /// threads.
    pub limits: LimitSet,
}

/// Returns the handover of a continued thread from its transcript; `None` if it was not continued.
#[must_use]
pub fn handed_over(reading: &Reading) -> Option<Handover> {
    match reading.of_kind(EventKind::ThreadContinued).next_back()?.event() {
        Ok(Event::ThreadContinued(end)) => Some(Handover { thread: end.next, limits: end.limits }),
        _ => None,
    }
}
