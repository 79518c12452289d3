//! The result of the last call, for closing a thread without driving it.

use super::recover::Recorded;
use crate::ToolResult;
use crate::transcript::Reading;

/// Returns the result of the model's last call from the transcript; `None` if no call has a result.
#[must_use]
pub fn last_result(reading: &Reading) -> Option<ToolResult> {
    reading.records.iter().rev().find_map(|record| match Recorded::read(record) {
        Ok(Recorded::CallResult { result, .. }) => Some(result.into_result()),
        _ => None,
    })
}
