//! The events of a thread, as a tamper-evident chain of lines (SPEC 10.7).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rye_sign::chain::{Head, sign_checkpoint};
use rye_sign::{PublicKey, SigningKey};
use rye_transcript::NewRecord;
use rye_types::Moment;

pub use rye_transcript::{
    Damage, DamageKind, Event, EventKind, FileError, MAX_BYTES, Markdown, Reading, Record,
    UnverifiedRecord, named_keys, payload, read, read_file,
};

use crate::durability::run_unblocked;
use crate::store::{Ownership, Store, StoreError};
use crate::{ThreadId, TranscriptClaim};

/// An append-only journal of JSON lines. Each line carries the hash of all lines before it.
///
/// After a failed write, nothing more is appended, because the store may end in an incomplete line.
#[derive(Debug)]
pub struct Transcript {
    held: Held,
    directive: String,
    head: Head,
    records: u64,
    /// Lines that the store does not have yet.
    pending: Vec<u8>,
    /// The start of the last pending line.
    newest: usize,
    /// The head and the number of the records in the store.
    written: Position,
    /// The head and the number of the records that this process synced.
    synced: Position,
    /// The approval waits since the last record. The next record holds them.
    approval_wait: Duration,
    /// The first error of a write.
    broken: Option<Arc<StoreError>>,
}

impl Transcript {
    /// Creates the journal of the owned thread. A part of a first record, which a killed process left, is cut off.
    ///
    /// # Errors
    ///
    /// [`TranscriptError`] if it holds a whole record, or cannot be read or cut.
    pub fn create(
        store: Arc<dyn Store>,
        ownership: Ownership,
        directive: &str,
    ) -> Result<Self, TranscriptError> {
        let held = Held { store, ownership };
        let failed = |source| TranscriptError::store(&held.ownership, source);
        let found = held.store.journal(held.ownership.thread()).map_err(failed)?;
        if found.contains(&b'\n') {
            return Err(TranscriptError::NotNew { thread: held.ownership.thread().clone() });
        }
        if !found.is_empty() {
            held.store.cut(&held.ownership, 0).map_err(failed)?;
        }
        // A thread that never begins has an empty journal.
        held.store.append(&held.ownership, b"").map_err(failed)?;
        Ok(Self::after(held, directive, Head::genesis(), 0))
    }

    /// Opens the journal of the owned thread to append to it, and verifies all of it first.
    ///
    /// A killed program leaves an incomplete record at the end. It is cut off and reported in the [`Reading`].
    ///
    /// # Errors
    ///
    /// [`TranscriptError`] if the journal is damaged before its end, has a record that this version cannot read, lacks records of
    /// `claim`, or cannot be read or cut. Then nothing is changed.
    pub fn open(
        store: Arc<dyn Store>,
        ownership: Ownership,
        directive: &str,
        keys: &[PublicKey],
        claim: Option<&TranscriptClaim>,
    ) -> Result<(Self, Reading), TranscriptError> {
        let held = Held { store, ownership };
        let ownership = &held.ownership;
        let thread = held.ownership.thread();
        let failed = |source| TranscriptError::store(ownership, source);
        let bytes = held.store.journal(thread).map_err(failed)?;
        let reading = read(&bytes, thread, keys)
            .map_err(|source| TranscriptError::Journal { thread: thread.clone(), source })?;
        let records = u64::try_from(reading.records.len()).unwrap_or(u64::MAX);
        TranscriptError::refuse_unread(&reading)?;
        if claim.is_some_and(|claim| !reading.fits(claim)) {
            return Err(TranscriptError::Length { thread: thread.clone() });
        }
        if let Some(torn) = &reading.torn {
            let whole = u64::try_from(torn.start).unwrap_or(u64::MAX);
            held.store.cut(ownership, whole).map_err(failed)?;
        }
        Ok((Self::after(held, directive, reading.head, records), reading))
    }

    fn after(held: Held, directive: &str, head: Head, records: u64) -> Self {
        Self {
            held,
            directive: directive.to_owned(),
            head,
            records,
            pending: Vec::new(),
            newest: 0,
            written: Position { head, records },
            synced: Position { head: Head::genesis(), records: 0 },
            approval_wait: Duration::ZERO,
            broken: None,
        }
    }

    /// Appends one record and writes it to the store. It is durable after [`Transcript::sync`].
    ///
    /// # Errors
    ///
    /// [`TranscriptError`] if it cannot be written whole. Every later write fails too.
    pub fn append(&mut self, event: &Event, at: Moment) -> Result<(), TranscriptError> {
        self.add(event, at);
        self.flush()
    }

    /// Appends one record. [`Transcript::flush`] writes it to the store.
    pub(crate) fn add(&mut self, event: &Event, at: Moment) {
        let approval_wait_millis = self.take_approval_wait();
        let record = NewRecord {
            seq: self.records,
            prev: self.head,
            at,
            approval_wait_millis,
            thread: self.held.ownership.thread(),
            directive: &self.directive,
            event,
        };
        self.newest = self.pending.len();
        record.write(&mut self.pending);
        self.head = self.head.link(self.pending.get(self.newest..).unwrap_or_default());
        self.pending.push(b'\n');
        self.records += 1;
    }

    /// Adds an approval wait of this length.
    pub(crate) fn add_approval_wait(&mut self, time: Duration) {
        self.approval_wait += time;
    }

    /// Takes the approval waits in whole milliseconds. The rest stays for a later record.
    fn take_approval_wait(&mut self) -> u64 {
        let millis = u64::try_from(self.approval_wait.as_millis()).unwrap_or(u64::MAX);
        self.approval_wait = self.approval_wait.saturating_sub(Duration::from_millis(millis));
        millis
    }

    /// Returns the last added record without its line end, or an empty text after it was written.
    pub(crate) fn newest(&self) -> &str {
        let line = self.pending.get(self.newest..).unwrap_or_default();
        std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or_default())
            .expect("because a record is written from text")
    }

    /// Writes the added records to the store in one piece.
    ///
    /// # Errors
    ///
    /// [`TranscriptError`] if they cannot be written whole. Every later write fails too.
    pub(crate) fn flush(&mut self) -> Result<(), TranscriptError> {
        if self.pending.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        let lines = std::mem::take(&mut self.pending);
        let written = self.write_unless_broken(|held| held.store.append(&held.ownership, &lines));
        match &written {
            Ok(()) => self.written = Position { head: self.head, records: self.records },
            Err(_) => Position { head: self.head, records: self.records } = self.written,
        }
        // The buffer is kept, because the lines of the next turn need about as much.
        self.pending = lines;
        self.pending.clear();
        self.newest = 0;
        written
    }

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    ///
    /// [`TranscriptError`] if the store refuses. Every later write fails too.
    pub fn sync(&mut self) -> Result<(), TranscriptError> {
        self.flush()?;
        self.write_unless_broken(|held| held.store.sync(&held.ownership))?;
        self.synced = self.written;
        Ok(())
    }

    /// Makes everything appended so far durable, like [`Transcript::sync`], without blocking another thread of this
    /// process.
    pub(crate) async fn sync_unblocked(&mut self) -> Result<(), TranscriptError> {
        self.flush()?;
        let synced = match self.held.store.sync_later(&self.held.ownership) {
            Some(synced) => synced.await,
            None => {
                let store = Arc::clone(&self.held.store);
                let ownership = self.held.ownership.clone();
                run_unblocked(move || store.sync(&ownership)).await
            }
        };
        self.write_unless_broken(|_| synced)?;
        self.synced = self.written;
        Ok(())
    }

    /// Claims the durable records. The claim is open if there are more.
    pub(crate) fn claim(&self) -> TranscriptClaim {
        let Position { head, records } = self.synced;
        TranscriptClaim::new(records, head.to_string(), records != self.records)
    }

    /// Signs the chain so far, appends the signature, and makes all of it durable.
    ///
    /// # Errors
    ///
    /// As [`Transcript::append`].
    pub fn checkpoint(&mut self, key: &SigningKey, at: Moment) -> Result<Event, TranscriptError> {
        let event = self.sign(key, at);
        self.sync()?;
        Ok(event)
    }

    /// Signs the chain so far and adds the signature.
    pub(crate) fn sign(&mut self, key: &SigningKey, at: Moment) -> Event {
        let thread = self.held.ownership.thread().as_str();
        let checkpoint = sign_checkpoint(&self.head, self.records, thread, key)
            .expect("because a thread id is one line of text");
        let event = Event::Checkpoint(payload::SignedHead(checkpoint.to_json()));
        self.add(&event, at);
        event
    }

    /// Returns the hash of all records.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the number of this process's ownership of the thread.
    pub(crate) fn ownership(&self) -> u64 {
        self.held.ownership.number()
    }

    /// Returns the check that this process may still write the thread.
    pub(crate) fn ownership_check(&self) -> impl Fn() -> Result<(), StoreError> + Send + use<> {
        let store = Arc::clone(&self.held.store);
        let ownership = self.held.ownership.clone();
        move || store.check(&ownership)
    }

    /// Releases the thread for another process.
    pub(crate) fn release(&self) {
        self.held.store.release(&self.held.ownership);
    }

    fn write_unless_broken(
        &mut self,
        write: impl FnOnce(&Held) -> Result<(), StoreError>,
    ) -> Result<(), TranscriptError> {
        if let Some(source) = self.broken.clone() {
            let thread = self.held.ownership.thread().clone();
            return Err(TranscriptError::Broken { thread, source });
        }
        write(&self.held).map_err(|source| {
            let source = Arc::new(source);
            self.broken = Some(Arc::clone(&source));
            TranscriptError::store(&self.held.ownership, source)
        })
    }
}

/// The end of a chain of records.
#[derive(Debug, Clone, Copy)]
struct Position {
    head: Head,
    records: u64,
}

/// The right to write, released on drop.
struct Held {
    store: Arc<dyn Store>,
    ownership: Ownership,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.ownership).finish()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.store.release(&self.ownership);
    }
}

/// The reason why a transcript was not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// An earlier write failed, so that the file may end in an incomplete record.
    #[error(
        "the transcript of `{thread}` is not continued after a write that failed; resume the thread"
    )]
    Broken {
        /// The thread.
        thread: ThreadId,
        /// The error of the store.
        source: Arc<StoreError>,
    },
    /// A record in the store differs from the written one.
    #[error("the transcript of `{thread}` is damaged; nothing is added to it")]
    Journal {
        /// The thread.
        thread: ThreadId,
        /// The place and kind of the damage.
        source: Damage,
    },
    /// The transcript does not end where `thread.json` says.
    #[error(
        "the transcript of `{thread}` does not end where `thread.json` says: records are missing or were added"
    )]
    Length {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread has records already.
    #[error("thread `{thread}` has a transcript already; every run is a new thread")]
    NotNew {
        /// The thread.
        thread: ThreadId,
    },
    /// The store refused.
    #[error("cannot write the transcript of `{thread}`")]
    Store {
        /// The thread.
        thread: ThreadId,
        /// The error of the store.
        source: Arc<StoreError>,
    },
    /// This version cannot read a record. Nothing may be added without knowing what it means, and a replay would compare a part.
    #[error(
        "record {record} of thread `{thread}` cannot be used: {problem}; go on with the version that recorded it"
    )]
    Unread {
        /// The thread.
        thread: ThreadId,
        /// The number of the record, from 0.
        record: u64,
        /// The reason in words.
        problem: String,
    },
}

impl TranscriptError {
    /// Refuses a transcript with a record that this version cannot read.
    pub(crate) fn refuse_unread(reading: &Reading) -> Result<(), Self> {
        reading.unread().next().map_or(Ok(()), |(record, problem)| {
            Err(Self::Unread { thread: record.thread.clone(), record: record.seq, problem })
        })
    }

    fn store(ownership: &Ownership, source: impl Into<Arc<StoreError>>) -> Self {
        Self::Store { thread: ownership.thread().clone(), source: source.into() }
    }
}

#[cfg(test)]
pub(crate) mod tests;
