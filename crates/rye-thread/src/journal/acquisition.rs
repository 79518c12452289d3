//! Acquisition of the lock of a thread together with its journal.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use rye_files::read_plain_line;
use rye_sign::{PublicKey, SigningKey};
use rye_transcript::MAX_BYTES;

use super::readable::Readable;
use super::{Journal, JournalError, Place};
use crate::store::Store;
use crate::transcript::{Reading, Transcript};
use crate::{Registry, ThreadRecord};

impl Journal {
    /// Creates the thread's folder below `threads` and acquires the right to append to its transcript.
    ///
    /// A missing `threads` folder is created. The right is released when the thread ends or the journal is dropped.
    ///
    /// # Errors
    ///
    /// [`JournalError`] if the folder exists or cannot be written, or if the store refuses.
    pub fn create(
        threads: &Path,
        record: ThreadRecord,
        key: Arc<SigningKey>,
        registry: Arc<Registry>,
        store: Arc<dyn Store>,
    ) -> Result<Self, JournalError> {
        let folder = threads.join(record.thread.as_str());
        // The lock of a tree is in the folder of its root, which may be this folder.
        let ownership = store.acquire(&record.thread, &record.root)?;
        if let Err(source) = create_folder(threads, &folder) {
            store.release(&ownership);
            return Err(JournalError::Folder { path: folder, source });
        }
        let account = store.account(&ownership)?;
        let transcript = Transcript::create(store, ownership, &record.directive)?;
        let readable = Readable::new(&folder);
        let place = Some(Place { folder, readable, registry, warnings: Vec::new() });
        Ok(Self { place, transcript, account, record, key })
    }

    /// Acquires the right to append to an existing thread, and verifies its transcript with `keys`.
    ///
    /// An incomplete record at the end is cut off. `record` is the verified record of the folder. The caller may have
    /// added facts to it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`](crate::store::StoreError::Held) while another process owns the thread. [`JournalError`] if
    /// the transcript is damaged before its end, does not end where the record says, or cannot be read. Then nothing is
    /// changed.
    pub fn open(
        threads: &Path,
        record: ThreadRecord,
        keys: &[PublicKey],
        key: Arc<SigningKey>,
        registry: Arc<Registry>,
        store: Arc<dyn Store>,
    ) -> Result<(Self, Reading), JournalError> {
        let folder = threads.join(record.thread.as_str());
        let ownership = store.acquire(&record.thread, &record.root)?;
        ThreadRecord::remove_unfinished(&folder);
        let account = store.account(&ownership)?;
        let claim = record.transcript.as_ref();
        let (transcript, reading) =
            Transcript::open(store, ownership, &record.directive, keys, claim)?;
        account.open(&record.thread, &reading);
        let readable = Readable::of_reading(&folder, &reading);
        let place = Some(Place { folder, readable, registry, warnings: Vec::new() });
        Ok((Self { place, transcript, account, record, key }, reading))
    }

    /// Creates a journal without files.
    pub(crate) fn in_memory(
        record: ThreadRecord,
        key: Arc<SigningKey>,
        store: Arc<dyn Store>,
    ) -> Result<Self, JournalError> {
        let ownership = store.acquire(&record.thread, &record.root)?;
        let account = store.account(&ownership)?;
        let transcript = Transcript::create(store, ownership, &record.directive)?;
        Ok(Self { place: None, transcript, account, record, key })
    }
}

#[cfg(test)]
impl Journal {
    /// Opens a journal without files, like [`Journal::open`].
    pub(crate) fn open_in_memory(
        record: ThreadRecord,
        keys: &[PublicKey],
        key: Arc<SigningKey>,
        store: Arc<dyn Store>,
    ) -> Result<Self, JournalError> {
        let ownership = store.acquire(&record.thread, &record.root)?;
        let account = store.account(&ownership)?;
        let (transcript, reading) =
            Transcript::open(store, ownership, &record.directive, keys, None)?;
        account.open(&record.thread, &reading);
        Ok(Self { place: None, transcript, account, record, key })
    }
}

/// Creates the folder. A folder without a complete record is not a thread, so its owner uses it again.
fn create_folder(threads: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(threads)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_unbegun(folder) => {
            ThreadRecord::remove_unfinished(folder);
        }
        made => made?,
    }
    Ok(())
}

/// Returns `true` if a process was killed before it recorded anything in this folder.
///
/// The caller owns the thread, so no other process is about to record there.
fn is_unbegun(folder: &Path) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let has_record = || match read_plain_line(&folder.join("transcript.jsonl"), MAX_BYTES) {
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        Ok(line) => line.ends_with(b"\n"),
    };
    is_folder && !folder.join("thread.json").exists() && !has_record()
}
