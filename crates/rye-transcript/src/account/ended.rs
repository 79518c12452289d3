//! The ends of children that a transcript records.

use std::collections::BTreeMap;

use crate::child_end::ChildEndDisk;
use crate::{ChildEnd, Reading, Record, ThreadId};

/// Returns the ends of children that the transcript of a thread records.
#[must_use]
pub fn ended_children(thread: &Reading) -> BTreeMap<ThreadId, ChildEnd> {
    let ended = thread.records.iter().filter(|record| record.event == "child_ended");
    ended.filter_map(child_end).map(|end| (end.child.clone(), end)).collect()
}

fn child_end(record: &Record) -> Option<ChildEnd> {
    record.payload_as().ok().map(ChildEndDisk::into_end)
}
