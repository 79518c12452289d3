//! The state of a thread by its record, for readers that do not resume it.

use rye_thread::{ApprovalRequest, DecidedApproval, ThreadId, decided_approval, pending_approval};
use rye_types::ThreadState;

use crate::rye::Rye;
use crate::session::conversation::Conversation;

/// The state of a thread.
#[derive(Debug)]
pub(crate) struct Stands {
    /// The thread, or the one in which its conversation goes on.
    pub(crate) thread: ThreadId,
    pub(crate) state: ThreadState,
    /// The call that it waits with, or one of a thread below it.
    pub(crate) asked: Option<ApprovalRequest>,
    /// The recorded decision about such a call, if its thread was not resumed since.
    pub(crate) decided: Option<DecidedApproval>,
}

impl Rye {
    /// Reads the state of a thread from its record; `None` if the record cannot be read.
    pub(crate) fn stands(&self, thread: &ThreadId) -> Option<Stands> {
        let conversation = Conversation::load(self, thread).ok()?;
        let last = conversation.last();
        let thread = last.record.thread.clone();
        let state = last.record.state;
        let store = self.open_store(&self.threads()?).ok()?;
        let mut asked = pending_approval(&last.transcript).map(|pending| pending.request);
        let mut decided = decided_approval(&last.transcript);
        let below = self.below(std::slice::from_ref(&thread), &store);
        for below in below.into_iter().filter(|it| it.state == Some(ThreadState::Suspended)) {
            asked = asked.or(below.asked.map(|pending| pending.request));
            decided = decided.or(below.decided);
        }
        Some(Stands { thread, state, asked, decided })
    }
}
