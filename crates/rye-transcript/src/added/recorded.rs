//! The items that the transcript of a thread says were added.

use super::AddedItem;
use crate::{Event, Reading, Record, recorded_event};

/// Returns the items that calls added to a conversation, in order, from the transcript of its thread.
///
/// Returns `None` if one of them cannot be read.
#[must_use]
pub fn added_items(reading: &Reading) -> Option<Vec<AddedItem>> {
    let receipts = reading.records.iter().filter(|record| record.event == "tool_call_result");
    let added = |record: &Record| match recorded_event(record).ok()? {
        Event::ToolCallResult { added, .. } => Some(added),
        _ => Some(Vec::new()),
    };
    let each: Option<Vec<_>> = receipts.map(added).collect();
    Some(each?.concat())
}
