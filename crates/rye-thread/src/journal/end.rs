//! Records that are written without driving the thread: a failed start, a decision, an end.

use std::collections::BTreeMap;

use rye_types::{Moment, Nanos, ThreadState, Usage};

use super::{Journal, JournalError};
use crate::transcript::Event;
use crate::transcript::payload::{Decided, ThreadError};
use crate::{ApprovalRequest, Decider, Decision, Failure, FailureKind, ProviderInfo, RecordedEnd};

impl Journal {
    /// Closes a thread that could not begin, with the reason (SPEC 10.1).
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the record cannot be written.
    pub fn fail(mut self, message: &str, at: Moment) -> Result<(), JournalError> {
        let failure = Some(Failure::new(FailureKind::Preparation, message));
        let state = ThreadState::Error;
        let usage = Usage::default();
        let cost = Nanos::ZERO;
        self.begin_short(at);
        self.append(
            &Event::ThreadError(ThreadError {
                state,
                failure: failure.clone(),
                turns: 0,
                usage,
                cost,
            }),
            at,
        );
        self.checkpoint(at);
        self.sync()?;
        (self.record.state, self.record.failure) = (state, failure);
        self.leave(at)
    }

    /// Records the beginning of a thread that no model answers, so that no process begins it later.
    fn begin_short(&mut self, at: Moment) {
        let nothing = ProviderInfo::new("", "", 0, 0);
        let limits = self.record.limits.clone();
        self.append(&self.start(&nothing, limits, Vec::new(), BTreeMap::new()), at);
        self.checkpoint(at);
    }

    /// Records the decision about the call for which a suspended thread waits. [`resume`](crate::resume) continues the
    /// thread.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the decision cannot be written.
    pub fn decide(
        mut self,
        request: &ApprovalRequest,
        decision: Decision,
        by: &Decider,
        at: Moment,
    ) -> Result<(), JournalError> {
        let decided = Decided::new(request, decision, by.as_str());
        self.reopen()?;
        self.append(&Event::ApprovalDecided(decided), at);
        self.checkpoint(at);
        self.sync()?;
        self.leave(at)
    }

    /// Ends a thread that no process drives, with its cost.
    ///
    /// A thread that did not begin gets a short beginning with its end, so that no process begins it later.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the end cannot be written.
    pub fn cancel(mut self, cost: Nanos, at: Moment) -> Result<(), JournalError> {
        let state = ThreadState::Cancelled;
        let turns = self.record.turns;
        let usage = self.record.usage;
        self.record.cost = cost;
        self.reopen()?;
        if self.transcript.records() == 0 {
            self.begin_short(at);
        }
        self.append(
            &Event::ThreadError(ThreadError { state, failure: None, turns, usage, cost }),
            at,
        );
        self.checkpoint(at);
        self.sync()?;
        self.record.state = state;
        self.leave(at)
    }

    /// Writes an end that the transcript already holds to `thread.json` and to the registry.
    ///
    /// The process that recorded it was stopped before it could do so, so that the thread ended at the time of that record.
    /// `cost` is the cost of the thread.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the end cannot be written.
    pub fn close(mut self, end: RecordedEnd, cost: Nanos, at: Moment) -> Result<(), JournalError> {
        let ended = end.at();
        self.checkpoint(at);
        self.sync()?;
        let record = &mut self.record;
        record.apply_end(end);
        record.cost = cost;
        self.leave(ended)
    }

    /// Writes the record and releases the thread for another process.
    fn leave(mut self, at: Moment) -> Result<(), JournalError> {
        self.record.transcript = Some(self.transcript.claim());
        self.record.updated = at;
        let rendered = self.take_rendered();
        self.put(rendered)?;
        self.transcript.release();
        Ok(())
    }
}
