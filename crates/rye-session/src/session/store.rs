//! The store of a project's threads: their journals and their registry.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rye_sign::SigningKey;
use rye_thread::store::{LocalStore, Replica, StoreOptions, TreeOwnership};
use rye_thread::{Journal, JournalError, Registry, ThreadId, ThreadRecord};

use super::{RunError, storage_error};
use crate::thread_folder::{RECORD, TRANSCRIPT, has_record};

/// The registry of a project and the store of its threads, which share one database.
#[derive(Debug)]
pub(crate) struct Store {
    pub(super) registry: Arc<Registry>,
    pub(super) threads: Arc<LocalStore>,
    pub(super) folder: PathBuf,
}

impl Store {
    pub(super) fn open(
        threads: &Path,
        options: StoreOptions,
        replica: Option<Arc<dyn Replica>>,
    ) -> Result<Self, RunError> {
        let mut store = LocalStore::open_with(threads, options).map_err(storage_error)?;
        if let Some(replica) = replica {
            store = store.with_replica(replica);
        }
        let store = Arc::new(store);
        let registry = Arc::new(store.registry());
        Ok(Self { registry, threads: store, folder: threads.to_owned() })
    }

    /// Owns the tree like [`Store::own`], and lets other tasks run while it waits.
    pub(super) async fn own_unblocked(
        &self,
        root: &ThreadId,
    ) -> Result<TreeOwnership, JournalError> {
        Ok(self.threads.own_unblocked(root).await?)
    }

    /// Owns the tree of `root` for as long as the result lives, or joins the owner where that is this process.
    pub(super) fn own(&self, root: &ThreadId) -> Result<TreeOwnership, JournalError> {
        Ok(self.threads.own(root)?)
    }

    /// Returns `true` if the thread already has a record.
    pub(super) fn has(&self, thread: &ThreadId) -> bool {
        has_record(&self.folder.join(thread.as_str()))
    }

    /// Removes the records of a thread that could not begin, so that it can: nothing was ever done in it.
    ///
    /// The transcript goes last, because the other files claim it or are derived from it.
    pub(super) fn forget_failed(&self, thread: &ThreadId) -> io::Result<()> {
        let folder = self.folder.join(thread.as_str());
        for name in [RECORD, "transcript.md", TRANSCRIPT] {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn journal(
        &self,
        threads: &Path,
        record: ThreadRecord,
        key: Arc<SigningKey>,
    ) -> Result<Journal, RunError> {
        let registry = Arc::clone(&self.registry);
        let store = Arc::clone(&self.threads);
        Journal::create(threads, record, key, registry, store).map_err(storage_error)
    }
}
