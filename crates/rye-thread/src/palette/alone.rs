//! A call outside of any thread, which nothing records.

use rye_caps::Authority;
use serde_json::{Value, json};

use super::Palette;
use crate::ToolOutput;

impl Palette {
    /// Calls the tool that `item_id` names, as a thread would: authorise, validate, run; `None` where no tool has the id.
    ///
    /// What a thread would ask somebody about is refused, because nobody waits for the answer here. Nothing is recorded:
    /// whoever needs a transcript runs a thread.
    pub async fn call(
        &self,
        authority: &Authority,
        item_id: &str,
        arguments: Value,
    ) -> Option<ToolOutput> {
        let offered = self.by_id(item_id)?;
        let permit = match authority.permit(&offered.entry.invocation) {
            Ok(permit) => permit,
            Err(denied) => return Some(refused(&denied.to_string())),
        };
        if offered.entry.waits() {
            let reason = "calls of this tool wait for somebody's approval, which only a thread can; run a directive that calls it";
            return Some(refused(reason));
        }
        let problems = offered.problems(&arguments);
        if !problems.is_empty() {
            return Some(ToolOutput::error(json!({ "error": MISFIT, "problems": problems })));
        }
        Some(offered.entry.tool.call(&permit, arguments).await)
    }
}

/// What is told of arguments that the input schema refuses.
pub(crate) const MISFIT: &str = "the arguments do not fit the tool";

fn refused(message: &str) -> ToolOutput {
    ToolOutput::refused(json!({ "error": message }))
}
