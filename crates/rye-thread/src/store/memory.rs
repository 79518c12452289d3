//! A store that lives as long as its process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Owner, Ownership, Store, StoreError};
use crate::{ThreadId, TreeAccount};

/// Threads in memory, for processes whose threads need not survive them.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Threads>);

#[derive(Debug, Default)]
struct Threads {
    transcripts: BTreeMap<ThreadId, Vec<u8>>,
    /// The account of each tree, by its root.
    accounts: BTreeMap<ThreadId, Arc<TreeAccount>>,
    /// The number of the ownership of each owned thread.
    owned: BTreeMap<ThreadId, u64>,
    /// The number of the last ownership.
    last: u64,
}

impl MemoryStore {
    /// Creates a store without threads.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Locks the threads. A panic leaves no partial change, because no change can fail midway.
    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_owned<T>(
        &self,
        ownership: &Ownership,
        change: impl FnOnce(&mut Vec<u8>) -> T,
    ) -> Result<T, StoreError> {
        let mut threads = self.threads();
        let thread = ownership.thread();
        if threads.owned.get(thread) != Some(&ownership.number()) {
            return Err(StoreError::NotOwned { thread: thread.clone() });
        }
        Ok(change(threads.transcripts.entry(thread.clone()).or_default()))
    }
}

impl Store for MemoryStore {
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        let mut threads = self.threads();
        if threads.owned.contains_key(thread) {
            return Err(StoreError::Held { thread: thread.clone(), owner: Owner::new() });
        }
        threads.last += 1;
        let number = threads.last;
        threads.owned.insert(thread.clone(), number);
        Ok(Ownership::new(thread.clone(), root.clone(), number))
    }

    fn release(&self, ownership: &Ownership) {
        let mut threads = self.threads();
        if threads.owned.get(ownership.thread()) == Some(&ownership.number()) {
            threads.owned.remove(ownership.thread());
        }
    }

    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.check(ownership)?;
        let mut threads = self.threads();
        Ok(Arc::clone(threads.accounts.entry(ownership.root().clone()).or_default()))
    }

    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.change_owned(ownership, |_| ())
    }

    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        self.change_owned(ownership, |transcript| transcript.extend_from_slice(lines))
    }

    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.check(ownership)
    }

    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.change_owned(ownership, |transcript| transcript.truncate(length))
    }

    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        Ok(self.threads().transcripts.get(thread).cloned().unwrap_or_default())
    }
}
