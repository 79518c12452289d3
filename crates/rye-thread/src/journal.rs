//! The folder of one thread: everything that a run leaves behind.

mod readable;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_sign::{PublicKey, SigningKey};

use self::readable::Readable;
use crate::record::{Kept, sync_folder};
use crate::store::{Claim, Store, StoreError};
use crate::transcript::markdown;
use crate::transcript::{Event, Reading, Transcript, TranscriptError};
use crate::{
    ApprovalRequest, Decider, Decision, Failure, FailureKind, Moment, Nanos, Outcome, ProviderInfo,
    RecordError, RecordedEnd, Registry, RegistryError, ThreadId, ThreadRecord, ThreadState,
};

/// The folder `<threads>/<id>/` with `transcript.jsonl`, `transcript.md` and `thread.json`, and the thread's line in
/// the registry.
#[derive(Debug)]
pub struct Journal {
    place: Option<Place>,
    transcript: Transcript,
    record: ThreadRecord,
    key: Arc<SigningKey>,
}

/// Where a journal is kept beside the store; a replay has no such place.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    readable: Readable,
    registry: Arc<Registry>,
}

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
        let journal = Self::create_unlisted(threads, record, key, registry, store)?;
        // Nothing is done before the thread begins, which is waited for.
        journal.put(Kept::Either)?;
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
        Ok(Self { place, transcript, record, key })
    }

    /// Takes the right to drive a thread that is there, and verifies its transcript with `keys`; half a record at its end
    /// is cut off. `record` is the verified one of its folder, with whatever the caller adds to its facts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] while another program drives it; when the transcript is damaged anywhere but at its end, or
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
        let end = record.transcript.as_ref();
        let (transcript, reading) = Transcript::open(store, lease, &record.directive, keys, end)?;
        let readable = Readable::open(&folder, &reading);
        let place = Some(Place { folder, readable, registry });
        Ok((Self { place, transcript, record, key }, reading))
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.record.thread
    }

    /// The key that signs the record and the transcript.
    #[must_use]
    pub fn signing_key(&self) -> Arc<SigningKey> {
        Arc::clone(&self.key)
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
        Ok(Self { place: None, transcript, record, key })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.place.as_ref().map_or(Path::new(""), |place| &place.folder)
    }

    /// How the thread stands.
    #[must_use]
    pub fn record(&self) -> &ThreadRecord {
        &self.record
    }

    /// Closes a thread that could not begin, with what stood in its way (SPEC 10.1).
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn fail(mut self, message: &str, at: Moment) -> Result<(), JournalError> {
        self.record.state = ThreadState::Error;
        self.record.failure = Some(Failure::new(FailureKind::Preparation, message));
        self.record.transcript = Some(self.transcript_end());
        self.record.updated = at;
        self.save()
    }

    /// Which opening of the thread this is, from 1.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.transcript.epoch()
    }

    /// Records what somebody said, and who, about the call that a suspended thread waits for; [`resume`](crate::resume) goes on.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn decide(
        mut self,
        request: &ApprovalRequest,
        decision: Decision,
        by: &Decider,
        at: Moment,
    ) -> Result<(), JournalError> {
        let (request, by) = (request.clone(), by.as_str().to_owned());
        self.reopen()?;
        self.append(&Event::ApprovalDecided { request, decision, by }, at);
        self.checkpoint(at);
        self.sync()?;
        self.record.transcript = Some(self.transcript_end());
        self.record.updated = at;
        self.save()?;
        Ok(self.transcript.release()?)
    }

    /// Ends a thread that nobody drives, and that has cost this much.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn cancel(mut self, cost: Nanos, at: Moment) -> Result<(), JournalError> {
        let (state, turns, usage) = (ThreadState::Cancelled, self.record.turns, self.record.usage);
        self.record.cost = cost;
        self.reopen()?;
        // A transcript begins with the thread, and this one may have been stopped before it did.
        if 0 < self.transcript.records() {
            self.append(&Event::ThreadError { state, failure: None, turns, usage, cost }, at);
            self.checkpoint(at);
        }
        self.sync()?;
        self.record.state = state;
        self.record.transcript = Some(self.transcript_end());
        self.record.updated = at;
        self.save()?;
        Ok(self.transcript.release()?)
    }

    /// Writes down an end that the transcript holds already, and its program could not tell elsewhere; the thread has cost this
    /// much.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub fn close(mut self, end: RecordedEnd, cost: Nanos, at: Moment) -> Result<(), JournalError> {
        let RecordedEnd { state, turns, usage, outputs, failure, next } = end;
        self.checkpoint(at);
        self.sync()?;
        let record = &mut self.record;
        (record.state, record.turns, record.usage, record.cost) = (state, turns, usage, cost);
        (record.outputs, record.failure, record.continued_by) = (outputs, failure, next);
        self.record.transcript = Some(self.transcript_end());
        self.record.updated = at;
        self.save()?;
        Ok(self.transcript.release()?)
    }

    /// Appends an event to both transcripts, which are written with the next [`Journal::flush`] or [`Journal::sync`].
    pub(crate) fn append(&mut self, event: &Event, at: Moment) {
        self.transcript.add(event, at);
        if let Some(place) = &mut self.place {
            place.readable.push(&markdown(event, at));
        }
    }

    /// The record that was appended last, as its line; empty once it was written.
    pub(crate) fn newest(&self) -> &str {
        self.transcript.newest()
    }

    /// Writes what was appended, so that it outlives this program.
    pub(crate) fn flush(&mut self) -> Result<(), JournalError> {
        self.transcript.flush()?;
        // No record: what cannot be written of it is no reason to stop.
        if let Some(place) = &mut self.place {
            place.readable.write();
        }
        Ok(())
    }

    /// What somebody should know although the thread went on.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let warning = self.place.as_ref().and_then(|place| place.readable.warning());
        warning.map(str::to_owned).into_iter().collect()
    }

    /// Puts the transcript on disk, as must be before an effect, so that it outlives the machine's power.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        Ok(self.transcript.sync()?)
    }

    /// Signs the transcript, as [`Journal::append`] records events.
    pub(crate) fn checkpoint(&mut self, at: Moment) -> Event {
        self.transcript.sign(&self.key, at)
    }

    /// Notes that the thread is under way.
    pub(crate) fn begin(
        &mut self,
        provider: &ProviderInfo,
        at: Moment,
    ) -> Result<(), JournalError> {
        self.record.state = ThreadState::Running;
        self.record.provider = Some(provider.provider.clone());
        self.record.model = Some(provider.model.clone());
        self.record.transcript = None;
        self.record.updated = at;
        self.save()
    }

    /// Notes how the thread ended, or stands. Of one that was stopped by its storage nobody knows where its transcript ends.
    pub(crate) fn finish(&mut self, outcome: &Outcome, at: Moment) -> Result<(), JournalError> {
        self.record.state = outcome.state;
        self.record.turns = outcome.turns;
        self.record.usage = outcome.usage;
        self.record.cost = outcome.cost;
        self.record.outputs.clone_from(&outcome.outputs);
        let is_stopped = outcome.state == ThreadState::Running && outcome.failure.is_some();
        self.record.failure = outcome.failure.clone().filter(|_| !is_stopped);
        self.record.continued_by.clone_from(&outcome.continued_by);
        self.record.transcript = (!is_stopped).then(|| self.transcript_end());
        self.record.updated = at;
        // The transcript holds it already: who finds the record before this one is led to the same end.
        self.put(Kept::Either)?;
        Ok(self.transcript.release()?)
    }

    /// Fails where somebody else drives the thread by now, and only then.
    pub(crate) fn still_held(&self) -> Result<(), StoreError> {
        match self.transcript.still_held() {
            Err(lost @ StoreError::Stale { .. }) => Err(lost),
            _ => Ok(()),
        }
    }

    /// From now on the transcript grows beyond the end that the record may know.
    fn reopen(&mut self) -> Result<(), JournalError> {
        self.record.transcript = None;
        self.save()
    }

    fn transcript_end(&self) -> (u64, String) {
        (self.transcript.records(), self.transcript.head().to_string())
    }

    fn save(&self) -> Result<(), JournalError> {
        self.put(Kept::This)
    }

    /// Who was taken over, or may have been, leaves the record to the one who did.
    fn put(&self, kept: Kept) -> Result<(), JournalError> {
        let Some(place) = &self.place else { return Ok(()) };
        let mut staged = self.record.staged(&place.folder, &self.key, self.epoch())?;
        let mut placed = Ok(());
        self.transcript.holding(&mut || placed = staged.place())?;
        placed?;
        if kept == Kept::This {
            staged.keep()?;
        }
        Ok(place.registry.enter(&self.record)?)
    }
}

#[cfg(test)]
impl Journal {
    pub(crate) fn public_key(&self) -> rye_sign::PublicKey {
        self.key.public()
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

/// Why a thread's folder could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The folder is there or cannot be created.
    #[error("cannot create the thread's folder `{}`; every run has a new one", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The thread record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The registry cannot be written.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Somebody else drives the thread, or the store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The transcript cannot be written.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}
