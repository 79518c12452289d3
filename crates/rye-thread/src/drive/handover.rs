//! Which thread goes on after one that was continued.

use serde::Deserialize;

use crate::outcome::disk::LimitsDisk;
use crate::transcript::Reading;
use crate::{Limits, ThreadId};

/// What a thread leaves to the one that goes on with its conversation (SPEC 10.10).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handover {
    /// The thread that goes on.
    pub thread: ThreadId,
    /// What is left of the limits: turns, tokens, time and money that were used are gone for both.
    pub limits: Limits,
}

/// What a continued thread leaves behind, as its transcript holds it; `None` when it was not continued.
#[must_use]
pub fn handed_over(reading: &Reading) -> Option<Handover> {
    let record = reading.records.iter().rev().find(|it| it.event == "thread_continued")?;
    let wire: Wire = serde_json::from_str(record.payload.get()).ok()?;
    Some(Handover { thread: wire.next.parse().ok()?, limits: wire.limits.into_limits() })
}

#[derive(Deserialize)]
struct Wire {
    next: String,
    limits: LimitsDisk,
}
