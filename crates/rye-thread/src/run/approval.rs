//! Calls that wait for a decision.

use super::{OutOfTurn, Phase, Run};
use crate::Decision;

impl Run {
    /// Waits for a decision on one of the calls of [`Step::CallTools`](crate::Step::CallTools), by its index.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run does not wait for results, or there is no such call.
    pub fn ask_approval(&mut self, index: usize) -> Result<(), OutOfTurn> {
        match &self.phase {
            Phase::Calling(batch) if batch.call(index).is_some() => {
                self.phase = Phase::Waiting { batch: batch.clone(), index };
                Ok(())
            }
            _ => Err(self.out_of_turn("an approval request")),
        }
    }

    /// Takes the decision for which [`Step::AskApproval`](crate::Step::AskApproval) waits.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run does not wait for a decision.
    pub fn approval_decided(&mut self, decision: Decision) -> Result<(), OutOfTurn> {
        let Phase::Waiting { batch, index } = &self.phase else {
            return Err(self.out_of_turn("a decision"));
        };
        let mut batch = batch.clone();
        batch.decisions.insert(*index, decision);
        self.phase = Phase::Calling(batch);
        Ok(())
    }

    /// Returns the decision about the call at this index of [`Step::CallTools`](crate::Step::CallTools).
    #[must_use]
    pub fn decision(&self, index: usize) -> Option<&Decision> {
        match &self.phase {
            Phase::Calling(batch) => batch.decisions.get(&index),
            _ => None,
        }
    }

    /// Removes the decision about a call that has begun, because a decision holds for one execution.
    pub(crate) fn remove_decision(&mut self, index: usize) {
        if let Phase::Calling(batch) = &mut self.phase {
            batch.decisions.remove(&index);
        }
    }
}
