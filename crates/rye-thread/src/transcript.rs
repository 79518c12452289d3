//! What happened in a thread, as lines that cannot be changed unseen (SPEC 10.7).
//!

mod event;
mod markdown;
mod payload;
mod read;
mod record;
mod wire;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rye_sign::chain::{Head, sign_checkpoint};
use rye_sign::{PublicKey, SigningKey};

pub use self::event::{Event, Injected, Target, Triggered};
pub use self::markdown::markdown;
pub(crate) use self::markdown::markdown_of;
use self::payload::Payload;
pub(crate) use self::payload::recorded_payload;
pub use self::read::{Damage, DamageKind, Reading, read};
pub use self::record::Record;
use self::wire::{RecordWire, Shown};
use crate::store::{Ownership, Store, StoreError};
use crate::{Moment, ThreadId, TranscriptClaim, read_plain};

/// An append-only journal of JSON lines, each of which carries the hash of all before it.
///
/// After a write that failed nothing more is appended: what is in the store then may end in half a line.
#[derive(Debug)]
pub struct Transcript {
    held: Held,
    directive: String,
    head: Head,
    records: u64,
    /// Lines that the store does not have yet.
    pending: Vec<u8>,
    /// Where the last of them begins.
    newest: usize,
    /// The head and the number of the records that it has.
    kept: (Head, u64),
    /// The same of those that are durable, as far as this process made them so.
    synced: (Head, u64),
    /// What people thought since the last record, which the next one tells.
    thought: Duration,
    /// Why the store refused a write.
    broken: Option<Arc<StoreError>>,
}

impl Transcript {
    /// Begins the journal of the owned thread, which must be empty.
    ///
    /// # Errors
    ///
    /// When it is not, or cannot be read.
    pub fn create(
        store: Arc<dyn Store>,
        ownership: Ownership,
        directive: &str,
    ) -> Result<Self, TranscriptError> {
        let held = Held { store, ownership };
        let failed = |source| TranscriptError::store(&held.ownership, source);
        if !held.store.journal(held.ownership.thread()).map_err(failed)?.is_empty() {
            return Err(TranscriptError::NotNew { thread: held.ownership.thread().clone() });
        }
        // A thread that never begins has a journal too, which is empty.
        held.store.append(&held.ownership, b"").map_err(failed)?;
        Ok(Self::after(held, directive, Head::genesis(), 0))
    }

    /// Goes on after what the journal of the owned thread holds, once all of it is verified; half a record at its
    /// end, which a killed program leaves, is cut off first and told in the [`Reading`].
    ///
    /// # Errors
    ///
    /// When the journal is damaged anywhere else, or lacks records that `claim` has, or cannot be read or cut. Nothing is
    /// changed then.
    pub fn open(
        store: Arc<dyn Store>,
        ownership: Ownership,
        directive: &str,
        keys: &[PublicKey],
        claim: Option<&TranscriptClaim>,
    ) -> Result<(Self, Reading), TranscriptError> {
        let held = Held { store, ownership };
        let (ownership, thread) = (&held.ownership, held.ownership.thread());
        let failed = |source| TranscriptError::store(ownership, source);
        let bytes = held.store.journal(thread).map_err(failed)?;
        let reading = read(&bytes, thread, keys)
            .map_err(|source| TranscriptError::Journal { thread: thread.clone(), source })?;
        let records = u64::try_from(reading.records.len()).unwrap_or(u64::MAX);
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
            kept: (head, records),
            synced: (Head::genesis(), 0),
            thought: Duration::ZERO,
            broken: None,
        }
    }

    /// Appends one record; it is with the store when this returns, and durable after [`Transcript::sync`].
    ///
    /// # Errors
    ///
    /// When it cannot be written whole, and ever after.
    pub fn append(&mut self, event: &Event, at: Moment) -> Result<(), TranscriptError> {
        self.add(event, at);
        self.flush()
    }

    /// Appends one record, which is with the store after [`Transcript::flush`].
    pub(crate) fn add(&mut self, event: &Event, at: Moment) {
        let thought_millis = self.told_thought();
        let record = RecordWire {
            seq: self.records,
            ts: Shown(at),
            thread_id: self.held.ownership.thread().as_str(),
            directive: &self.directive,
            event: event.name(),
            payload: Payload(event),
            thought_millis,
            prev: Shown(self.head),
        };
        self.newest = self.pending.len();
        record.write(&mut self.pending);
        self.head = self.head.link(self.pending.get(self.newest..).unwrap_or_default());
        self.pending.push(b'\n');
        self.records += 1;
    }

    /// Notes that somebody thought for so long about what the thread waits for.
    pub(crate) fn thought(&mut self, time: Duration) {
        self.thought += time;
    }

    /// In whole milliseconds; what is left is told once it is one.
    fn told_thought(&mut self) -> u64 {
        let millis = u64::try_from(self.thought.as_millis()).unwrap_or(u64::MAX);
        self.thought = self.thought.saturating_sub(Duration::from_millis(millis));
        millis
    }

    /// The record that was added last, without its line end; empty once the store has it.
    pub(crate) fn newest(&self) -> &str {
        let line = self.pending.get(self.newest..).unwrap_or_default();
        std::str::from_utf8(line.strip_suffix(b"\n").unwrap_or_default())
            .expect("because a record is written from text")
    }

    /// Gives the store what was added, in one piece.
    ///
    /// # Errors
    ///
    /// When it cannot be written whole, and ever after.
    pub(crate) fn flush(&mut self) -> Result<(), TranscriptError> {
        if self.pending.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        let lines = std::mem::take(&mut self.pending);
        let written = self.guarded(|held| held.store.append(&held.ownership, &lines));
        match &written {
            Ok(()) => self.kept = (self.head, self.records),
            Err(_) => (self.head, self.records) = self.kept,
        }
        // The next turn's lines are about as many.
        self.pending = lines;
        self.pending.clear();
        self.newest = 0;
        written
    }

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    ///
    /// When the store refuses, and ever after.
    pub fn sync(&mut self) -> Result<(), TranscriptError> {
        self.flush()?;
        self.guarded(|held| held.store.sync(&held.ownership))?;
        self.synced = self.kept;
        Ok(())
    }

    /// Claims what is durable; more may follow unless that is everything.
    pub(crate) fn claim(&self) -> TranscriptClaim {
        let (head, records) = self.synced;
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
        let event = Event::Checkpoint { checkpoint: checkpoint.to_json() };
        self.add(&event, at);
        event
    }

    /// The hash of all records.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How many records there are.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of this process's ownership of the thread.
    pub(crate) fn ownership(&self) -> u64 {
        self.held.ownership.number()
    }

    /// Fails unless this process may still write the thread.
    pub(crate) fn check_owned(&self) -> Result<(), StoreError> {
        self.held.store.check(&self.held.ownership)
    }

    /// Lets another process go on.
    pub(crate) fn release(&self) {
        self.held.store.release(&self.held.ownership);
    }

    fn guarded(
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

/// The right to write, given back when it is dropped.
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

/// Why a transcript was not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// A write failed before, so that the file may end in half a record.
    #[error(
        "the transcript of `{thread}` is not continued after a write that failed; resume the thread"
    )]
    Broken {
        /// The thread.
        thread: ThreadId,
        /// What the store said then.
        source: Arc<StoreError>,
    },
    /// A record is not the one that was written.
    #[error("transcript `{}` is damaged; do not resume from it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        source: Damage,
    },
    /// A record in the store is not the one that was written.
    #[error("the transcript of `{thread}` is damaged; nothing is added to it")]
    Journal {
        /// The thread.
        thread: ThreadId,
        /// Where and how.
        source: Damage,
    },
    /// It does not end where the record says.
    #[error(
        "the transcript of `{thread}` does not end where `thread.json` says: records are missing or were added"
    )]
    Length {
        /// The thread.
        thread: ThreadId,
    },
    /// Something was recorded for the thread before.
    #[error("thread `{thread}` has a transcript already; every run is a new thread")]
    NotNew {
        /// The thread.
        thread: ThreadId,
    },
    /// The file cannot be read.
    #[error("cannot read the transcript `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The store refused.
    #[error("the transcript of `{thread}` cannot be kept")]
    Store {
        /// The thread.
        thread: ThreadId,
        /// What the store said.
        source: Arc<StoreError>,
    },
}

impl TranscriptError {
    fn store(ownership: &Ownership, source: impl Into<Arc<StoreError>>) -> Self {
        Self::Store { thread: ownership.thread().clone(), source: source.into() }
    }
}

/// The longest transcript that is read, in bytes: it is held in memory, and no run writes as much.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// Reads and verifies a whole file, as [`read`] does for bytes.
///
/// # Errors
///
/// When it cannot be read or is damaged anywhere but in a torn last line.
pub fn read_file(
    path: &Path,
    thread: &ThreadId,
    keys: &[PublicKey],
) -> Result<Reading, TranscriptError> {
    let bytes = read_plain(path, MAX_BYTES)
        .map_err(|source| TranscriptError::Read { path: path.to_owned(), source })?;
    read(&bytes, thread, keys)
        .map_err(|source| TranscriptError::Damaged { path: path.to_owned(), source })
}

#[cfg(test)]
pub(crate) mod tests;
