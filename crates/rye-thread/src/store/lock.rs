//! Advisory locks of the operating system, which the kernel releases when their process dies.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rye_files::open_with;

use super::StoreError;

/// A locked file.
///
/// When it was locked, path and descriptor were one inode. [`Lock::is_in_place`] says if they still are.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    /// The device and the inode of the descriptor, which stay what they are.
    locked: (u64, u64),
}

/// The mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    Exclusive,
    Shared,
}

impl Lock {
    /// Locks the file, and creates it if it is missing.
    ///
    /// Returns `None` while another process holds it, and if the file was replaced meanwhile. The caller tries again
    /// then.
    pub(super) fn take(path: &Path) -> Result<Option<Self>, StoreError> {
        let mut options = File::options();
        let file = match open_with(path, options.read(true).write(true).create(true)) {
            Ok(file) => file,
            Err(source) => return Err(lock_error(path, source)),
        };
        if !lock(&file, path, Sharing::Exclusive)? {
            return Ok(None);
        }
        let locked = file.metadata().map_err(|source| lock_error(path, source))?;
        let lock = Self { file, path: path.to_owned(), locked: identity(&locked) };
        Ok(lock.is_in_place().then_some(lock))
    }

    /// Returns `true` while another process holds the file exclusively. A missing file is not created.
    pub(super) fn is_held(path: &Path) -> Result<bool, StoreError> {
        Self::is_held_against(path, Sharing::Shared)
    }

    /// Returns `true` while a process holds the file in a mode that excludes `sharing`.
    pub(super) fn is_held_against(path: &Path, sharing: Sharing) -> Result<bool, StoreError> {
        match open_with(path, File::options().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(lock_error(path, source)),
            Ok(file) => lock(&file, path, sharing).map(|is_free| !is_free),
        }
    }

    #[cfg(all(test, unix))]
    pub(super) fn descriptor(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` if the file at the path is the locked one.
    pub(super) fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.locked)
    }

    /// Unlocks explicitly, because a descriptor that another process inherited would keep the lock otherwise.
    pub(super) fn unlock(&self) {
        unlock(&self.file);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.unlock();
    }
}

/// Returns the device and the inode of a file.
#[cfg(unix)]
pub(super) fn identity(found: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
pub(super) fn identity(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// Returns `false` while another process holds the lock.
#[cfg(unix)]
fn lock(file: &File, path: &Path, sharing: Sharing) -> Result<bool, StoreError> {
    use rustix::fs::{FlockOperation, flock};
    let operation = match sharing {
        Sharing::Exclusive => FlockOperation::NonBlockingLockExclusive,
        Sharing::Shared => FlockOperation::NonBlockingLockShared,
    };
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(lock_error(path, error.into())),
    }
}

#[cfg(not(unix))]
fn lock(_: &File, _: &Path, _: Sharing) -> Result<bool, StoreError> {
    Err(StoreError::NoLocks)
}

#[cfg(unix)]
fn unlock(file: &File) {
    // If unlocking fails, closing the last descriptor unlocks the file.
    let _closed_anyway = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

#[cfg(not(unix))]
fn unlock(_: &File) {}

/// Returns the error of a lock that cannot be opened or acquired. Exhaustion of the system has its own error, because
/// the file itself is intact.
#[cfg(unix)]
pub(super) fn lock_error(path: &Path, source: io::Error) -> StoreError {
    use rustix::io::Errno;
    let path = path.to_owned();
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOLCK) => StoreError::LocksExhausted { path, source },
        Some(Errno::MFILE | Errno::NFILE) => StoreError::FilesExhausted { path, source },
        Some(Errno::LOOP) => StoreError::Linked { path },
        _ => StoreError::File { path, source },
    }
}

#[cfg(not(unix))]
pub(super) fn lock_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::File { path: path.to_owned(), source }
}
