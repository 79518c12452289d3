//! The right to append to a thread, taken with its journal.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use rye_sign::{PublicKey, SigningKey};

use super::readable::Readable;
use super::{Journal, JournalError, Place};
use crate::record::{Kept, sync_folder};
use crate::store::Store;
use crate::transcript::{Reading, Transcript};
use crate::{Registry, ThreadRecord};

impl Journal {
    /// Creates the thread's folder below `threads`, which is made where it is missing, and takes the
    /// right to append to its transcript; it is given back when the thread ends, or the journal is dropped.
    ///
    /// # Errors
    ///
    /// When the folder is there already or cannot be written, or the store refuses.
    pub fn create(
        threads: &Path,
        record: ThreadRecord,
        key: Arc<SigningKey>,
        registry: Arc<Registry>,
        store: Arc<dyn Store>,
    ) -> Result<Self, JournalError> {
        let mut journal = Self::create_unlisted(threads, record, key, registry, store)?;
        journal.put(Kept::This)?;
        journal.begins = Kept::Either;
        Ok(journal)
    }

    /// As [`Journal::create`], for a thread that begins at once, which leaves the first record of it.
    pub(crate) fn create_unlisted(
        threads: &Path,
        record: ThreadRecord,
        key: Arc<SigningKey>,
        registry: Arc<Registry>,
        store: Arc<dyn Store>,
    ) -> Result<Self, JournalError> {
        let folder = threads.join(record.thread.as_str());
        // The lock of a tree lies in the folder of its root, which may be this one.
        let ownership = store.acquire(&record.thread, &record.root)?;
        if let Err(source) = create_folder(threads, &folder) {
            store.release(&ownership);
            return Err(JournalError::Folder { path: folder, source });
        }
        let account = store.account(&ownership)?;
        let transcript = Transcript::create(store, ownership, &record.directive)?;
        let place = Some(Place { readable: Readable::create(&folder), folder, registry });
        Ok(Self { place, transcript, account, record, key, announces: None, begins: Kept::This })
    }

    /// Takes the right to append to a thread that is there, and verifies its transcript with `keys`; half a record at its end
    /// is cut off. `record` is the verified one of its folder, with whatever the caller adds to its facts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`](crate::store::StoreError::Held) while another program drives it; when the transcript is damaged anywhere but at its end, or
    /// does not end where the record says, or cannot be read. Nothing is changed then.
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
        let (account, claim) = (store.account(&ownership)?, record.transcript.as_ref());
        let (transcript, reading) =
            Transcript::open(store, ownership, &record.directive, keys, claim)?;
        account.open(&record.thread, &reading);
        let readable = Readable::open(&folder, &reading);
        let place = Some(Place { folder, readable, registry });
        let (announces, begins) = (None, Kept::Either);
        Ok((Self { place, transcript, account, record, key, announces, begins }, reading))
    }

    /// A journal of which nothing outlives its store.
    pub(crate) fn in_memory(
        record: ThreadRecord,
        key: Arc<SigningKey>,
        store: Arc<dyn Store>,
    ) -> Result<Self, JournalError> {
        let ownership = store.acquire(&record.thread, &record.root)?;
        let account = store.account(&ownership)?;
        let transcript = Transcript::create(store, ownership, &record.directive)?;
        let (announces, begins) = (None, Kept::Either);
        Ok(Self { place: None, transcript, account, record, key, announces, begins })
    }
}

#[cfg(test)]
impl Journal {
    /// As [`Journal::open`], of which nothing outlives its store.
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
        let (announces, begins) = (None, Kept::Either);
        Ok(Self { place: None, transcript, account, record, key, announces, begins })
    }
}

/// Makes the folder. One without a whole record is no thread, and its owner uses it again.
fn create_folder(threads: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(threads)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_unbegun(folder) => {
            ThreadRecord::remove_unfinished(folder);
        }
        made => made?,
    }
    sync_folder(threads)
}

/// Returns `true` for a folder in which a process was killed before it recorded anything.
fn is_unbegun(folder: &Path) -> bool {
    let length = |name: &str| match fs::symlink_metadata(folder.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(0),
        found => found.ok().filter(fs::Metadata::is_file).map(|found| found.len()),
    };
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    is_folder && !folder.join("thread.json").exists() && length("transcript.jsonl") == Some(0)
}
