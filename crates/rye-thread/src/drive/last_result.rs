//! The result of the last call, for closing a thread without driving it.

use rye_transcript::recorded_event;

use crate::ToolResult;
use crate::transcript::{Event, Reading};

/// Returns the result of the model's last call from the transcript; `None` if no call has a result.
#[must_use]
pub fn last_result(reading: &Reading) -> Option<ToolResult> {
    reading.records.iter().rev().find_map(|record| match recorded_event(record) {
        Ok(Event::ToolCallResult { result, .. }) => Some(result),
        _ => None,
    })
}
