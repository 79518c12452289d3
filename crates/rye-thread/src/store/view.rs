//! The list of threads and their owners for a reader.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::lock::Lock;
use super::{Owner, StoreError};
use crate::database::Database;
use crate::{Registry, ThreadId};

/// A reader of the threads in a folder: it makes, locks and changes nothing there, so that a folder can be read that cannot be
/// written, such as another user's.
///
/// Where no process has the database open, what was read of it stays what it was when this was made.
pub struct StoreView {
    database: Arc<Mutex<Database>>,
}

impl StoreView {
    /// Opens the registry of a folder to be read; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When the database cannot be read, or is not as this crate writes it.
    pub fn open(threads: &Path) -> Result<Option<Self>, StoreError> {
        let path = threads.join("registry.db");
        if std::fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        Ok(Some(Self { database: Arc::new(Mutex::new(Database::look(&path)?)) }))
    }

    /// The list of these threads.
    #[must_use]
    pub fn registry(&self) -> Registry {
        Registry::new(&self.database)
    }

    /// The process that owns the tree of `root` below the folder of all threads; `None` where none does. Another process that takes
    /// the lock at the same moment tries again.
    ///
    /// # Errors
    ///
    /// When the lock cannot be read.
    pub fn owner(threads: &Path, root: &ThreadId) -> Result<Option<Owner>, StoreError> {
        let folder = threads.join(root.as_str());
        Ok(Lock::is_held(&lock_of(&folder))?
            .then(|| Owner::read(&folder).unwrap_or_else(Owner::unknown)))
    }
}

/// The lock of a tree, in the folder of its root.
fn lock_of(folder: &Path) -> PathBuf {
    folder.join("lock")
}

impl fmt::Debug for StoreView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreView").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
