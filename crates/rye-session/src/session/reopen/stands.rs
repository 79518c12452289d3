//! The state of a thread by its record, for readers that do not resume it.

use std::collections::BTreeSet;

use rye_thread::{
    ApprovalRequest, DecidedApproval, ThreadId, ThreadState, decided_approval, pending_approval,
};

use crate::Rye;
use crate::session::conversation::goes_on;
use crate::thread_reading::ThreadReading;

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
        let last = self.last_of(thread)?;
        let thread = last.record.thread.clone();
        let state = last.record.state;
        let store = self.open_store(&self.threads()?).ok()?;
        let below = self.below(std::slice::from_ref(&thread), &store);
        let below = below.iter().filter(|below| below.state == Some(ThreadState::Suspended));
        let below =
            below.filter_map(|below| Some(self.found(&store.folder, &below.thread).ok()?.reading));
        let mut asked = None;
        let mut decided = None;
        for reading in std::iter::once(last).chain(below) {
            let pending = pending_approval(&reading.transcript).map(|pending| pending.request);
            asked = asked.or(pending);
            decided = decided.or_else(|| decided_approval(&reading.transcript));
        }
        Some(Stands { thread, state, asked, decided })
    }

    /// The last thread of a conversation that has a record.
    fn last_of(&self, thread: &ThreadId) -> Option<ThreadReading> {
        let threads = self.threads()?;
        let mut last = self.found(&threads, thread).ok()?.reading;
        let mut seen = BTreeSet::new();
        while seen.insert(last.record.thread.clone())
            && let Some(next) = last.record.continued_by.clone()
            && let Ok(next) = self.found(&threads, &next)
            && goes_on(&last.record, &next.reading.record)
        {
            last = next.reading;
        }
        Some(last)
    }
}
