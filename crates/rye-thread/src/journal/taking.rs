//! The right to drive a thread, taken with its journal.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use rye_sign::{PublicKey, SigningKey};

use super::readable::Readable;
use super::{Journal, JournalError, Place};
use crate::record::{Kept, sync_folder};
use crate::store::{Claim, Store};
use crate::transcript::{Reading, Transcript};
use crate::{Moment, Registry, ThreadRecord};

impl Journal {
    /// Creates the thread's folder, which must be new, below `threads`, which is made where it is missing, and takes
    /// the right to drive the thread; it is given back when the thread ends, or the journal is dropped.
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
        // Before there is a folder, so that whoever sees none while it has the lease knows that nobody is about to begin.
        let lease = store.acquire(&record.thread, &claim(&*store, &record, record.created))?;
        if let Err(source) = create_folder(threads, &folder) {
            store.release(&lease)?;
            return Err(JournalError::Folder { path: folder, source });
        }
        let transcript = Transcript::create(store, lease, &record.directive)?;
        let place = Some(Place { readable: Readable::create(&folder), folder, registry });
        Ok(Self { place, transcript, record, key, announces: None, begins: Kept::This })
    }

    /// Takes the right to drive a thread that is there, and verifies its transcript with `keys`; half a record at its end
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
        now: Moment,
    ) -> Result<(Self, Reading), JournalError> {
        let claim = claim(&*store, &record, now);
        Self::open_with(threads, record, keys, key, registry, store, &claim)
    }

    /// As [`Journal::open`], by this claim: who ends a thread claims it at a time that is later than any lease lasts, and says that
    /// it is there to end it.
    ///
    /// # Errors
    ///
    /// As [`Journal::open`].
    pub fn open_with(
        threads: &Path,
        record: ThreadRecord,
        keys: &[PublicKey],
        key: Arc<SigningKey>,
        registry: Arc<Registry>,
        store: Arc<dyn Store>,
        claim: &Claim,
    ) -> Result<(Self, Reading), JournalError> {
        let folder = threads.join(record.thread.as_str());
        let lease = store.acquire(&record.thread, claim)?;
        ThreadRecord::remove_unfinished(&folder);
        let claim = record.transcript.as_ref();
        let (transcript, reading) = Transcript::open(store, lease, &record.directive, keys, claim)?;
        let readable = Readable::open(&folder, &reading);
        let place = Some(Place { folder, readable, registry });
        let (announces, begins) = (None, Kept::Either);
        Ok((Self { place, transcript, record, key, announces, begins }, reading))
    }

    /// A journal of which nothing outlives its store.
    pub(crate) fn in_memory(
        record: ThreadRecord,
        key: Arc<SigningKey>,
        store: Arc<dyn Store>,
        now: Moment,
    ) -> Result<Self, JournalError> {
        let lease = store.acquire(&record.thread, &claim(&*store, &record, now))?;
        let transcript = Transcript::create(store, lease, &record.directive)?;
        Ok(Self { place: None, transcript, record, key, announces: None, begins: Kept::Either })
    }
}

/// A claim for as long as the program lives, where the store sees that, so that nobody goes on with a thread while a question of
/// it is on somebody's screen; else for as long as the thread may still run, and some.
///
/// A thread ends by its limit on time, so that nobody needs to say in between that it is still there.
fn claim(store: &dyn Store, record: &ThreadRecord, now: Moment) -> Claim {
    let lasts = record.limits.duration_seconds.saturating_add(GRACE_SECONDS);
    let millis = i64::try_from(lasts.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let until = match store.sees_death() {
        true => i64::MAX,
        false => now.as_unix_millis().saturating_add(millis),
    };
    let until = Moment::from_unix_millis(until);
    Claim::new(&format!("process {}", std::process::id()), now, until)
}

/// What a thread may take to write down its end.
const GRACE_SECONDS: u64 = 60;

fn create_folder(threads: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(threads)?;
    fs::create_dir(folder)?;
    sync_folder(threads)
}
