//! A store that lives as long as its program.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Claim, Lease, Store, StoreError};
use crate::budget::{Ledger, MemoryLedger};
use crate::{Moment, ThreadId};

/// Threads in memory, for programs whose threads need not outlive them.
#[derive(Debug, Default)]
pub struct MemoryStore {
    ledger: MemoryLedger,
    threads: Mutex<BTreeMap<ThreadId, Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    journal: Vec<u8>,
    epoch: u64,
    holder: Option<(String, Moment)>,
}

impl MemoryStore {
    /// A store without threads.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic elsewhere cannot leave half a change behind: none of them can fail midway.
    fn threads(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Kept>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held<T>(&self, lease: &Lease, change: impl FnOnce(&mut Kept) -> T) -> Result<T, StoreError> {
        match self.threads().get_mut(lease.thread()) {
            Some(kept) if kept.epoch == lease.epoch() && kept.holder.is_some() => Ok(change(kept)),
            _ => Err(StoreError::Stale { thread: lease.thread().clone() }),
        }
    }
}

impl Store for MemoryStore {
    fn ledger(&self) -> &dyn Ledger {
        &self.ledger
    }

    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        let mut threads = self.threads();
        let kept = threads.entry(thread.clone()).or_default();
        if let Some((owner, until)) = &kept.holder
            && claim.now < *until
        {
            let (thread, owner, until) = (thread.clone(), owner.clone(), *until);
            return Err(StoreError::Held { thread, owner, until });
        }
        kept.epoch += 1;
        kept.holder = Some((claim.owner.clone(), claim.until));
        Ok(Lease::new(thread.clone(), kept.epoch))
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        match self.held(lease, |kept| kept.holder = None) {
            Err(StoreError::Stale { .. }) => Ok(()),
            done => done,
        }
    }

    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        self.held(lease, |kept| kept.journal.extend_from_slice(lines))
    }

    fn holding(&self, lease: &Lease, action: &mut dyn FnMut()) -> Result<(), StoreError> {
        self.held(lease, |_| action())
    }

    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        self.held(lease, |_| ())
    }

    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.held(lease, |kept| kept.journal.truncate(length))
    }

    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        Ok(self.threads().get(thread).map(|kept| kept.journal.clone()).unwrap_or_default())
    }
}
