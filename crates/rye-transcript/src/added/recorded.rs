//! The items that the transcript of a thread says were added.

use super::AddedItem;
use super::disk::receipt_items;
use crate::Reading;

/// Returns the items that calls added to a conversation, in order, from the transcript of its thread.
///
/// Returns `None` if one of them cannot be read.
#[must_use]
pub fn added_items(reading: &Reading) -> Option<Vec<AddedItem>> {
    let receipts = reading.records.iter().filter(|record| record.event == "tool_call_result");
    let each: Option<Vec<_>> = receipts.map(|record| receipt_items(record).ok()).collect();
    Some(each?.concat())
}
