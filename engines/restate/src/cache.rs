//! The folder with a worker's own files of threads.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rye::files::open_with;

/// A folder that one worker has until this value is dropped.
///
/// Two workers in one folder would replace each other's files.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    _lock: File,
}

/// The most workers of one user space on one machine.
const MOST: usize = 1_000;

impl Cache {
    /// Takes the folder.
    ///
    /// # Errors
    ///
    /// When another worker has it, or it cannot be made.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let cache = Self::try_open(folder)?;
        cache.with_context(|| format!("another worker uses `{}`", folder.display()))
    }

    /// Takes the first folder of a user space that no worker has.
    ///
    /// # Errors
    ///
    /// When there is none, or it cannot be made.
    pub fn in_user_space(user: &Path) -> anyhow::Result<Self> {
        for number in 0..MOST {
            let folder = user.join(".ai/cache/engine").join(number.to_string());
            if let Some(cache) = Self::try_open(&folder)? {
                return Ok(cache);
            }
        }
        anyhow::bail!("{MOST} workers use this user space");
    }

    fn try_open(folder: &Path) -> anyhow::Result<Option<Self>> {
        let failed = || format!("the cache `{}` cannot be used", folder.display());
        fs::create_dir_all(folder).with_context(failed)?;
        let folder = folder.canonicalize().with_context(failed)?;
        let path = folder.join("lock");
        let lock =
            open_with(&path, File::options().create(true).append(true)).with_context(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { folder, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error).with_context(failed),
        }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_a_cache_of_its_own() {
        let user = tempfile::tempdir().unwrap();
        let first = Cache::in_user_space(user.path()).unwrap();
        let second = Cache::in_user_space(user.path()).unwrap();
        assert_ne!(first.folder(), second.folder());
        let error = Cache::open(first.folder()).unwrap_err().to_string();
        assert!(error.contains("another worker uses"), "{error}");
        let folder = first.folder().to_owned();
        drop(first);
        assert_eq!(Cache::in_user_space(user.path()).unwrap().folder(), folder);
    }
}
