//! The list of all threads, in one database.

mod folder;
mod summary;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Row, params};

use rye_types::{Moment, Nanos, Usage};

use self::folder::Indexed;
pub use self::summary::ThreadSummary;

use crate::database::{self, Database, DatabaseError, reason};
use crate::{ThreadId, ThreadRecord};

/// `registry.db`: an index over the transcripts, from which it can be written anew at any time.
pub struct Registry(Arc<Mutex<Database>>);

impl Registry {
    /// Opens the database; its folder must exist. The file is made where it is missing, and emptied where it is damaged or of another
    /// version.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, RegistryError> {
        Ok(Self::new(&Arc::new(Mutex::new(Database::open(path)?))))
    }

    /// Creates a registry over a shared connection.
    pub(crate) fn new(database: &Arc<Mutex<Database>>) -> Self {
        Self(Arc::clone(database))
    }

    /// Adds a thread, or updates its row.
    ///
    /// # Errors
    ///
    /// [`RegistryError`] if the write fails.
    pub fn enter(&self, record: &ThreadRecord) -> Result<(), RegistryError> {
        let row = ThreadSummary::of(record);
        self.database().write(|connection| insert(connection, &row, ON_CONFLICT_UPDATE))
    }

    /// Returns all threads, newest first.
    ///
    /// # Errors
    ///
    /// [`RegistryError`] if the database cannot be read, or holds a row that no version of this crate wrote.
    pub fn list(&self) -> Result<Vec<ThreadSummary>, RegistryError> {
        let database = self.database();
        // Sorted here and not by the database, so that reading a file with an endlessly repeated row stops at its
        // second copy.
        let mut statement =
            database.read().prepare(&format!("SELECT {COLUMNS}, rowid FROM thread"))?;
        let rows = statement.query_and_then([], |row| {
            Ok::<_, RegistryError>((row.get::<_, i64>("rowid")?, summary(row)?))
        })?;
        let mut listed: BTreeMap<i64, ThreadSummary> = BTreeMap::new();
        for row in rows {
            let (number, summary) = row?;
            let problem = format!("the row of `{}` occurs twice", summary.thread);
            if listed.insert(number, summary).is_some() {
                return Err(RegistryError::Malformed { problem });
            }
        }
        let mut summaries: Vec<ThreadSummary> = listed.into_values().rev().collect();
        summaries.sort_by_key(|summary| Reverse(summary.created));
        Ok(summaries)
    }

    /// Returns one thread, if it is listed.
    ///
    /// # Errors
    ///
    /// As [`Registry::list`].
    pub fn show(&self, thread: &ThreadId) -> Result<Option<ThreadSummary>, RegistryError> {
        let database = self.database();
        let mut statement =
            database.read().prepare(&format!("SELECT {COLUMNS} FROM thread WHERE id = ?1"))?;
        statement.query_and_then([thread.as_str()], summary)?.next().transpose()
    }

    /// Adds a row for each thread below `threads` that has none, as of a copied folder, or all of a new list. Names are compared, not
    /// times.
    pub(crate) fn complete(&self, threads: &Path) -> Result<(), RegistryError> {
        let Ok(listed) = self.names() else { return self.rebuild(threads).map(drop) };
        let missing: Vec<ThreadId> =
            folder::names(threads).filter(|thread| !listed.contains(thread.as_str())).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.database().write(|connection| {
            for thread in &missing {
                if let Indexed::Thread(row) = Indexed::read(threads, thread) {
                    insert(connection, &row, ON_CONFLICT_KEEP)?;
                }
            }
            Ok(())
        })
    }

    /// Writes the list anew from the first and the last records of all threads below `threads`, in one transaction.
    pub(crate) fn rebuild(&self, threads: &Path) -> Result<Reindexed, RegistryError> {
        if self.list().is_err() {
            self.database().empty()?;
        }
        let mut reindexed = Reindexed::default();
        self.database().write(|connection| {
            database::execute(connection, "DELETE FROM thread", [])?;
            for thread in folder::names(threads) {
                match Indexed::read(threads, &thread) {
                    Indexed::Thread(row) => {
                        insert(connection, &row, ON_CONFLICT_KEEP)?;
                        reindexed.threads += 1;
                    }
                    Indexed::Unreadable => reindexed.unreadable.push(thread),
                    Indexed::Nothing => {}
                }
            }
            Ok::<_, RegistryError>(())
        })?;
        reindexed.unreadable.sort();
        Ok(reindexed)
    }

    /// Notes of threads whose records the caller verified whether they used unsigned items, which the records of a new list do not
    /// vouch for.
    ///
    /// # Errors
    ///
    /// [`RegistryError`] if the write fails.
    pub fn note_unsigned(&self, verified: &[(ThreadId, bool)]) -> Result<(), RegistryError> {
        self.database().write(|connection| {
            for (thread, used_unsigned) in verified {
                let values = params![thread.as_str(), used_unsigned];
                database::execute(connection, NOTE_UNSIGNED, values)?;
            }
            Ok(())
        })
    }

    /// The ids of all rows.
    fn names(&self) -> Result<BTreeSet<String>, RegistryError> {
        let database = self.database();
        let mut statement = database.read().prepare("SELECT id FROM thread")?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    fn database(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A list that was written anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reindexed {
    /// The number of threads on the list.
    pub threads: u64,
    /// The threads that are left out because their first or last record cannot be read.
    pub unreadable: Vec<ThreadId>,
}

const ON_CONFLICT_UPDATE: &str = "INSERT INTO thread VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
    ON CONFLICT (id) DO UPDATE SET state = ?4, updated_millis = ?6, cost_nanos = ?7, model = ?8, turns = ?9,
    input_tokens = ?10, output_tokens = ?11, cache_read_tokens = ?12, cache_write_tokens = ?13, used_unsigned = ?14";

/// The insertion that keeps an existing row, because a process has entered it meanwhile and it is
/// newer.
const ON_CONFLICT_KEEP: &str = "INSERT INTO thread
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) ON CONFLICT (id) DO NOTHING";

fn insert(
    connection: &Connection,
    row: &ThreadSummary,
    statement: &str,
) -> Result<(), RegistryError> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let Usage { input, output, cache_read, cache_write, .. } = row.usage;
    let values = params![
        row.thread.as_str(),
        row.parent.as_ref().map(ThreadId::as_str),
        row.directive,
        row.state.as_str(),
        row.created.as_unix_millis(),
        row.updated.as_unix_millis(),
        number(row.cost.get()),
        row.model,
        number(row.turns),
        number(input),
        number(output),
        number(cache_read),
        number(cache_write),
        row.used_unsigned,
    ];
    database::execute(connection, statement, values)?;
    Ok(())
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

/// The reason why the registry cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A row is not one that this crate writes.
    #[error(
        "registry holds a thread that cannot be read: {problem}; `rye threads reindex` writes the list anew"
    )]
    Malformed {
        /// The problem.
        problem: String,
    },
    /// The database failed.
    #[error(
        "cannot use the registry of threads; check the disk and the permissions of `registry.db`"
    )]
    Store {
        /// The error of the database.
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

const NOTE_UNSIGNED: &str = "UPDATE thread SET used_unsigned = ?2 WHERE id = ?1";

const COLUMNS: &str =
    "id, parent, directive, state, created_millis, updated_millis, cost_nanos, model, turns,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, used_unsigned";

/// Reads the summary of a thread from its row with the `COLUMNS`.
fn summary(row: &Row<'_>) -> Result<ThreadSummary, RegistryError> {
    let malformed = |problem: String| RegistryError::Malformed { problem };
    let thread =
        |text: String| text.parse::<ThreadId>().map_err(|error| malformed(error.to_string()));
    let count = |column: usize| {
        u64::try_from(row.get::<_, i64>(column)?).map_err(|error| malformed(error.to_string()))
    };
    let state: String = row.get(3)?;
    let mut usage = Usage::new(count(9)?, count(10)?);
    usage.cache_read = count(11)?;
    usage.cache_write = count(12)?;
    Ok(ThreadSummary {
        thread: thread(row.get(0)?)?,
        parent: row.get::<_, Option<String>>(1)?.map(thread).transpose()?,
        directive: row.get(2)?,
        state: state.parse().map_err(|error| malformed(format!("{error}")))?,
        created: Moment::from_unix_millis(row.get(4)?),
        updated: Moment::from_unix_millis(row.get(5)?),
        cost: Nanos::new(count(6)?),
        model: row.get(7)?,
        turns: count(8)?,
        usage,
        used_unsigned: row.get(13)?,
    })
}

#[cfg(test)]
mod tests;
