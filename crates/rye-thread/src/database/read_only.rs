//! Read-only opening of the registry file, in a writable folder or not.
//!
//! SQLite reads a file in WAL mode only with two more files beside it and creates them if they are missing. That fails
//! in a read-only folder and leaves files behind in a writable one. So the file is read as bytes while no program has
//! it open, because then it is complete by itself.

use std::fs::{self, Metadata};
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rye_files::read_unlinked;

use super::opening::open_in_time;
use super::{
    BUSY, DatabaseError, Operations, VERSION, beside, objects, refuse_foreign, refuse_others,
    user_version,
};

/// Opens a connection for reading.
///
/// Returns `None` if the file holds nothing yet.
pub(super) fn open(path: &Path) -> Result<Option<(Connection, Operations)>, DatabaseError> {
    for _ in 0..ATTEMPTS {
        match try_open(path) {
            // The last program that had the file open may have just removed the shared files.
            Err(DatabaseError::Sqlite(error))
                if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {}
            done => return done,
        }
    }
    try_open(path)
}

fn try_open(path: &Path) -> Result<Option<(Connection, Operations)>, DatabaseError> {
    refuse_others(path)?;
    let connection = match whole(path)? {
        Some(bytes) => in_memory(bytes)?,
        None if beside(path, "-shm").exists() => with_others(path)?,
        None => left_behind(path)?,
    };
    let operations = Operations::bound(&connection)?;
    match user_version(&connection)? {
        VERSION => refuse_foreign(&connection).map(|()| Some((connection, operations))),
        0 if objects(&connection)?.is_empty() => Ok(None),
        version => Err(DatabaseError::OtherVersion { version }),
    }
}

/// Reads the bytes of the file.
///
/// Returns `None` if a part of the data is in another file, or if the file changes while it is read.
fn whole(path: &Path) -> Result<Option<Vec<u8>>, DatabaseError> {
    let stamp = |found: &Metadata| (found.len(), found.modified().ok());
    for _ in 0..ATTEMPTS {
        if has_more(path) {
            return Ok(None);
        }
        let before = fs::metadata(path).map_err(DatabaseError::Unreadable)?;
        let bytes = read_unlinked(path, MOST_BYTES).map_err(DatabaseError::Unreadable)?;
        let after = fs::metadata(path).map_err(DatabaseError::Unreadable)?;
        if stamp(&before) == stamp(&after) && !has_more(path) {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Returns `true` if the write-ahead log holds data: a program is writing, or was killed before its checkpoint.
fn has_more(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|found| 0 < found.len())
}

fn in_memory(mut bytes: Vec<u8>) -> Result<Connection, DatabaseError> {
    // A database in memory has no write-ahead log. Bytes 18 and 19 say that there is one.
    if let Some(modes) = bytes.get_mut(18..20) {
        modes.fill(1);
    }
    let mut connection = Connection::open_in_memory()?;
    if !bytes.is_empty() {
        let length = bytes.len();
        connection.deserialize_read_exact("main", bytes.as_slice(), length, true)?;
    }
    Ok(connection)
}

/// Opens the file together with the programs that share it, or as a killed program left it.
fn with_others(path: &Path) -> Result<Connection, DatabaseError> {
    let connection = open_in_time(path, READ_ONLY, None)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// Opens a copy of the file and its write-ahead log without the shared memory file.
///
/// A killed program left it so, and the folder was copied. No program has it open, so it needs no lock, and the shared
/// state stays in memory.
fn left_behind(path: &Path) -> Result<Connection, DatabaseError> {
    let vfs = if cfg!(windows) { "win32-none" } else { "unix-none" };
    let connection = open_in_time(path, READ_ONLY, Some(vfs))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    Ok(connection)
}

const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The largest file that is read as bytes, for far more threads than a project has. A file that another program has
/// open is read as far as needed.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The number of attempts to read a file that is written at the same time.
const ATTEMPTS: usize = 10;
