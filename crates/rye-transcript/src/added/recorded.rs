//! The items that the transcript of a thread says were added.

use serde::Deserialize;

use super::{AddedItem, disk::AddedDisk};
use crate::{Reading, Record};

/// The one member of a receipt that bounds a thread. The others may be of a newer version.
#[derive(Deserialize)]
struct ReceiptDisk {
    #[serde(default)]
    added: Vec<AddedDisk>,
}

/// Returns the items that calls added to a conversation, in order, from the transcript of its thread.
///
/// Returns `None` if one of them cannot be read.
#[must_use]
pub fn added_items(reading: &Reading) -> Option<Vec<AddedItem>> {
    let receipts = reading.records.iter().filter(|record| record.event == "tool_call_result");
    let added = |record: &Record| {
        let ReceiptDisk { added } = record.payload_as().ok()?;
        added.into_iter().map(|item| item.into_added().ok()).collect::<Option<Vec<_>>>()
    };
    let each: Option<Vec<_>> = receipts.map(added).collect();
    Some(each?.concat())
}
