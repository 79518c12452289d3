//! The folder of one thread: everything that a run leaves behind.

mod ending;
mod error;
mod readable;
mod taking;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rye_sign::SigningKey;

pub use self::error::JournalError;
use self::readable::Readable;
use crate::record::Kept;
use crate::transcript::markdown;
use crate::transcript::{Event, Transcript};
use crate::{
    Account, ChildEnd, Limits, Moment, Outcome, ProviderInfo, Registry, ThreadId, ThreadRecord,
    ThreadState, TranscriptClaim, TreeAccount,
};

/// The folder `<threads>/<id>/` with `transcript.jsonl`, `transcript.md` and `thread.json`, and the thread's line in
/// the registry.
#[derive(Debug)]
pub struct Journal {
    place: Option<Place>,
    transcript: Transcript,
    /// The account of the tree, which each record changes.
    account: Arc<TreeAccount>,
    record: ThreadRecord,
    key: Arc<SigningKey>,
    /// Whether the next sync is followed by a `thread.json` that says that the thread is under way, and what a loss of power may
    /// leave of it.
    announces: Option<Kept>,
    /// The same once the thread begins.
    begins: Kept,
}

/// Where a journal is kept beside the store; a replay has no such place.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    readable: Readable,
    registry: Arc<Registry>,
}

impl Journal {
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

    /// Notes the limits that the transcript holds, which another program may have been stopped before it changed.
    pub(crate) fn limit(&mut self, limits: &Limits) {
        self.record.limits.clone_from(limits);
    }

    /// Appends an event to both transcripts, which are written with the next [`Journal::flush`] or [`Journal::sync`].
    pub(crate) fn append(&mut self, event: &Event, at: Moment) {
        self.account.record(&self.record.thread, event);
        self.transcript.add(event, at);
        if let Some(place) = &mut self.place {
            place.readable.push(&markdown(event, at));
        }
    }

    /// Returns the account of the thread; `None` before it began.
    pub(crate) fn account(&self) -> Option<Account> {
        self.account.account(&self.record.thread)
    }

    /// The end of a child, with its cost by the account of the tree where that knows the child.
    pub(crate) fn priced(&self, end: ChildEnd) -> ChildEnd {
        match self.account.account(&end.child) {
            Some(Account { cost, is_overrun, .. }) => ChildEnd { cost, is_overrun, ..end },
            None => end,
        }
    }

    /// Has the next record say that somebody thought for so long, beside whatever else it tells.
    pub(crate) fn thought(&mut self, time: Duration) {
        self.transcript.thought(time);
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
    ///
    /// The first time after the thread began, `thread.json` claims what is on disk by then.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        self.transcript.sync()?;
        if let Some(kept) = self.announces.take() {
            let claim = self.transcript.claim();
            self.record.transcript = Some(TranscriptClaim { is_open: true, ..claim });
            self.put(kept)?;
        }
        Ok(())
    }

    /// Signs the transcript, as [`Journal::append`] records events.
    pub(crate) fn checkpoint(&mut self, at: Moment) -> Event {
        self.transcript.sign(&self.key, at)
    }

    /// Notes that the thread is under way, which `thread.json` says after the next [`Journal::sync`].
    pub(crate) fn begin(&mut self, provider: &ProviderInfo, at: Moment) {
        self.record.state = ThreadState::Running;
        self.record.failure = None;
        self.record.provider = Some(provider.provider.clone());
        self.record.model = Some(provider.model.clone());
        self.record.updated = at;
        self.announces = Some(self.begins);
    }

    /// Notes that a thread that was stopped is under way again.
    pub(crate) fn begin_again(
        &mut self,
        provider: &ProviderInfo,
        at: Moment,
    ) -> Result<(), JournalError> {
        self.begin(provider, at);
        self.reopen()
    }

    /// Has `thread.json` say that the transcript grows from now on; what it claims stays.
    fn reopen(&mut self) -> Result<(), JournalError> {
        if let Some(claim) = &mut self.record.transcript {
            claim.is_open = true;
        }
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
        match is_stopped {
            true => self.record.transcript.iter_mut().for_each(|claim| claim.is_open = true),
            false => self.record.transcript = Some(self.transcript.claim()),
        }
        self.record.updated = at;
        // The transcript holds it already: who finds the record before this one is led to the same end.
        self.put(Kept::Either)?;
        self.transcript.release();
        Ok(())
    }

    fn save(&self) -> Result<(), JournalError> {
        self.put(Kept::This)
    }

    /// Writes the record, unless another process may own the thread.
    fn put(&self, kept: Kept) -> Result<(), JournalError> {
        let Some(place) = &self.place else { return Ok(()) };
        self.transcript.check_owned()?;
        let number = self.transcript.ownership();
        let mut staged = self.record.staged(&place.folder, &self.key, number)?;
        staged.place()?;
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
