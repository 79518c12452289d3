//! The very call that a thread waits with.

use rye_thread::transcript::Reading;
use rye_thread::{ApprovalRequest, Decision, PendingApproval, ThreadRecord, pending_approval};

use super::ReopenError;
#[cfg(feature = "mcp")]
use super::commands::decision_commands;
#[cfg(feature = "mcp")]
use crate::rye::Rye;

/// A call that waits for a decision, and where the record asks about it.
///
/// What the call says does not tell it from another one: providers give the same id again, and models call the same tool with
/// the same arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    asked: PendingApproval,
    /// The directive that its thread follows.
    directive: String,
    /// `true` if another thread started its thread.
    is_below: bool,
}

impl Waiting {
    /// The call with which a thread waits by its record.
    pub(crate) fn read(record: &ThreadRecord, reading: &Reading) -> Option<Self> {
        let asked = pending_approval(reading)?;
        let directive = record.directive.clone();
        let is_below = record.parent.is_some();
        Some(Self { asked, directive, is_below })
    }

    /// Returns `true` if this is the call that was asked about there.
    pub(super) fn is(&self, asked: &PendingApproval) -> bool {
        self.asked == *asked
    }

    pub(crate) fn request(&self) -> &ApprovalRequest {
        &self.asked.request
    }

    /// Fails if another call was meant, or if the call is one that is only approved by itself.
    pub(super) fn check(&self, expected: &Self, decision: &Decision) -> Result<(), ReopenError> {
        let thread = self.asked.request.thread.clone();
        let item_id = &self.asked.request.item_id;
        if expected != self {
            return Err(ReopenError::AnotherCall { thread });
        }
        if *decision == Decision::ApprovedInThread && self.asked.request.covers.is_empty() {
            let item_id = item_id.clone();
            return Err(ReopenError::EachByItself { thread, item_id, seq: self.asked.seq });
        }
        Ok(())
    }

    /// The operator's commands that decide about just this call.
    #[cfg(feature = "mcp")]
    pub(crate) fn commands(&self) -> String {
        decision_commands(&self.asked)
    }

    /// The place of the record that asks about it.
    pub(crate) fn seq(&self) -> u64 {
        self.asked.seq
    }

    pub(super) fn into_request(self) -> ApprovalRequest {
        self.asked.request
    }
}

/// The parts of a waiting call that a client is shown.
#[cfg(feature = "mcp")]
impl Waiting {
    pub(crate) fn directive(&self) -> &str {
        &self.directive
    }

    pub(crate) fn is_below(&self) -> bool {
        self.is_below
    }
}

#[cfg(feature = "mcp")]
impl Rye {
    /// The call as its thread's record asks about it; `None` where the thread does not wait with such a call by now.
    pub(crate) fn waiting(&self, request: &ApprovalRequest) -> Option<Waiting> {
        let reading = self.found(&self.threads()?, &request.thread).ok()?.reading;
        let waiting = Waiting::read(&reading.record, &reading.transcript);
        waiting.filter(|waiting| *waiting.request() == *request)
    }
}
