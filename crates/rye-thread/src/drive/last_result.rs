//! The result of the last call, for closing a thread without driving it.

use crate::ToolResult;
use crate::transcript::{Event, EventKind, Reading};

/// Returns the result of the model's last call from the transcript; `None` if no call has a result.
#[must_use]
pub fn last_result(reading: &Reading) -> Option<ToolResult> {
    let receipts = reading.of_kind(EventKind::ToolCallResult).rev();
    receipts.filter_map(|record| record.event().ok()).find_map(|event| match event {
        Event::ToolCallResult(receipt) if receipt.hook.is_none() => Some(receipt.into_result()),
        _ => None,
    })
}
