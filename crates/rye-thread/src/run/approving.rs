//! Calls that somebody decides on.

use super::{OutOfTurn, Phase, Run};
use crate::Decision;

impl Run {
    /// Waits for somebody to decide on one of the calls of [`Step::CallTools`](crate::Step::CallTools), by its place among them.
    ///
    /// # Errors
    ///
    /// When no results are awaited, or there is no such call.
    pub fn ask_approval(&mut self, index: usize) -> Result<(), OutOfTurn> {
        match &self.phase {
            Phase::Calling(batch) if batch.call(index).is_some() => {
                self.phase = Phase::Waiting { batch: batch.clone(), index };
                Ok(())
            }
            _ => Err(self.out_of_turn("a wish for approval")),
        }
    }

    /// Takes the decision that [`Step::AskApproval`](crate::Step::AskApproval) waits for.
    ///
    /// # Errors
    ///
    /// When none is awaited.
    pub fn decided(&mut self, decision: Decision) -> Result<(), OutOfTurn> {
        let Phase::Waiting { batch, index } = &self.phase else {
            return Err(self.out_of_turn("a decision"));
        };
        let mut batch = batch.clone();
        batch.decisions.insert(*index, decision);
        self.phase = Phase::Calling(batch);
        Ok(())
    }

    /// What somebody said about the call at this place of [`Step::CallTools`](crate::Step::CallTools).
    #[must_use]
    pub fn decision(&self, index: usize) -> Option<&Decision> {
        match &self.phase {
            Phase::Calling(batch) => batch.decisions.get(&index),
            _ => None,
        }
    }

    /// Forgets the decision on a call that has begun: one decision is for one run of it.
    pub(crate) fn begun(&mut self, index: usize) {
        if let Phase::Calling(batch) = &mut self.phase {
            batch.decisions.remove(&index);
        }
    }
}
