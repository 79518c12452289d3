//! The threads below one, as the registry lists them.

use std::collections::BTreeSet;

use rye_thread::{
    ApprovalRequest, ThreadId, ThreadRecord, ThreadState, ThreadSummary, pending_approval,
    spawned_children,
};

use super::ReopenError;
use crate::Rye;
use crate::session::{Host, Store};
use crate::thread_reading::Found;

impl Rye {
    /// All threads that stand below these, each after the one that started it. The registry lists them, and their own records say
    /// so; one whose record cannot be read is believed to, because it is not ended either, which is told.
    pub(super) fn below(
        &self,
        threads: &[ThreadId],
        store: &Store,
    ) -> Result<Vec<ThreadSummary>, ReopenError> {
        let listed = store.registry.list()?;
        let mut found: Vec<ThreadSummary> = Vec::new();
        let mut parents = threads.to_vec();
        let mut place = 0;
        while let Some(parent) = parents.get(place).cloned() {
            let is_new = |row: &&ThreadSummary| {
                row.parent.as_ref() == Some(&parent) && !parents.contains(&row.thread)
            };
            let is_child = |row: &&ThreadSummary| {
                let found = self.found(&store.folder, &row.thread);
                found.map_or(true, |found| found.reading.record.parent.as_ref() == Some(&parent))
            };
            let children: Vec<&ThreadSummary> =
                listed.iter().filter(is_new).filter(is_child).collect();
            let ids: Vec<ThreadId> = children.iter().map(|row| row.thread.clone()).collect();
            found.extend(children.into_iter().cloned());
            parents.extend(ids);
            place += 1;
        }
        Ok(found)
    }

    /// Lists the threads that these have begun and that are not listed, because their program was stopped between the two; whether
    /// there are any.
    pub(super) fn list_all_begun(
        &self,
        parents: &[ThreadId],
        store: &Store,
    ) -> Result<bool, ReopenError> {
        let mut is_new = false;
        for parent in parents {
            // What cannot be read was not ended either, which is told.
            let Ok(Found { reading, .. }) = self.found(&store.folder, parent) else { continue };
            for spawn in spawned_children(&reading.transcript).unwrap_or_default() {
                is_new |= self.list_begun(parent, &spawn.child, store)?;
            }
        }
        Ok(is_new)
    }

    fn list_begun(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        store: &Store,
    ) -> Result<bool, ReopenError> {
        if !store.has(child) || store.registry.show(child)?.is_some() {
            return Ok(false);
        }
        let Ok(Found { reading, .. }) = self.found(&store.folder, child) else { return Ok(false) };
        let is_its = reading.record.parent.as_ref() == Some(parent);
        if is_its {
            store.registry.enter(&reading.record)?;
        }
        Ok(is_its)
    }

    /// Lists all that was begun below a thread, by the records.
    fn list_tree(&self, thread: &ThreadId, store: &Store) -> Result<(), ReopenError> {
        let mut looked_at = BTreeSet::new();
        loop {
            let below = self.below(std::slice::from_ref(thread), store)?;
            let known = std::iter::once(thread).chain(below.iter().map(|row| &row.thread));
            let new: Vec<ThreadId> = known.filter(|it| !looked_at.contains(*it)).cloned().collect();
            if new.is_empty() {
                return Ok(());
            }
            self.list_all_begun(&new, store)?;
            looked_at.extend(new);
        }
    }

    /// Lists how a thread has ended by its record, where its line says otherwise: that is not waited for, and a loss of power may
    /// undo it. Where the operator has a key, only what that key signed is listed.
    pub(in crate::session) fn list_end(
        &self,
        found: &Found,
        host: &Host<'_>,
    ) -> Result<(), ReopenError> {
        let record = &found.reading.record;
        let is_listed = found.is_own(host) && record.state.is_final();
        let Some(threads) = self.threads().filter(|_| is_listed) else {
            return Ok(());
        };
        let store = self.opened(&threads)?;
        if store.registry.show(&record.thread)?.is_some_and(|row| row.state != record.state) {
            store.registry.enter(record)?;
        }
        Ok(())
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
        let (mut seen, mut above) = (vec![record.thread.clone()], record.parent.clone());
        while let Some(parent) = above.filter(|parent| !seen.contains(parent))
            && let Some(found) = self.threads().and_then(|it| self.found(&it, &parent).ok())
            && !found.reading.record.state.is_final()
        {
            seen.push(parent);
            above = found.reading.record.parent;
        }
        seen.pop().unwrap_or_else(|| record.thread.clone())
    }

    /// The calls of threads below this one that wait for somebody.
    pub(super) fn waiting_below(
        &self,
        thread: &ThreadId,
        store: &Store,
    ) -> Result<Vec<ApprovalRequest>, ReopenError> {
        self.list_tree(thread, store)?;
        let below = self.below(std::slice::from_ref(thread), store)?;
        let suspended = below.into_iter().filter(|row| row.state == ThreadState::Suspended);
        let mut waiting = Vec::new();
        for row in suspended {
            let Found { reading, .. } = self.found(&store.folder, &row.thread)?;
            waiting.extend(pending_approval(&reading.transcript).map(|pending| pending.request));
        }
        Ok(waiting)
    }
}
