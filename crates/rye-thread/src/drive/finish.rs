//! The end or the pause of a thread: its last records, and its outcome.

use ThreadState::{Error, Running};

use rye_types::{Nanos, SpendLimit, ThreadState};

use super::{Driver, Stop};
use crate::transcript::Event;
use crate::transcript::payload::{ThreadComplete, ThreadContinued, ThreadError};
use crate::{ApprovalRequest, End, Failure, JournalError, Outcome, Run, Step, ThreadId};

impl Driver<'_> {
    /// Records the end; a thread whose end cannot be recorded has none.
    pub(super) async fn finish(&mut self, run: &Run, end: End) -> Outcome {
        let written = self.recorder.write();
        let outcome = self.outcome(run, end);
        let recorded = match written {
            Ok(()) => self.record_end(run, &outcome).await,
            failed => failed,
        };
        match recorded {
            Ok(()) => self.save(outcome).await,
            Err(stop) => self.settle_unrecorded(outcome, stop).await,
        }
    }

    async fn record_end(&mut self, run: &Run, outcome: &Outcome) -> Result<(), Stop> {
        let event = match &outcome.continued_by {
            Some(next) => self.continuation(run, outcome, next),
            None => event(outcome),
        };
        self.recorder.emit(&event);
        self.recorder.seal().await
    }

    /// The end of a thread that is continued. Its successor gets the limits less what the thread used, so that no
    /// continuation extends a budget. Reserved money is not passed on either, because a child may have spent it.
    fn continuation(&self, run: &Run, outcome: &Outcome, next: &ThreadId) -> Event {
        let mut limits = run.limits().clone();
        let turns = run.turns().saturating_add(run.retries());
        limits.turns = limits.turns.saturating_sub(turns);
        limits.tokens = limits.tokens.saturating_sub(run.usage().total());
        let seconds = self.recorder.time.elapsed().as_secs();
        limits.duration_seconds = limits.duration_seconds.saturating_sub(seconds);
        limits.spawns = limits.spawns.saturating_sub(self.executor.children.spawned);
        limits.spend = self.account(run).free().map_or(SpendLimit::Unlimited, SpendLimit::AtMost);
        Event::ThreadContinued(ThreadContinued {
            next: next.clone(),
            limits,
            text: outcome.text.clone(),
            turns: outcome.turns,
            usage: outcome.usage,
            cost: outcome.cost,
        })
    }

    /// Writes down an end that the transcript holds already, and its program could not tell elsewhere.
    pub(super) async fn close(&mut self, run: &Run, state: ThreadState) -> Outcome {
        let end = match run.clone().step(run.elapsed()) {
            Step::Done(end) => end,
            _ => End::Cancelled,
        };
        let outcome = Outcome { state, ..self.outcome(run, end) };
        match self.recorder.seal().await {
            Ok(()) => self.save(outcome).await,
            Err(stop) => self.settle_unrecorded(outcome, stop).await,
        }
    }

    /// Leaves the thread so that it can be resumed. A part that cannot be written is resumed from
    /// the part that was.
    pub(super) async fn pause(&mut self, run: &Run, asked: Option<ApprovalRequest>) -> Outcome {
        let written = self.recorder.write();
        let state = if asked.is_some() { ThreadState::Suspended } else { ThreadState::Running };
        // The approval wait of an own call was signed when it began.
        let is_own =
            asked.as_ref().is_some_and(|asked| asked.thread == *self.recorder.journal.thread());
        let sealed = if is_own { Ok(()) } else { self.recorder.seal().await };
        let outcome = Outcome { state, asked, ..self.outcome(run, End::Cancelled) };
        match written.and(sealed) {
            Ok(()) => self.save(outcome).await,
            Err(stop) => self.settle_unrecorded(outcome, stop).await,
        }
    }

    /// Leaves a thread that its storage stopped as it is, so that it can be resumed from there.
    pub(super) async fn leave(&mut self, run: &Run, failure: Failure) -> Outcome {
        // What can be written is.
        let _tried: Result<(), Stop> = self.recorder.write();
        let outcome = self.outcome(run, End::Cancelled);
        self.settle_unrecorded(outcome, Stop::Unwritten(failure)).await
    }

    /// Returns the outcome of a thread whose end or pause could not be recorded: it has not ended
    /// yet.
    async fn settle_unrecorded(&mut self, outcome: Outcome, stop: Stop) -> Outcome {
        let failure = match stop {
            Stop::Failed(failure) => {
                let outcome = Outcome { failure: Some(failure), ..nothing(outcome, Error) };
                return self.save(outcome).await;
            }
            Stop::Unwritten(failure) => failure,
            Stop::Cancelled | Stop::Interrupted | Stop::Suspended(_) => return outcome,
        };
        let outcome = Outcome { failure: Some(failure), ..nothing(outcome, Running) };
        let _tried: Result<(), JournalError> = self.recorder.finish(&outcome).await;
        outcome
    }

    /// The successor in the conversation.
    fn successor(&self) -> ThreadId {
        self.successor
            .clone()
            .unwrap_or_else(|| self.recorder.journal.thread().successor(self.clock.now()))
    }

    /// Notes in the record what the transcript holds. If that fails, resuming the thread reads it from
    /// the transcript.
    async fn save(&mut self, outcome: Outcome) -> Outcome {
        match self.recorder.finish(&outcome).await.map_err(Stop::from) {
            Err(Stop::Unwritten(failure)) if outcome.failure.is_none() => {
                Outcome { failure: Some(failure), ..nothing(outcome, Running) }
            }
            _ => {
                let transcript = self.recorder.journal.record().transcript.clone();
                // What could not be written beside the transcript is known only now.
                Outcome { transcript, warnings: self.recorder.warnings(), ..outcome }
            }
        }
    }

    fn outcome(&self, run: &Run, end: End) -> Outcome {
        let continued_by = matches!(end, End::Continued).then(|| self.successor());
        let (state, outputs, failure) = match end {
            End::Cancelled => (ThreadState::Cancelled, None, self.hooks.due.aborted.clone()),
            End::Completed { outputs, .. } => (ThreadState::Completed, outputs, None),
            End::Continued => (ThreadState::Continued, None, None),
            End::Failed(failure) => (ThreadState::Error, None, Some(failure)),
        };
        Outcome {
            state,
            asked: None,
            outputs,
            text: run.text().to_owned(),
            turns: run.turns(),
            usage: *run.usage(),
            cost: self.cost(run),
            failure,
            continued_by,
            transcript: None,
            warnings: self.recorder.warnings(),
        }
    }

    /// The cost of the thread with all below it, failed requests included.
    pub(super) fn cost(&self, run: &Run) -> Nanos {
        self.account(run).cost
    }
}

/// The outcome without its end.
fn nothing(outcome: Outcome, state: ThreadState) -> Outcome {
    Outcome { state, asked: None, outputs: None, continued_by: None, ..outcome }
}

/// The outcome of a run that was not driven, and of which nothing is recorded.
pub(super) fn undriven_outcome(run: &Run, failure: Failure) -> Outcome {
    Outcome {
        state: ThreadState::Error,
        asked: None,
        outputs: None,
        text: run.text().to_owned(),
        turns: run.turns(),
        usage: *run.usage(),
        cost: run.cost(),
        failure: Some(failure),
        continued_by: None,
        transcript: None,
        warnings: Vec::new(),
    }
}

fn event(outcome: &Outcome) -> Event {
    let Outcome { state, outputs, text, turns, usage, cost, failure, .. } = outcome.clone();
    match state {
        ThreadState::Completed => {
            Event::ThreadComplete(ThreadComplete { outputs, text, turns, usage, cost })
        }
        _ => Event::ThreadError(ThreadError { state, failure, turns, usage, cost }),
    }
}
