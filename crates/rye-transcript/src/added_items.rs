//! The items that calls brought into a conversation.

use crate::{AddedItem, EventKind, Reading, Record};

/// Returns the items that calls added to a conversation, in order, from the transcript of its thread.
///
/// Returns `None` if one of them cannot be read.
#[must_use]
pub fn added_items(reading: &Reading) -> Option<Vec<AddedItem>> {
    let receipts = reading.of_kind(EventKind::ToolCallResult);
    let added = |record: &Record| Some(record.receipt().ok()?.added);
    let each: Option<Vec<_>> = receipts.map(added).collect();
    Some(each?.concat())
}
