//! A call outside of any thread, without a record.

use rye_caps::Authority;
use serde_json::{Value, json};

use super::Palette;
use crate::ToolOutput;

impl Palette {
    /// Calls the tool with this item id as a thread does: authorise, validate, run. Returns `None` if no tool has the
    /// id.
    ///
    /// A call that needs approval is refused, because no process waits for the decision here. Nothing is recorded. For
    /// a transcript, run a thread.
    pub async fn call(
        &self,
        authority: &Authority,
        item_id: &str,
        arguments: Value,
    ) -> Option<ToolOutput> {
        let offered = self.by_id(item_id)?;
        let permit = match authority.permit(&offered.entry.invocation) {
            Ok(permit) => permit,
            Err(denied) => return Some(refusal(&denied.to_string())),
        };
        if offered.entry.waits() {
            let reason = "calls of this tool need an approval, for which only a thread can wait; run a directive that calls it";
            return Some(refusal(reason));
        }
        let problems = offered.problems(&arguments);
        if !problems.is_empty() {
            return Some(ToolOutput::error(json!({ "error": MISFIT, "problems": problems })));
        }
        Some(offered.entry.tool.call(&permit, arguments).await)
    }
}

/// The error for arguments that do not fit the input schema.
pub(crate) const MISFIT: &str = "the arguments do not fit the tool";

fn refusal(message: &str) -> ToolOutput {
    ToolOutput::refusal(json!({ "error": message }))
}
