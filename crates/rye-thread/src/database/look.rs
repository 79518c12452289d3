//! The file read by who makes and changes nothing, wherever it lies.
//!
//! SQLite reads a file in WAL mode only with two more beside it, and makes them where they are missing: that fails in a folder that
//! cannot be written, and leaves them behind in one that can. So the file is read as bytes where nobody has it open, which is when
//! it is whole by itself.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{BUSY, DatabaseError, Operations, VERSION, refuse_foreign, refuse_others};
use crate::read_plain;

/// A connection for reading; none where the file is of an older version, whose tables have to be brought up to date first.
pub(super) fn look(path: &Path) -> Result<Option<(Connection, Operations)>, DatabaseError> {
    for _ in 0..LOOKS {
        match looked(path) {
            // The last program that had it open may just have removed what it shared.
            Err(DatabaseError::Sqlite(error))
                if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {}
            done => return done,
        }
    }
    looked(path)
}

fn looked(path: &Path) -> Result<Option<(Connection, Operations)>, DatabaseError> {
    refuse_others(path)?;
    let connection = match whole(path)? {
        Some(bytes) => in_memory(bytes)?,
        None if beside(path, "-shm").exists() => with_others(path)?,
        None => left_behind(path)?,
    };
    let operations = Operations::bound(&connection)?;
    let version: i64 =
        connection
            .query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))?;
    match version {
        VERSION => refuse_foreign(&connection).map(|()| Some((connection, operations))),
        ..VERSION => Ok(None),
        version => Err(DatabaseError::OtherVersion { version }),
    }
}

/// The bytes of the file, unless something that belongs to them is elsewhere or they change while they are read.
fn whole(path: &Path) -> Result<Option<Vec<u8>>, DatabaseError> {
    let stamp = |found: &Metadata| (found.len(), found.modified().ok());
    for _ in 0..LOOKS {
        if has_more(path) {
            return Ok(None);
        }
        let before = fs::metadata(path).map_err(DatabaseError::Unreadable)?;
        let bytes = read_plain(path, MOST_BYTES).map_err(DatabaseError::Unreadable)?;
        let after = fs::metadata(path).map_err(DatabaseError::Unreadable)?;
        if stamp(&before) == stamp(&after) && !has_more(path) {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Whether a program has written, or was killed before it could bring what it wrote into the file itself.
fn has_more(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|found| 0 < found.len())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn in_memory(mut bytes: Vec<u8>) -> Result<Connection, DatabaseError> {
    // What is in memory has no second file: bytes 18 and 19 say that there is one.
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

/// Beside the programs that have it open, or as the one that was killed left it.
fn with_others(path: &Path) -> Result<Connection, DatabaseError> {
    let connection = Connection::open_with_flags(path, READ_ONLY)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// What a program that was killed wrote, in a folder to which it was copied without what programs share: nobody has it open, so that
/// no lock is needed, and what would be shared stays in memory.
fn left_behind(path: &Path) -> Result<Connection, DatabaseError> {
    let vfs = if cfg!(windows) { "win32-none" } else { "unix-none" };
    let connection = Connection::open_with_flags_and_vfs(path, READ_ONLY, vfs)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    Ok(connection)
}

const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// A list of far more threads than a project has. One that another program has open is read as far as needed.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// How often a file is read that is written at the same time.
const LOOKS: usize = 10;
