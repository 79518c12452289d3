//! `registry.db`: the file of the registry, opened one way.

mod look;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

/// Why the file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error(
        "`registry.db` has version {version} and this program reads version {VERSION}; use the program that wrote it"
    )]
    OtherVersion { version: i64 },
    #[error(
        "`registry.db` holds tables or triggers that this program did not make, which could change what is listed; move the file away: threads are found by their records"
    )]
    Foreign,
    #[error("`{}` is no plain file; remove it", .path.display())]
    NotPlain { path: PathBuf },
    #[error("`registry.db` cannot be read")]
    Unreadable(#[source] io::Error),
    #[error(
        "reading `registry.db` takes more than {MOST_OPERATIONS} operations, as in a file that was made to have no end; move the \
         file away: threads are found by their records"
    )]
    Endless,
    #[error("the database cannot be used")]
    Sqlite(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::Endless,
            _ => Self::Sqlite(error),
        }
    }
}

/// One connection to the file.
pub(crate) struct Database {
    connection: Connection,
    durability: Durability,
    operations: Operations,
}

/// Whether a change is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is on disk when the transaction is over, and so is everything before it.
    Now,
    /// When the machine loses its power, it may be undone, with everything after it and nothing before it.
    Later,
}

impl Database {
    /// Opens the file, creating and bringing it up to date as needed.
    pub(crate) fn open(path: &Path) -> Result<Self, DatabaseError> {
        refuse_others(path)?;
        let mut connection = Connection::open(path)?;
        let operations = Operations::bound(&connection)?;
        connection.busy_timeout(BUSY)?;
        enter_wal(&connection)?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        migrate(&mut connection)?;
        Ok(Self { connection, durability: Durability::Now, operations })
    }

    /// Opens a file that is there for who only looks: nothing is made or changed. One of an older version is brought up to date
    /// as by [`Database::open`].
    pub(crate) fn look(path: &Path) -> Result<Self, DatabaseError> {
        match look::look(path)? {
            Some((connection, operations)) => {
                Ok(Self { connection, durability: Durability::Now, operations })
            }
            None => Self::open(path),
        }
    }

    /// Runs `change` in a transaction that holds the write lock from its start, so that what it reads stays true.
    pub(crate) fn write<T, E: From<rusqlite::Error>>(
        &mut self,
        durability: Durability,
        change: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.operations.reset();
        // Statements of this kind are read anew each time, so that one that would change nothing is left out.
        if durability != self.durability {
            self.connection.execute_batch(match durability {
                Durability::Now => "PRAGMA synchronous = FULL",
                Durability::Later => "PRAGMA synchronous = NORMAL",
            })?;
            self.durability = durability;
        }
        write(&mut self.connection, change)
    }

    /// For what changes nothing.
    pub(crate) fn read(&self) -> &Connection {
        self.operations.reset();
        &self.connection
    }
}

/// The operations of SQLite since a connection was last taken for use. A file of a few pages can name each of them many times, so
/// that a walk through its tables would not end; it is interrupted instead.
struct Operations(Arc<AtomicU64>);

impl Operations {
    fn bound(connection: &Connection) -> rusqlite::Result<Self> {
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        let is_over =
            move || MOST_OPERATIONS / u64::from(STRIDE) <= counted.fetch_add(1, Ordering::Relaxed);
        connection.progress_handler(i32::from(STRIDE), Some(is_over))?;
        Ok(Self(steps))
    }

    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A list of a million threads takes half of it.
const MOST_OPERATIONS: u64 = 50_000_000;
/// How many operations there are between two looks at their number.
const STRIDE: u16 = 10_000;

/// Returns the reason of an error: an interruption is one by [`Operations`], because nothing else interrupts.
pub(crate) fn reason(error: rusqlite::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => Box::new(DatabaseError::Endless),
        _ => Box::new(error),
    }
}

/// Whoever sent the folder may have put a pipe there, which would be waited for and for ever, or a link that leads elsewhere.
fn refuse_others(path: &Path) -> Result<(), DatabaseError> {
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let path = PathBuf::from(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(DatabaseError::NotPlain { path });
        }
    }
    Ok(())
}

/// `BEGIN` and `COMMIT` are read once for each connection, as all statements are.
fn write<T, E: From<rusqlite::Error>>(
    connection: &mut Connection,
    change: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    execute(connection, "BEGIN IMMEDIATE", [])?;
    let transaction = Unfinished(connection);
    let value = change(transaction.0)?;
    execute(transaction.0, "COMMIT", [])?;
    Ok(value)
}

/// A transaction, rolled back when it is dropped before its end.
struct Unfinished<'a>(&'a Connection);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Where even that fails, the next transaction cannot begin, and says so.
            drop(self.0.execute_batch("ROLLBACK"));
        }
    }
}

/// Runs a statement that is read once for each connection.
pub(crate) fn execute(
    connection: &Connection,
    statement: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(statement)?.execute(params)
}

/// SQLite does not wait where several programs turn one new file over to WAL, so that those who lose wait for the
/// write lock and look again.
fn enter_wal(connection: &Connection) -> rusqlite::Result<()> {
    let enter = || connection.pragma_update(None, "journal_mode", "wal");
    for _ in 0..ATTEMPTS {
        match enter() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
            }
            done => return done,
        }
    }
    enter()
}

const ATTEMPTS: usize = 100;
/// More than there are, so that none is read twice.
const STATEMENTS: usize = 32;
/// How long another program may hold the write lock.
const BUSY: Duration = Duration::from_secs(10);
const VERSION: i64 = 5;

fn migrate(connection: &mut Connection) -> Result<(), DatabaseError> {
    write(connection, |connection| {
        let version: i64 =
            connection
                .query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))?;
        match version {
            0 => connection.execute_batch(SCHEMA)?,
            4 => connection.execute_batch(WITHOUT_ACCOUNTS)?,
            VERSION => {}
            version => return Err(DatabaseError::OtherVersion { version }),
        }
        refuse_foreign(connection)
    })
}

/// The file lies in the project, whose author may have brought it along: a trigger, or a constraint that makes SQLite
/// pass over an update, would change what is listed.
fn refuse_foreign(connection: &Connection) -> Result<(), DatabaseError> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(SCHEMA)?;
    if objects(connection)? == objects(&ours)? { Ok(()) } else { Err(DatabaseError::Foreign) }
}

/// The statements that made everything in the file.
fn objects(
    connection: &Connection,
) -> rusqlite::Result<BTreeSet<(String, String, Option<String>)>> {
    // One more than there are of ours shows that there are others.
    let mut statement =
        connection.prepare("SELECT type, name, sql FROM sqlite_schema LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// Version 4 held the accounts of threads beside the list.
const WITHOUT_ACCOUNTS: &str = "
DROP TABLE child;
DROP TABLE reservation;
DROP TABLE account;
PRAGMA user_version = 5;
";

/// A change of so much as a space in it, also in what it makes, is a new version: files are held against its text.
pub(crate) const SCHEMA: &str = "
CREATE TABLE thread (
    id TEXT PRIMARY KEY,
    parent TEXT,
    directive TEXT NOT NULL,
    state TEXT NOT NULL,
    created_millis INTEGER NOT NULL,
    updated_millis INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_below ON thread (parent);
PRAGMA user_version = 5;
";
