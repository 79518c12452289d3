//! `registry.db`, the file of the registry, and the one way to open it.

mod opening;
mod read_only;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use self::opening::open_in_time;

/// The problem of a file that cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error("`registry.db` has version {version} and this program reads version {VERSION}")]
    OtherVersion { version: i64 },
    #[error("`registry.db` holds tables or triggers that this program did not create")]
    Foreign,
    #[error("`{}` is not a plain file; remove it", .path.display())]
    NotPlain { path: PathBuf },
    #[error("`registry.db` cannot be read")]
    Unreadable(#[source] io::Error),
    #[error(
        "reading `registry.db` takes more than {MOST_OPERATIONS} operations, as a crafted file can cause"
    )]
    Endless,
    #[error("the database cannot be used")]
    Sqlite(#[source] rusqlite::Error),
}

impl DatabaseError {
    /// Returns `true` if the file holds no index of this version, so that it is written anew: the index is derived from the folders
    /// of the threads.
    fn is_damage(&self) -> bool {
        match self {
            Self::OtherVersion { .. } | Self::Foreign | Self::Endless => true,
            Self::NotPlain { .. } | Self::Unreadable(_) => false,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
        }
    }
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
    operations: Operations,
}

impl Database {
    /// Opens the file. It is made where it is missing, and emptied where it holds no index of this version.
    pub(crate) fn open(path: &Path) -> Result<Self, DatabaseError> {
        refuse_others(path)?;
        let open = || open_in_time(path, OpenFlags::default(), None);
        match Self::prepare(open()?) {
            Err(error) if error.is_damage() => {
                let connection = open()?;
                reset(&connection)?;
                Self::prepare(connection)
            }
            opened => opened,
        }
    }

    /// Nothing waits for the disk. A power loss may undo changes or damage the file, which is then written anew.
    fn prepare(mut connection: Connection) -> Result<Self, DatabaseError> {
        let operations = Operations::bound(&connection)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "synchronous", "off")?;
        enter_wal(&connection)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        migrate(&mut connection)?;
        Ok(Self { connection, operations })
    }

    /// Opens a file for a reader, which makes and changes nothing; `None` where the file holds nothing yet.
    pub(crate) fn open_read_only(path: &Path) -> Result<Option<Self>, DatabaseError> {
        let opened = read_only::open(path)?;
        Ok(opened.map(|(connection, operations)| Self { connection, operations }))
    }

    /// Empties the file, also one whose rows cannot be read.
    pub(crate) fn empty(&mut self) -> Result<(), DatabaseError> {
        self.operations.reset();
        reset(&self.connection)?;
        migrate(&mut self.connection)
    }

    /// Runs `change` in a transaction.
    ///
    /// The transaction holds the write lock from its start, so that everything it reads stays true.
    pub(crate) fn write<T, E: From<rusqlite::Error>>(
        &mut self,
        change: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.operations.reset();
        write(&mut self.connection, change)
    }

    /// Returns the connection, for statements that change nothing.
    pub(crate) fn read(&self) -> &Connection {
        self.operations.reset();
        &self.connection
    }
}

/// The number of SQLite operations since the connection was last taken for use.
///
/// A small file can name each of its pages many times, so that a scan of its tables would not end. Such a scan is
/// interrupted.
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

/// The limit on operations. A list of a million threads takes half of it.
const MOST_OPERATIONS: u64 = 50_000_000;
/// The number of operations between two checks of the limit.
const STRIDE: u16 = 10_000;

/// Returns the reason of an error. Only [`Operations`] interrupts, so an interruption is [`DatabaseError::Endless`].
pub(crate) fn reason(error: rusqlite::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => Box::new(DatabaseError::Endless),
        _ => Box::new(error),
    }
}

/// Refuses a path that is not a plain file.
///
/// A folder from elsewhere may hold a pipe, on which opening would block for ever, or a link to another place.
fn refuse_others(path: &Path) -> Result<(), DatabaseError> {
    for end in ["", "-wal", "-shm", "-journal"] {
        let path = beside(path, end);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(DatabaseError::NotPlain { path });
        }
    }
    Ok(())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Runs `change` in a transaction. `BEGIN` and `COMMIT` are compiled once for each connection, like all statements.
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

/// A transaction that is rolled back if it is dropped before its end.
struct Unfinished<'a>(&'a Connection);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If the rollback fails, the next transaction cannot begin and returns the error.
            drop(self.0.execute_batch("ROLLBACK"));
        }
    }
}

/// Runs a statement that is compiled once for each connection.
pub(crate) fn execute(
    connection: &Connection,
    statement: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(statement)?.execute(params)
}

/// Empties the file in one transaction, whatever it holds: other processes may have it open, so that it is never removed.
fn reset(connection: &Connection) -> Result<(), DatabaseError> {
    connection.busy_timeout(BUSY)?;
    connection.flush_prepared_statement_cache();
    // SQLite has to have looked at the schema once, also at one that it cannot read.
    drop(connection.prepare("SELECT 1 FROM sqlite_schema"));
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = connection.execute_batch("VACUUM");
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    Ok(emptied?)
}

/// Turns the file over to WAL mode.
///
/// SQLite does not wait if several programs do this to a new file at the same time. So a program that loses waits for
/// the write lock and tries again.
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
/// The size of the cache of statements. It exceeds their number, so that no statement is compiled twice.
const STATEMENTS: usize = 32;
/// The longest wait for another program's write lock.
const BUSY: Duration = Duration::from_secs(10);
const VERSION: i64 = 7;

fn migrate(connection: &mut Connection) -> Result<(), DatabaseError> {
    write(connection, |connection| {
        match user_version(connection)? {
            0 if objects(connection)?.is_empty() => connection.execute_batch(SCHEMA)?,
            0 => return Err(DatabaseError::Foreign),
            VERSION => {}
            version => return Err(DatabaseError::OtherVersion { version }),
        }
        refuse_foreign(connection)
    })
}

fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))
}

/// Refuses a file with objects that this program did not create.
///
/// The file is in the project, whose author may have supplied it. A trigger, or a constraint that makes SQLite skip an
/// update, would change the list of threads.
fn refuse_foreign(connection: &Connection) -> Result<(), DatabaseError> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(SCHEMA)?;
    if objects(connection)? == objects(&ours)? { Ok(()) } else { Err(DatabaseError::Foreign) }
}

/// Returns the statements that created the objects of the file.
fn objects(
    connection: &Connection,
) -> rusqlite::Result<BTreeSet<(String, String, Option<String>)>> {
    // The limit is above the number of our objects, so a foreign object is always seen.
    let mut statement =
        connection.prepare("SELECT type, name, sql FROM sqlite_schema LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// The schema of the file. Files are compared with its text, so any change, even of a space, needs a new version.
pub(crate) const SCHEMA: &str = "
CREATE TABLE thread (
    id TEXT PRIMARY KEY,
    parent TEXT,
    directive TEXT NOT NULL,
    state TEXT NOT NULL,
    created_millis INTEGER NOT NULL,
    updated_millis INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    model TEXT,
    turns INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    used_unsigned INTEGER
) STRICT;
CREATE INDEX threads_below ON thread (parent);
PRAGMA user_version = 7;
";
