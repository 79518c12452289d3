//! Ends that come from outside of the run.

use rye_types::LimitSet;

use super::hooks::GO_ON;
use super::{End, OutOfTurn, Phase, Run, decide};
use crate::{Failure, FailureKind};

impl Run {
    /// Ends the conversation after a failure outside of it.
    ///
    /// After a refused call, a failure that may follow from it becomes
    /// [`FailureKind::Refused`](crate::FailureKind::Refused). Its message then says both.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run has ended already.
    pub fn fail(&mut self, failure: Failure) -> Result<(), OutOfTurn> {
        if let Phase::Done(_) = self.phase {
            return Err(self.out_of_turn("a failure"));
        }
        self.end_failed(failure);
        Ok(())
    }

    /// Ends the conversation because it was cancelled.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run has ended already.
    pub fn cancel(&mut self) -> Result<(), OutOfTurn> {
        if let Phase::Done(_) = self.phase {
            return Err(self.out_of_turn("a cancellation"));
        }
        self.phase = Phase::Done(End::Cancelled);
        Ok(())
    }

    /// Continues a run that a limit or a failure of the provider ended, for the operator (SPEC D18).
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run has not ended in such a way ([`FailureKind::may_go_on`]).
    pub fn reopen(&mut self) -> Result<(), OutOfTurn> {
        let failure = self.failure().filter(|failure| failure.kind.may_go_on());
        let reason = match failure {
            None => return Err(self.out_of_turn("a reopening")),
            Some(Failure { kind: FailureKind::Limit(_), .. }) => GO_ON.to_owned(),
            Some(failure) => format!("This did not work: {failure}. Try again."),
        };
        self.reenter(&reason);
        Ok(())
    }

    /// Replaces the limits that [`Run::step`] checks.
    pub(crate) fn limit(&mut self, limits: LimitSet) {
        self.limits = limits;
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self.phase, Phase::Done(End::Cancelled))
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Done(_))
    }

    pub(super) fn end_failed(&mut self, failure: Failure) -> End {
        let end = End::Failed(decide::blame(failure, self.standing_refusal.as_ref()));
        self.failed_in = self.calls_in_progress();
        self.phase = Phase::Done(end.clone());
        end
    }
}
