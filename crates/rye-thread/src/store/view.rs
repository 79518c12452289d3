//! The list of threads and their leases for who only looks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::StoreError;
use super::local::{row, spent};
use super::owner::lives;
use crate::database::Database;
use crate::{Moment, Nanos, Registry, ThreadId};

/// What a [`LocalStore`](super::LocalStore) would tell of the threads in a folder, without one: nothing is made, locked or changed
/// there, so that a folder can be looked at that cannot be written, such as another user's.
///
/// Where nobody has the database open, what was read of it stays what it was when this was made.
pub struct StoreView {
    database: Arc<Mutex<Database>>,
    threads: PathBuf,
}

impl StoreView {
    /// Looks at the folder of all threads; nothing where no registry is.
    ///
    /// A database of an older version is brought up to date, as by whoever runs a thread.
    ///
    /// # Errors
    ///
    /// When the database cannot be read, or is not as this crate writes it.
    pub fn open(threads: &Path) -> Result<Option<Self>, StoreError> {
        let path = threads.join("registry.db");
        if std::fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let database = Arc::new(Mutex::new(Database::look(&path)?));
        Ok(Some(Self { database, threads: threads.to_owned() }))
    }

    /// The list of these threads.
    #[must_use]
    pub fn registry(&self) -> Registry {
        Registry::new(&self.database)
    }

    /// As [`LocalStore::driver`](super::LocalStore::driver).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn driver(&self, thread: &ThreadId, now: Moment) -> Result<Option<String>, StoreError> {
        let row = row(self.database().read(), thread)?;
        let Some(row) = row.filter(|row| now < row.until) else { return Ok(None) };
        Ok(lives(&self.threads, &row.holder)?.then_some(row.owner))
    }

    /// As [`LocalStore::spent`](super::LocalStore::spent).
    ///
    /// # Errors
    ///
    /// The same.
    pub fn spent(&self, thread: &ThreadId) -> Result<Option<Nanos>, StoreError> {
        spent(self.database().read(), thread)
    }

    fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StoreView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreView").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
