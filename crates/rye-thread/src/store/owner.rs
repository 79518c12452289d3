//! Whether the program that holds a lease still runs.
//!
//! A program that opens a store locks a file of its own for as long as it lives. The system frees the lock when the
//! program dies, however it dies, so that nobody waits for the lease of a program that was killed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The locked file of this program, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Owner {
    name: String,
    path: PathBuf,
    _lock: File,
}

impl Owner {
    /// Locks the first file of the folder that nobody alive has; its name holds this program's number.
    pub(super) fn enter(folder: &Path) -> io::Result<Self> {
        let process = std::process::id();
        for number in 0..MOST {
            let name = format!("owner-{process}-{number}");
            let path = folder.join(&name);
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            if lock(&file) && is_still(&file, &path) {
                return Ok(Self { name, path, _lock: file });
            }
        }
        Err(io::Error::other("too many stores are open in one program"))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A file that stays is found to be nobody's.
        drop(fs::remove_file(&self.path));
    }
}

/// Whether the program of this name lives; where the system has no such locks, a lease lapses by its time alone.
pub(super) fn lives(folder: &Path, name: &str) -> bool {
    // The name was read from a file of the project, which may say anything.
    is_name(name)
        && match File::open(folder.join(name)) {
            Err(error) => error.kind() != io::ErrorKind::NotFound,
            Ok(file) => !cfg!(unix) || !lock(&file),
        }
}

/// Whether a program can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.strip_prefix("owner-").and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

const MOST: u32 = 10_000;

/// Locks the file for as long as it is open or until it is unlocked, unless somebody else has.
pub(super) fn lock(file: &File) -> bool {
    try_lock(file).is_ok()
}

#[cfg(unix)]
pub(super) fn try_lock(file: &File) -> io::Result<()> {
    let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    Ok(rustix::fs::flock(file, exclusive)?)
}

#[cfg(not(unix))]
pub(super) fn try_lock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn unlock(file: &File) {
    // Closing the file does it, too.
    let _unlocked = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

#[cfg(not(unix))]
pub(super) fn unlock(_: &File) {}

/// Whether the file has not been removed between its opening and its locking.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
}

#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        assert!(is_name("owner-1-0") && is_name("owner-4194304-9999"));
        for name in [
            "",
            "owner-",
            "owner-1",
            "owner--1",
            "owner-1-",
            "owner-1-0.taken",
            "../owner-1-0",
            "owner-1-0/../x",
            "x",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_lives_as_long_as_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let first = Owner::enter(folder.path()).unwrap();
        let second = Owner::enter(folder.path()).unwrap();
        assert_ne!(first.name(), second.name());
        let name = first.name().to_owned();
        assert!(lives(folder.path(), &name) && lives(folder.path(), second.name()));
        drop(first);
        assert!(!lives(folder.path(), &name));
        assert_eq!(Owner::enter(folder.path()).unwrap().name(), name, "it is free again");
    }

    #[test]
    fn a_file_that_a_killed_program_left_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("owner-1-0"), "").unwrap();
        assert!(!lives(folder.path(), "owner-1-0"));
        assert!(!lives(folder.path(), "owner-2-0"));
    }
}
