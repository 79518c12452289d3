//! The journals of a local store: one file for each thread, in the folder of the thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rye_files::{open_with, read_unlinked};
use rye_transcript::MAX_BYTES;

use super::StoreError;
use crate::handle::Handle;
use crate::{ThreadId, durability};

/// The folder of all threads, and the open files.
#[derive(Debug)]
pub(super) struct Files {
    threads: PathBuf,
    open: Mutex<BTreeMap<ThreadId, Arc<Handle>>>,
    /// The threads whose names this process has synced.
    named: Mutex<BTreeSet<ThreadId>>,
}

impl Files {
    pub(super) fn new(threads: &Path) -> Self {
        Self { threads: threads.to_owned(), open: Mutex::default(), named: Mutex::default() }
    }

    pub(super) fn append(&self, thread: &ThreadId, lines: &[u8]) -> Result<(), StoreError> {
        let file = self.file(thread)?;
        (&**file).write_all(lines).map_err(|source| self.file_error(thread, source))
    }

    pub(super) fn sync(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let file = self.file(thread)?;
        let synced = durability::sync_file(&file, &self.path(thread));
        let synced = synced.and_then(|()| self.sync_names(thread));
        synced.map_err(|source| self.file_error(thread, source))
    }

    /// Makes the names of the file and of its folder durable, once for each time that the thread is acquired.
    fn sync_names(&self, thread: &ThreadId) -> io::Result<()> {
        if self.synced_names().contains(thread) {
            return Ok(());
        }
        durability::sync_folder(&self.threads.join(thread.as_str()))?;
        durability::sync_folder(&self.threads)?;
        self.synced_names().insert(thread.clone());
        Ok(())
    }

    pub(super) fn cut(&self, thread: &ThreadId, length: u64) -> Result<(), StoreError> {
        let file = self.file(thread)?;
        let cut = file.set_len(length);
        let cut = cut.and_then(|()| durability::sync_file(&file, &self.path(thread)));
        cut.map_err(|source| self.file_error(thread, source))
    }

    pub(super) fn read(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        let path = self.own_path(thread)?;
        match read_unlinked(&path, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(self.file_error(thread, source)),
            Ok(bytes) => Ok(bytes),
        }
    }

    pub(super) fn close(&self, thread: &ThreadId) {
        self.open().remove(thread);
        self.synced_names().remove(thread);
    }

    fn file(&self, thread: &ThreadId) -> Result<Arc<Handle>, StoreError> {
        if let Some(file) = self.open().get(thread) {
            return Ok(Arc::clone(file));
        }
        let path = self.own_path(thread)?;
        let file = open_with(&path, OpenOptions::new().append(true).create(true));
        let file = Arc::new(Handle::new(file.map_err(|source| self.file_error(thread, source))?));
        if file.may_stay() {
            self.open().insert(thread.clone(), Arc::clone(&file));
        }
        Ok(file)
    }

    /// Returns the path of the file. Refuses a link in the place of the file or its folder, because the project may
    /// supply one.
    fn own_path(&self, thread: &ThreadId) -> Result<PathBuf, StoreError> {
        let path = self.path(thread);
        let folder = path.parent().map(Path::to_owned);
        let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        match folder.into_iter().chain([path.clone()]).find(is_link) {
            Some(path) => Err(StoreError::Linked { path }),
            None => Ok(path),
        }
    }

    fn path(&self, thread: &ThreadId) -> PathBuf {
        self.threads.join(thread.as_str()).join("transcript.jsonl")
    }

    fn file_error(&self, thread: &ThreadId, source: io::Error) -> StoreError {
        StoreError::File { path: self.path(thread), source }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Arc<Handle>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn synced_names(&self) -> MutexGuard<'_, BTreeSet<ThreadId>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
