//! The successor of a thread that was continued.

use rye_types::LimitSet;

use crate::{Event, Reading, ThreadId, recorded_event};

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
    let record = reading.records.iter().rev().find(|it| it.event == "thread_continued")?;
    match recorded_event(record) {
        Ok(Event::ThreadContinued { next: thread, limits, .. }) => {
            Some(Handover { thread, limits })
        }
        _ => None,
    }
}
