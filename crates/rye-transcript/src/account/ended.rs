//! The ends of children that a transcript records.

use std::collections::BTreeMap;

use crate::{Event, EventKind, Reading, ThreadId};

use crate::payload::ChildEnd;

/// Returns the ends of children that the transcript of a thread records.
#[must_use]
pub fn ended_children(thread: &Reading) -> BTreeMap<ThreadId, ChildEnd> {
    let ended = thread.of_kind(EventKind::ChildEnded).filter_map(|record| match record.event() {
        Ok(Event::ChildEnded(end)) => Some((end.child.clone(), end)),
        _ => None,
    });
    ended.collect()
}
