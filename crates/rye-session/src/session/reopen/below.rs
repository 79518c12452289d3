//! The threads below one, by the transcripts.

use std::collections::{BTreeSet, VecDeque};

use rye_thread::{
    ApprovalRequest, ThreadId, ThreadRecord, ThreadState, ended_children, pending_approval,
    recorded_end, spawned_children,
};

use super::ReopenError;
use crate::Rye;
use crate::session::Store;
use crate::session::conversation::goes_on;

/// A thread below another one.
pub(super) struct Below {
    pub(super) thread: ThreadId,
    /// The state of the thread; `None` if it cannot be read.
    pub(super) state: Option<ThreadState>,
    pub(super) asked: Option<ApprovalRequest>,
}

impl Rye {
    /// All threads that stand below these, and those that continue them, each after the one that started or continues it. The
    /// transcript of a parent names its children.
    pub(super) fn below(&self, threads: &[ThreadId], store: &Store) -> Vec<Below> {
        let mut found = Vec::new();
        let mut seen = threads.iter().cloned().collect();
        let mut parents: VecDeque<ThreadId> = threads.iter().cloned().collect();
        while let Some(parent) = parents.pop_front() {
            for (child, below) in self.next_below(&parent, &mut seen, store) {
                parents.push_back(child);
                found.push(below);
            }
        }
        found
    }

    /// The children of a thread, and the thread that continues it where that is not one of those that are looked below.
    fn next_below(
        &self,
        parent: &ThreadId,
        seen: &mut BTreeSet<ThreadId>,
        store: &Store,
    ) -> Vec<(ThreadId, Below)> {
        let Ok(found) = self.found(&store.folder, parent) else { return Vec::new() };
        let above = found.reading;
        let spawned = spawned_children(&above.transcript).unwrap_or_default();
        let children = spawned.into_iter().map(|spawn| spawn.child);
        let next = above.record.continued_by.clone().filter(|_| above.record.parent.is_some());
        let mut below = Vec::new();
        for thread in children.chain(next) {
            if !store.has(&thread) || !seen.insert(thread.clone()) {
                continue;
            }
            let Ok(found) = self.found(&store.folder, &thread) else {
                let unreadable = Below { thread: thread.clone(), state: None, asked: None };
                below.push((thread, unreadable));
                continue;
            };
            let reading = found.reading;
            let is_child = reading.record.parent.as_ref() == Some(parent);
            if is_child || goes_on(&above.record, &reading.record) {
                let asked = pending_approval(&reading.transcript).map(|pending| pending.request);
                let state = Some(reading.record.state);
                below.push((thread.clone(), Below { thread, state, asked }));
            }
        }
        below
    }

    /// The first of the threads that stand above this one and have not ended, with which a whole tree goes on; this one, where
    /// there is none above.
    ///
    /// # Errors
    ///
    /// When there is no project, or the record of this one cannot be read.
    pub fn first_of_tree(&self, thread: &ThreadId) -> Result<ThreadId, ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        Ok(self.first_above(&self.found(&threads, thread)?.reading.record))
    }

    pub(super) fn first_above(&self, record: &ThreadRecord) -> ThreadId {
        let mut seen = vec![record.thread.clone()];
        let mut above = record.parent.clone();
        while let Some(parent) = above.filter(|parent| !seen.contains(parent))
            && let Some(found) = self.threads().and_then(|it| self.found(&it, &parent).ok())
            && !found.reading.record.state.is_final()
        {
            seen.push(parent);
            above = found.reading.record.parent;
        }
        seen.pop().unwrap_or_else(|| record.thread.clone())
    }

    /// The threads that started this one, the nearest first, and those that each of them and this one continues.
    pub(in crate::session) fn ancestors(&self, thread: &ThreadId) -> BTreeSet<ThreadId> {
        let mut ancestors = BTreeSet::new();
        let mut next = vec![thread.clone()];
        while let (Some(below), Some(threads)) = (next.pop(), self.threads()) {
            let Ok(found) = self.found(&threads, &below) else { continue };
            let ThreadRecord { parent, continues, .. } = found.reading.record;
            let above = parent.into_iter().chain(continues);
            next.extend(above.filter(|it| ancestors.insert(it.clone())));
        }
        ancestors
    }

    /// Refuses a child that has ended by its parent's transcript, and one below a thread that has ended: nothing more happens there.
    /// A thread that has ended by its own record is left to the caller.
    pub(super) fn refuse_ended_below(&self, thread: &ThreadId) -> Result<(), ReopenError> {
        let threads = self.threads().ok_or(ReopenError::NoProject)?;
        let mut below = thread.clone();
        let mut seen = BTreeSet::new();
        while seen.insert(below.clone()) {
            let record = self.found(&threads, &below)?.reading.record;
            if below == *thread && record.state.is_final() {
                return Ok(());
            }
            let Some(parent) = record.parent.clone() else { return Ok(()) };
            let above = self.found(&threads, &parent)?.reading;
            let ended = ended_children(&above.transcript);
            if let Some(end) = self.conversation(&record).iter().find_map(|it| ended.get(it)) {
                return Err(ReopenError::Ended { thread: thread.clone(), state: end.state });
            }
            if recorded_end(&above.transcript).is_some() || above.record.state.is_final() {
                return Err(ReopenError::BelowEnded { thread: thread.clone(), parent });
            }
            below = parent;
        }
        Ok(())
    }

    /// A thread and those that it continues.
    fn conversation(&self, record: &ThreadRecord) -> BTreeSet<ThreadId> {
        let (mut line, mut before) =
            (BTreeSet::from([record.thread.clone()]), record.continues.clone());
        while let Some(thread) = before.filter(|it| line.insert(it.clone())) {
            let found = self.threads().and_then(|threads| self.found(&threads, &thread).ok());
            before = found.and_then(|found| found.reading.record.continues);
        }
        line
    }

    /// Returns the calls of descendants that wait for a decision.
    pub(super) fn waiting_below(&self, thread: &ThreadId, store: &Store) -> Vec<ApprovalRequest> {
        let below = self.below(std::slice::from_ref(thread), store);
        let suspended = below.into_iter().filter(|it| it.state == Some(ThreadState::Suspended));
        suspended.filter_map(|below| below.asked).collect()
    }
}
