//! What is recorded of a thread by somebody who does not drive it: why it did not begin, what was decided, how it ended.

use super::{Journal, JournalError};
use crate::transcript::Event;
use crate::{
    ApprovalRequest, Decider, Decision, Failure, FailureKind, Moment, Nanos, RecordedEnd,
    ThreadState,
};

impl Journal {
    /// Closes a thread that could not begin, with what stood in its way (SPEC 10.1).
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn fail(mut self, message: &str, at: Moment) -> Result<(), JournalError> {
        self.record.state = ThreadState::Error;
        self.record.failure = Some(Failure::new(FailureKind::Preparation, message));
        self.record.transcript = Some(self.transcript.claim());
        self.record.updated = at;
        self.save()
    }

    /// Records what somebody said, and who, about the call that a suspended thread waits for; [`resume`](crate::resume) goes on.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn decide(
        mut self,
        request: &ApprovalRequest,
        decision: Decision,
        by: &Decider,
        at: Moment,
    ) -> Result<(), JournalError> {
        let (request, by) = (request.clone(), by.as_str().to_owned());
        self.reopen()?;
        self.append(&Event::ApprovalDecided { request, decision, by }, at);
        self.checkpoint(at);
        self.sync()?;
        self.leave(at)
    }

    /// Ends a thread that nobody drives, and that has cost this much.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn cancel(mut self, cost: Nanos, at: Moment) -> Result<(), JournalError> {
        let (state, turns, usage) = (ThreadState::Cancelled, self.record.turns, self.record.usage);
        self.record.cost = cost;
        self.reopen()?;
        // A transcript begins with the thread, and this one may have been stopped before it did.
        if 0 < self.transcript.records() {
            self.append(&Event::ThreadError { state, failure: None, turns, usage, cost }, at);
            self.checkpoint(at);
        }
        self.sync()?;
        self.record.state = state;
        self.leave(at)
    }

    /// Writes down an end that the transcript holds already, and its program could not tell elsewhere; the thread has cost this
    /// much.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn close(mut self, end: RecordedEnd, cost: Nanos, at: Moment) -> Result<(), JournalError> {
        let RecordedEnd { state, turns, usage, outputs, failure, next } = end;
        self.checkpoint(at);
        self.sync()?;
        let record = &mut self.record;
        (record.state, record.turns, record.usage, record.cost) = (state, turns, usage, cost);
        (record.outputs, record.failure, record.continued_by) = (outputs, failure, next);
        self.leave(at)
    }

    /// Writes the record as it is now, and lets somebody else go on.
    fn leave(mut self, at: Moment) -> Result<(), JournalError> {
        self.record.transcript = Some(self.transcript.claim());
        self.record.updated = at;
        self.save()?;
        self.transcript.release();
        Ok(())
    }
}
