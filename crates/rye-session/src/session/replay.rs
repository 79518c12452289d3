//! A thread's record held against what a run would do with it now (SPEC 10.12).

use rye_parse::unified_diff;
use rye_project::{PlanRequest, PlannedRun};
use rye_thread::{Divergence, ReplayContext, Replayed, ThreadId, recorded_tools, replay};

use super::continuing::{Begins, begins};
use super::conversation::never_began;
use super::recorded::recorded_request;
use super::{ReopenError, begin_run, refuse_linked_threads};
use crate::rye::Rye;
use crate::thread_reading::Found;

impl Rye {
    /// Runs the directive of a thread, as it is now, with the recorded answers and the receipts of the tools. It needs no key, and
    /// requests, does and records nothing.
    ///
    /// # Errors
    ///
    /// When the record was changed or has a part that cannot be read, or the directive can no longer be prepared.
    pub async fn replay(&self, thread: &ThreadId) -> Result<Replayed, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        refuse_linked_threads(&threads)?;
        let Found { reading, .. } = self.found(&threads, thread)?;
        if reading.record.state.is_final() && never_began(&reading.transcript) {
            return Err(ReopenError::NeverBegan { thread: thread.clone() });
        }
        let unrepeatable = |problem| ReopenError::Unrepeatable { thread: thread.clone(), problem };
        let mut request = recorded_request(&reading.record).map_err(unrepeatable)?;
        request.child_bounds = self.child_bounds(&reading.record, None)?;
        let continues = request.continues.clone();
        let request = PlanRequest::from(&request);
        let prepare =
            |source| ReopenError::Prepare { thread: thread.clone(), source: Box::new(source) };
        let planned = self.plan_run(&request).map_err(prepare)?;
        let PlannedRun { mut plan, answerer, opening, .. } = planned;
        let begins = begins(self, &mut plan, opening, continues.as_ref());
        let Begins { opening, text, injected, .. } = begins.map_err(prepare)?;
        let info = answerer.describe();
        let palette = &plan.offer.palette;
        let limits = plan.limits.limits.clone();
        let text = text.as_deref();
        let contract = plan.contract.clone();
        let tools = palette.specs_as_recorded(&contract, &recorded_tools(&reading.transcript));
        let run = begin_run(opening, text, tools, contract, limits, info.max_output);
        let authority = &plan.authority;
        let hooks = &plan.hooks;
        let record = &reading.record;
        let context =
            ReplayContext { info: &info, palette, authority, injected: &injected, hooks, record };
        Ok(replay(run, &reading.transcript, context).await?)
    }
}

/// A divergence as a diff of what was recorded and what comes out now.
#[must_use]
pub fn divergence_diff(divergence: &Divergence) -> String {
    let Divergence { recorded, replayed, .. } = divergence;
    let ends =
        |text: &str| if text.is_empty() { String::new() } else { format!("{}\n", text.trim_end()) };
    unified_diff(["recorded", "replayed"], &ends(recorded), &ends(replayed))
}
