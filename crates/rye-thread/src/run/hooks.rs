//! Decisions of hooks about a run, as transitions.
//!
//! | state | input | next state |
//! |---|---|---|
//! | `ready` | `allow_more` threads | `ready`, the limit is longer, and the history ends in a text that says so |
//! | `ready` | `inject` | `ready`, the history ends in the text |
//! | `ready`, or `done`: failed for a conversation that is too long | `hand_over` | `done`: continued in another thread |
//! | `calling` | results, the outputs are not wanted | `ready` |
//! | `done`: failed | `retry` | `ready`, or `calling` where calls were in progress; the request counts as a turn |
//! | `done`: failed for a limit but the one on money | `extend` | the same, and the limit is longer |
//! | `done`: failed | `abort` | `done`: cancelled |

use rye_types::{Limit, LimitHit};
use serde_json::json;

use super::{Batch, End, OutOfTurn, Phase, Returned, Run, decide};
use crate::{Failure, FailureKind, Message, ProviderErrorClass, Refusal, ToolResult};

impl Run {
    /// Adds a message of the user at the end of the history.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run is not between two turns.
    pub fn inject(&mut self, text: &str) -> Result<(), OutOfTurn> {
        let Phase::Ready = self.phase else { return Err(self.out_of_turn("a text")) };
        self.messages.push(Message::User { text: text.to_owned() });
        Ok(())
    }

    /// Continues after a failure, so that the request is sent again. It counts as a turn towards the limit.
    ///
    /// If the last reply is not valid, a message after it says so, because the history is never edited.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run has not failed, or a retry cannot mend the failure ([`FailureKind::may_be_retried`]).
    pub fn retry(&mut self) -> Result<(), OutOfTurn> {
        let failure = self.failure().ok_or_else(|| self.out_of_turn("a retry"))?;
        if !failure.kind.may_be_retried() {
            return Err(self.out_of_turn("a retry"));
        }
        let reason = format!("This did not work: {failure}. Try again.");
        self.retries += 1;
        self.reenter(&reason);
        Ok(())
    }

    /// Continues after a limit, and doubles the limit.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if no limit was reached, or if it is the limit on money, which is never extended (SPEC 10.6).
    pub fn extend(&mut self) -> Result<(), OutOfTurn> {
        let kind = self.failure().map(|failure| failure.kind.clone());
        let Some(FailureKind::Limit(hit)) = kind else {
            return Err(self.out_of_turn("a longer limit"));
        };
        let limit = self.limit_mut(hit.limit);
        let Some(limit) = limit else { return Err(self.out_of_turn("a longer limit")) };
        *limit = hit.value.max(*limit).saturating_add((*limit).max(1));
        self.reenter(GO_ON);
        Ok(())
    }

    /// Doubles a limit on child threads, and says so at the end of the history.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run is not between two turns, or if it is another limit.
    pub fn allow_more(&mut self, limit: Limit) -> Result<(), OutOfTurn> {
        let is_ready = self.is_ready();
        let found = match limit {
            Limit::Depth | Limit::Spawns if is_ready => self.limit_mut(limit),
            _ => None,
        };
        let Some(found) = found else { return Err(self.out_of_turn("more threads")) };
        *found = found.saturating_add((*found).max(1));
        let text = format!("The limit `{limit}` was raised to {found}. Go on.");
        self.inject(&text)
    }

    /// Returns `true` if the limit that was reached has not been raised since.
    pub(crate) fn stands_at(&self, hit: &LimitHit) -> bool {
        let now = match hit.limit {
            Limit::Depth => self.limits.depth,
            Limit::Spawns => self.limits.spawns,
            _ => hit.maximum,
        };
        now <= hit.maximum
    }

    /// Returns a limit that can be raised. The limit on money belongs to the account.
    fn limit_mut(&mut self, limit: Limit) -> Option<&mut u64> {
        match limit {
            Limit::Depth => Some(&mut self.limits.depth),
            Limit::Duration => Some(&mut self.limits.duration_seconds),
            Limit::Spawns => Some(&mut self.limits.spawns),
            Limit::Tokens => Some(&mut self.limits.tokens),
            Limit::Turns => Some(&mut self.limits.turns),
            Limit::Spend => None,
        }
    }

    /// Ends the run because a successor continues the conversation (SPEC 10.10).
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run is neither between two turns nor failed because the conversation is too long.
    pub fn hand_over(&mut self) -> Result<(), OutOfTurn> {
        let too_long = FailureKind::Provider(ProviderErrorClass::ContextTooLong);
        if !self.is_ready() && self.failure().is_none_or(|failure| failure.kind != too_long) {
            return Err(self.out_of_turn("a continuation"));
        }
        self.phase = Phase::Done(End::Continued);
        Ok(())
    }

    /// Changes the end of a failed run to cancelled.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run has not failed.
    pub fn abort(&mut self) -> Result<(), OutOfTurn> {
        if self.failure().is_none() {
            return Err(self.out_of_turn("an abort"));
        }
        self.phase = Phase::Done(End::Cancelled);
        Ok(())
    }

    /// Returns the outputs that [`Run::tools_returned`] would accept after these results.
    #[must_use]
    pub fn returning(
        &self,
        returned: &[Returned],
    ) -> Option<serde_json::Map<String, serde_json::Value>> {
        let Phase::Calling(batch) = &self.phase else { return None };
        let answers = decide::after_calls(&batch.calls, returned.to_vec(), &self.contract, None);
        answers.ok()?.outputs
    }

    /// Takes the results like [`Run::tools_returned`], but rejects the outputs for the given reason.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run does not wait for results, or they do not match the calls.
    pub fn tools_returned_in_vain(
        &mut self,
        returned: Vec<Returned>,
        reason: &str,
    ) -> Result<Vec<ToolResult>, OutOfTurn> {
        self.took_results(returned, Some(reason))
    }

    /// Returns the number of requests that were repeated after a failure.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Returns the estimated number of tokens of the conversation: the last count, and a quarter of the bytes since
    /// then.
    ///
    /// It decides when a successor continues a thread. [`Run::input_bound`] would be far too high for that.
    #[must_use]
    pub fn context_estimate(&self) -> u64 {
        decide::context_estimate(self)
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready)
    }

    /// Returns the limit that would end the run at [`Run::step`], if any.
    pub(crate) fn limit_reached(&self, elapsed: std::time::Duration) -> Option<LimitHit> {
        let turns = self.turns.saturating_add(self.retries);
        self.limits.first_hit(turns, &self.usage, self.elapsed.max(elapsed))
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match &self.phase {
            Phase::Done(End::Failed(failure)) => Some(failure),
            _ => None,
        }
    }

    /// Returns to the point of the failure, in a state from which a request can follow.
    pub(super) fn reenter(&mut self, reason: &str) {
        self.unusable = 0;
        if let Some(batch) = self.failed_in.take() {
            self.phase = Phase::Calling(batch);
            return;
        }
        if let Some(Message::Assistant { reply }) = self.messages.last() {
            let results: Vec<ToolResult> = reply
                .calls
                .iter()
                .map(|call| ToolResult::error(call, json!({ "error": "the call was not run" })))
                .collect();
            if !results.is_empty() {
                self.messages.push(Message::ToolResults { results });
            }
            self.messages.push(Message::User { text: reason.to_owned() });
        }
        self.phase = Phase::Ready;
    }

    /// Returns the calls that were in progress when the run failed.
    pub(super) fn calls_in_progress(&self) -> Option<Batch> {
        match &self.phase {
            Phase::Calling(batch) | Phase::Waiting { batch, .. } => Some(batch.clone()),
            _ => None,
        }
    }

    /// Returns the refused calls after the first `known` ones.
    pub(crate) fn refusals_since(&self, known: usize) -> &[Refusal] {
        self.refusals.get(known..).unwrap_or_default()
    }
}

/// The message after a reply that a limit separated from its continuation.
pub(super) const GO_ON: &str = "Go on.";
