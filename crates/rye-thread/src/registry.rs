//! The list of all threads, in one database.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{OptionalExtension, Row, params};

use crate::database::{self, Database, DatabaseError, Durability, reason};
use crate::{Moment, Nanos, ThreadId, ThreadRecord, ThreadState};

/// `registry.db`: an index over the thread records, which stay the truth.
pub struct Registry(Arc<Mutex<Database>>);

impl Registry {
    /// Opens the database, creating it where there is none; its folder must exist.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or is of another version.
    pub fn open(path: &Path) -> Result<Self, RegistryError> {
        Ok(Self::new(&Arc::new(Mutex::new(Database::open(path)?))))
    }

    /// A registry over a connection that has other uses too.
    pub(crate) fn new(database: &Arc<Mutex<Database>>) -> Self {
        Self(Arc::clone(database))
    }

    /// Enters a thread, or what became of it.
    ///
    /// # Errors
    ///
    /// When the database refuses.
    pub fn enter(&self, record: &ThreadRecord) -> Result<(), RegistryError> {
        let cost = i64::try_from(record.cost.get()).unwrap_or(i64::MAX);
        // Before a thread spends anything, money is set aside in the same file, which is waited for with all before it. Who
        // resumes a thread whose end is undone here finds it in the transcript, as after a program that was killed before it
        // came here. One that waits for somebody is found by its line alone.
        let durability = match record.state {
            ThreadState::Suspended => Durability::Now,
            _ => Durability::Later,
        };
        self.database().write(durability, |connection| {
            database::execute(
                connection,
                "INSERT INTO thread VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (id) DO UPDATE SET state = ?4, updated_millis = ?6, cost_nanos = ?7",
                params![
                    record.thread.as_str(),
                    record.parent.as_ref().map(ThreadId::as_str),
                    record.directive,
                    record.state.as_str(),
                    record.created.as_unix_millis(),
                    record.updated.as_unix_millis(),
                    cost,
                ],
            )?;
            Ok(())
        })
    }

    /// Every thread, the newest first.
    ///
    /// # Errors
    ///
    /// When the database refuses or holds what no version of this crate wrote.
    pub fn list(&self) -> Result<Vec<ThreadSummary>, RegistryError> {
        let database = self.database();
        // Sorted here and not by the database, so that a file in which a row comes again and again ends at the second one.
        let mut statement =
            database.read().prepare(&format!("SELECT {COLUMNS}, rowid FROM thread"))?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, i64>("rowid")?, RowDisk::read(row)?)))?;
        let mut listed: BTreeMap<i64, ThreadSummary> = BTreeMap::new();
        for row in rows {
            let (number, row) = row?;
            let summary = row.into_summary()?;
            let problem = format!("the row of `{}` is there twice", summary.thread);
            if listed.insert(number, summary).is_some() {
                return Err(RegistryError::Malformed { problem });
            }
        }
        let mut summaries: Vec<ThreadSummary> = listed.into_values().rev().collect();
        summaries.sort_by_key(|summary| Reverse(summary.created));
        Ok(summaries)
    }

    /// One thread, if it is known.
    ///
    /// # Errors
    ///
    /// As [`Registry::list`].
    pub fn show(&self, thread: &ThreadId) -> Result<Option<ThreadSummary>, RegistryError> {
        let database = self.database();
        let row = database
            .read()
            .query_row(
                &format!("SELECT {COLUMNS} FROM thread WHERE id = ?1"),
                [thread.as_str()],
                RowDisk::read,
            )
            .optional()?;
        row.map(RowDisk::into_summary).transpose()
    }

    fn database(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

/// One line of the list of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadSummary {
    /// The thread.
    pub thread: ThreadId,
    /// The thread that started it.
    pub parent: Option<ThreadId>,
    /// The id of the directive that it follows.
    pub directive: String,
    /// Where it is in its life.
    pub state: ThreadState,
    /// When it got its folder.
    pub created: Moment,
    /// When it last changed.
    pub updated: Moment,
    /// What it cost.
    pub cost: Nanos,
}

impl ThreadSummary {
    /// The line of a thread that no registry lists, by its record.
    #[must_use]
    pub fn of(record: &ThreadRecord) -> Self {
        Self {
            thread: record.thread.clone(),
            parent: record.parent.clone(),
            directive: record.directive.clone(),
            state: record.state,
            created: record.created,
            updated: record.updated,
            cost: record.cost,
        }
    }
}

/// Why the registry could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A row is not one that this crate writes.
    #[error("registry holds a thread that cannot be read: {problem}; restore `registry.db`")]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// The database failed.
    #[error(
        "cannot use the registry of threads; check the disk and the permissions of `registry.db`"
    )]
    Store {
        /// What the database met.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl From<rusqlite::Error> for RegistryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store { source: reason(error) }
    }
}

impl From<DatabaseError> for RegistryError {
    fn from(error: DatabaseError) -> Self {
        Self::Store { source: Box::new(error) }
    }
}

const COLUMNS: &str = "id, parent, directive, state, created_millis, updated_millis, cost_nanos";

struct RowDisk {
    id: String,
    parent: Option<String>,
    directive: String,
    state: String,
    created: i64,
    updated: i64,
    cost: i64,
}

impl RowDisk {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            parent: row.get(1)?,
            directive: row.get(2)?,
            state: row.get(3)?,
            created: row.get(4)?,
            updated: row.get(5)?,
            cost: row.get(6)?,
        })
    }

    fn into_summary(self) -> Result<ThreadSummary, RegistryError> {
        let malformed = |problem: String| RegistryError::Malformed { problem };
        let thread =
            |text: &str| text.parse::<ThreadId>().map_err(|error| malformed(error.to_string()));
        Ok(ThreadSummary {
            thread: thread(&self.id)?,
            parent: self.parent.as_deref().map(thread).transpose()?,
            directive: self.directive,
            state: self.state.parse().map_err(|error| malformed(format!("{error}")))?,
            created: Moment::from_unix_millis(self.created),
            updated: Moment::from_unix_millis(self.updated),
            cost: Nanos::new(
                u64::try_from(self.cost).map_err(|error| malformed(error.to_string()))?,
            ),
        })
    }
}

#[cfg(test)]
mod tests;
