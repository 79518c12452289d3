//! The list of threads and their owners for a reader.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::lock::Lock;
use super::{Owner, StoreError};
use crate::database::Database;
use crate::{Registry, ThreadId};

/// A read-only view of the threads in a folder. It creates, locks and changes nothing, so it also works on a read-only
/// folder, such as another user's.
///
/// While no process has the database open, the view stays as it was when it was opened.
pub struct StoreView {
    database: Arc<Mutex<Database>>,
}

impl StoreView {
    /// Opens the registry of a folder to be read; `None` where there is none yet.
    ///
    /// # Errors
    ///
    /// When the database cannot be read, or is not as this version writes it: the folders of the threads tell the same.
    pub fn open(threads: &Path) -> Result<Option<Self>, StoreError> {
        let path = threads.join("registry.db");
        if std::fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let database = Database::open_read_only(&path)?;
        Ok(database.map(|database| Self { database: Arc::new(Mutex::new(database)) }))
    }

    /// Returns the list of these threads.
    #[must_use]
    pub fn registry(&self) -> Registry {
        Registry::new(&self.database)
    }

    /// Returns the process that owns the tree of `root` below the folder of all threads, if any.
    ///
    /// A process that acquires the lock at the same moment tries again.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the lock cannot be read.
    pub fn owner(threads: &Path, root: &ThreadId) -> Result<Option<Owner>, StoreError> {
        let folder = threads.join(root.as_str());
        Ok(Lock::is_held(&lock_of(&folder))?
            .then(|| Owner::read(&folder).unwrap_or_else(Owner::unknown)))
    }
}

/// Returns the path of a tree's lock, in the folder of its root.
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
