//! The threads below one, as the registry lists them.

use rye_thread::{ThreadId, ThreadState, ThreadSummary, pending_approval};

use super::ReopenError;
use crate::Rye;
use crate::session::Store;
use crate::thread_reading::Found;

impl Rye {
    /// All threads that stand below these in the registry, each after the one that started it.
    pub(super) fn below(
        &self,
        threads: &[ThreadId],
        store: &Store,
    ) -> Result<Vec<ThreadSummary>, ReopenError> {
        let listed = store.registry.list().map_err(|error| ReopenError::Store(error.into()))?;
        let mut found: Vec<ThreadSummary> = Vec::new();
        let mut parents = threads.to_vec();
        let mut place = 0;
        while let Some(parent) = parents.get(place).cloned() {
            let is_new = |row: &&ThreadSummary| {
                row.parent.as_ref() == Some(&parent) && !parents.contains(&row.thread)
            };
            let children: Vec<&ThreadSummary> = listed.iter().filter(is_new).collect();
            let ids: Vec<ThreadId> = children.iter().map(|row| row.thread.clone()).collect();
            found.extend(children.into_iter().cloned());
            parents.extend(ids);
            place += 1;
        }
        Ok(found)
    }

    /// The first of the threads that stand above this one and have not ended, with which a whole tree goes on; this one, where
    /// there is none above.
    ///
    /// # Errors
    ///
    /// When there is no project, or the list of threads cannot be read.
    pub fn first_of_tree(&self, thread: &ThreadId) -> Result<ThreadId, ReopenError> {
        let store = self.opened(&self.threads().ok_or(ReopenError::NoProject)?)?;
        let listed = store.registry.list().map_err(|error| ReopenError::Store(error.into()))?;
        let row = |thread: &ThreadId| listed.iter().find(|row| row.thread == *thread);
        let mut seen = vec![thread.clone()];
        while let Some(last) = seen.last()
            && let Some(parent) = row(last).and_then(|last| row(last.parent.as_ref()?))
            && !parent.state.is_final()
            && !seen.contains(&parent.thread)
        {
            seen.push(parent.thread.clone());
        }
        Ok(seen.pop().unwrap_or_else(|| thread.clone()))
    }

    /// The threads below this one whose calls wait for somebody, each with the item that it calls.
    pub(super) fn waiting_below(
        &self,
        thread: &ThreadId,
        store: &Store,
    ) -> Result<Vec<(ThreadId, String)>, ReopenError> {
        let below = self.below(std::slice::from_ref(thread), store)?;
        let suspended = below.into_iter().filter(|row| row.state == ThreadState::Suspended);
        let mut waiting = Vec::new();
        for row in suspended {
            let Found { reading, .. } = self.found(&store.folder, &row.thread)?;
            let request = pending_approval(&reading.transcript);
            waiting.extend(request.map(|request| (row.thread, request.item_id)));
        }
        Ok(waiting)
    }
}
