//! The opening of a file by SQLite, which waits for ever if a pipe is in its place.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::DatabaseError;

/// The longest wait for an opening, which waits for no lock.
const LONGEST: Duration = Duration::from_secs(2);

/// Opens a file that was a plain one when it was looked at, with this file system layer of SQLite or the usual one.
///
/// SQLite opens files by their paths alone, and a program may have put a pipe there meanwhile. So another thread opens it, which is
/// left behind if it does not end.
pub(super) fn open_in_time(
    path: &Path,
    flags: OpenFlags,
    layer: Option<&'static str>,
) -> Result<Connection, DatabaseError> {
    open_within(LONGEST, path, flags, layer)
}

fn open_within(
    limit: Duration,
    path: &Path,
    flags: OpenFlags,
    layer: Option<&'static str>,
) -> Result<Connection, DatabaseError> {
    let (send, opened) = mpsc::channel();
    let place = path.to_owned();
    thread::spawn(move || {
        let opened = match layer {
            Some(layer) => Connection::open_with_flags_and_vfs(place, flags, layer),
            None => Connection::open_with_flags(place, flags),
        };
        // Nobody receives what was opened too late.
        drop(send.send(opened));
    });
    match opened.recv_timeout(limit) {
        Ok(opened) => Ok(opened?),
        Err(_) => Err(DatabaseError::NotPlain { path: path.to_owned() }),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_the_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let limit = Duration::from_millis(10);
        let opened = open_within(limit, &path, OpenFlags::SQLITE_OPEN_READ_ONLY, None);
        assert!(matches!(opened, Err(DatabaseError::NotPlain { .. })));
    }
}
