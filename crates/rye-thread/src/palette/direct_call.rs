//! A call outside of any thread, without a record.

use rye_caps::Authority;
use serde_json::{Value, json};

use super::Palette;
use crate::{AuthorisedCall, ToolOutput};

impl Palette {
    /// Authorises a call of the tool with this item id as a thread does, and validates its arguments. Returns `None` if no tool has
    /// the id.
    ///
    /// A call that needs approval is refused, because no process waits for the decision here.
    ///
    /// # Errors
    ///
    /// The output for the caller: the refusal, or the problems of the arguments.
    #[must_use]
    pub fn authorise(
        &self,
        authority: &Authority,
        item_id: &str,
        arguments: Value,
    ) -> Option<Result<AuthorisedCall, ToolOutput>> {
        let offered = self.by_id(item_id)?;
        let permit = match authority.permit(&offered.entry.invocation) {
            Ok(permit) => permit,
            Err(denied) => return Some(Err(refusal(&denied.to_string()))),
        };
        if offered.entry.waits() {
            let reason = "calls of this tool need an approval, for which only a thread can wait; run a directive that calls it";
            return Some(Err(refusal(reason)));
        }
        let misfit = |problems| ToolOutput::error(json!({ "error": MISFIT, "problems": problems }));
        Some(offered.authorise(permit, arguments).map_err(misfit))
    }

    /// Authorises a call like [`Palette::authorise`] and runs it. Nothing is recorded. For a transcript, run a thread.
    pub async fn call(
        &self,
        authority: &Authority,
        item_id: &str,
        arguments: Value,
    ) -> Option<ToolOutput> {
        match self.authorise(authority, item_id, arguments)? {
            Ok(call) => Some(call.run(&()).await),
            Err(output) => Some(output),
        }
    }
}

/// The error for arguments that do not fit the input schema.
pub(crate) const MISFIT: &str = "the arguments do not fit the tool";

fn refusal(message: &str) -> ToolOutput {
    ToolOutput::refusal(json!({ "error": message }))
}
