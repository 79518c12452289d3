//! The threads below one, by the transcripts.

use std::collections::{BTreeSet, VecDeque};

#[cfg(feature = "mcp")]
use rye_thread::{DecidedApproval, decided_approval};
use rye_thread::{
    PendingApproval, ThreadId, ThreadRecord, ended_children, pending_approval, recorded_end,
    spawned_children,
};
use rye_types::ThreadState;

use super::ReopenError;
use crate::rye::Rye;
use crate::session::Store;
use crate::session::conversation::{continues, successor_of};
use crate::thread_reading::ThreadReading;

/// A thread below another one.
pub(super) struct Below {
    pub(super) thread: ThreadId,
    /// The state of the thread; `None` if it cannot be read.
    pub(super) state: Option<ThreadState>,
    /// The call that it waits with.
    pub(super) asked: Option<PendingApproval>,
    /// The recorded decision about such a call, if the thread was not resumed since.
    #[cfg(feature = "mcp")]
    pub(super) decided: Option<DecidedApproval>,
}

impl Below {
    fn of_reading(reading: &ThreadReading) -> Self {
        Self {
            thread: reading.record.thread.clone(),
            state: Some(reading.record.state),
            asked: pending_approval(&reading.transcript),
            #[cfg(feature = "mcp")]
            decided: decided_approval(&reading.transcript),
        }
    }

    const fn unreadable(thread: ThreadId) -> Self {
        Self {
            thread,
            state: None,
            asked: None,
            #[cfg(feature = "mcp")]
            decided: None,
        }
    }
}

/// A thread, and those that its record names below it.
struct Above {
    record: ThreadRecord,
    below: Vec<ThreadId>,
}

impl Above {
    fn of_reading(reading: ThreadReading) -> Self {
        let spawned = spawned_children(&reading.transcript).unwrap_or_default();
        let children = spawned.into_iter().map(|spawn| spawn.child);
        // The successor of a root is a root, and one of those that are looked below.
        let is_child = reading.record.parent.is_some();
        let next = successor_of(&reading.record).filter(|_| is_child).cloned();
        Self { below: children.chain(next).collect(), record: reading.record }
    }

    /// Returns `true` if the record of a thread that is named here names this one.
    fn is_named_by(&self, record: &ThreadRecord) -> bool {
        record.parent.as_ref() == Some(&self.record.thread) || continues(&self.record, record)
    }
}

impl Rye {
    /// All threads that stand below these, and those that continue them, each after the one that started or continues it. The
    /// transcript of a parent names its children.
    pub(super) fn below(&self, threads: &[ThreadId], store: &Store) -> Vec<Below> {
        let read = |thread: &ThreadId| Some(self.found(&store.folder, thread).ok()?.reading);
        let mut seen: BTreeSet<ThreadId> = threads.iter().cloned().collect();
        let mut found = Vec::new();
        let first = threads.iter().filter_map(read).map(Above::of_reading);
        let mut next: VecDeque<Above> = first.collect();
        while let Some(above) = next.pop_front() {
            for thread in above.below.iter().filter(|thread| store.has(thread)) {
                if !seen.insert(thread.clone()) {
                    continue;
                }
                match read(thread) {
                    None => found.push(Below::unreadable(thread.clone())),
                    Some(reading) if above.is_named_by(&reading.record) => {
                        found.push(Below::of_reading(&reading));
                        next.push_back(Above::of_reading(reading));
                    }
                    Some(_) => {}
                }
            }
        }
        found
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
            if let Some(end) = self.with_predecessors(&record).iter().find_map(|it| ended.get(it)) {
                return Err(ReopenError::Ended { thread: thread.clone(), state: end.state });
            }
            if recorded_end(&above.transcript).is_some() || above.record.state.is_final() {
                return Err(ReopenError::BelowEnded { thread: thread.clone(), parent });
            }
            below = parent;
        }
        Ok(())
    }

    /// A thread and its predecessors.
    fn with_predecessors(&self, record: &ThreadRecord) -> BTreeSet<ThreadId> {
        let mut threads = BTreeSet::from([record.thread.clone()]);
        let mut before = record.continues.clone();
        while let Some(thread) = before.filter(|it| threads.insert(it.clone())) {
            let found = self.threads().and_then(|threads| self.found(&threads, &thread).ok());
            before = found.and_then(|found| found.reading.record.continues);
        }
        threads
    }

    /// Returns the calls of descendants that wait for a decision.
    pub(super) fn waiting_below(&self, thread: &ThreadId, store: &Store) -> Vec<PendingApproval> {
        let below = self.below(std::slice::from_ref(thread), store);
        let suspended = below.into_iter().filter(|it| it.state == Some(ThreadState::Suspended));
        suspended.filter_map(|below| below.asked).collect()
    }
}
