//! The folder of one thread, with everything that a run records.

mod acquisition;
mod end;
mod error;
mod readable;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rye_sign::SigningKey;
use rye_types::{LimitSet, Moment, ThreadState};

pub use self::error::JournalError;
use self::readable::{Readable, Rendered};
use crate::durability::{run_unblocked, sync_record};
use crate::transcript::payload::ThreadStart;
use crate::transcript::{Event, Transcript};
use crate::{
    Outcome, ProviderInfo, Registry, RegistryError, ThreadId, ThreadRecord, ToolSpec, TreeAccount,
};

/// The folder `<threads>/<id>/` with `transcript.jsonl`, `transcript.md` and `thread.json`, and the thread's row in the
/// registry.
#[derive(Debug)]
pub struct Journal {
    place: Option<Place>,
    transcript: Transcript,
    /// The account of the tree. Each record changes it.
    account: Arc<TreeAccount>,
    record: ThreadRecord,
    key: Arc<SigningKey>,
}

/// The files of a journal beside the store. A replay has none.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    readable: Readable,
    registry: Arc<Registry>,
    /// The reasons why derived files lack the last change.
    warnings: Vec<String>,
}

impl Journal {
    /// Returns the id of the thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.record.thread
    }

    /// Returns the key that signs the record and the transcript.
    #[must_use]
    pub fn signing_key(&self) -> Arc<SigningKey> {
        Arc::clone(&self.key)
    }

    /// Returns the folder, or an empty path for a journal in memory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.place.as_ref().map_or(Path::new(""), |place| &place.folder)
    }

    /// Returns the record of the thread.
    #[must_use]
    pub fn record(&self) -> &ThreadRecord {
        &self.record
    }

    /// Sets the limits to those of the transcript. A process may have been killed before it wrote them to the record.
    pub(crate) fn limit(&mut self, limits: &LimitSet) {
        self.record.limits.clone_from(limits);
    }

    /// Returns the first record of the thread.
    pub(crate) fn start(
        &self,
        provider: &ProviderInfo,
        limits: LimitSet,
        tools: Vec<ToolSpec>,
        palette: BTreeMap<String, String>,
    ) -> Event {
        let (root, created) = (self.record.root.clone(), self.record.created);
        let signed_by = self.key.public().to_pem();
        Event::ThreadStart(ThreadStart {
            tools,
            palette,
            facts: self.record.facts.clone(),
            parent: self.record.parent.clone(),
            continues: self.record.continues.clone(),
            ..ThreadStart::new(provider, limits, root, created, signed_by)
        })
    }

    /// Appends an event to both transcripts. The next [`Journal::flush`] or [`Journal::sync`] writes it.
    pub(crate) fn append(&mut self, event: &Event, at: Moment) {
        self.account.record(&self.record.thread, event);
        self.transcript.add(event, at);
        if let Some(place) = &mut self.place {
            place.readable.push(event, at);
        }
    }

    /// Returns the account of the thread's tree.
    pub(crate) fn tree_account(&self) -> Arc<TreeAccount> {
        Arc::clone(&self.account)
    }

    /// Records an approval wait of this length in the next record.
    pub(crate) fn add_approval_wait(&mut self, time: Duration) {
        self.transcript.add_approval_wait(time);
    }

    /// Returns the line of the last appended record, or an empty text if it is already written.
    pub(crate) fn newest(&self) -> &str {
        self.transcript.newest()
    }

    /// Writes the appended records to the store, so that they survive this process.
    pub(crate) fn flush(&mut self) -> Result<(), JournalError> {
        Ok(self.transcript.flush()?)
    }

    /// Returns the problems that did not stop the thread.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.place.as_ref().map(|place| place.warnings.clone()).unwrap_or_default()
    }

    /// Syncs the transcript to disk, so that it survives a power loss. Every effect needs this before it.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        Ok(self.transcript.sync()?)
    }

    /// Syncs like [`Journal::sync`], without blocking another thread of this process.
    pub(crate) async fn sync_unblocked(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        Ok(self.transcript.sync_unblocked().await?)
    }

    /// Appends a signed checkpoint to the transcript.
    pub(crate) fn checkpoint(&mut self, at: Moment) -> Event {
        self.transcript.sign(&self.key, at)
    }

    /// Sets the state to running. Nothing derived is written before the thread ends, because readers of a running thread
    /// use its transcript.
    pub(crate) fn begin(&mut self, provider: &ProviderInfo, at: Moment) {
        self.record.state = ThreadState::Running;
        self.record.failure = None;
        self.record.provider = Some(provider.provider.clone());
        self.record.model = Some(provider.model.clone());
        self.record.updated = at;
    }

    /// Sets the state of a resumed thread to running.
    pub(crate) async fn begin_again(
        &mut self,
        provider: &ProviderInfo,
        at: Moment,
    ) -> Result<(), JournalError> {
        self.begin(provider, at);
        if !self.reopens() {
            return Ok(());
        }
        self.put_unblocked(None).await?;
        match self.place.as_ref().map(|place| place.folder.clone()) {
            Some(folder) => Ok(run_unblocked(move || sync_record(&folder)).await?),
            None => Ok(()),
        }
    }

    /// Opens the claim of `thread.json` before the transcript grows. The claimed records stay.
    ///
    /// This write is durable, because a closed claim beside a longer transcript refuses the thread.
    fn reopen(&mut self) -> Result<(), JournalError> {
        if !self.reopens() {
            return Ok(());
        }
        self.put(None)?;
        match &self.place {
            Some(place) => Ok(sync_record(&place.folder)?),
            None => Ok(()),
        }
    }

    /// Opens the claim of the record. Returns `false` if it is open already.
    fn reopens(&mut self) -> bool {
        let claim = self.record.transcript.as_mut();
        claim.is_some_and(|claim| !std::mem::replace(&mut claim.is_open, true))
    }

    /// Records the end or the state of the thread.
    ///
    /// If storage stopped the thread, the end of its transcript is unknown, so the claim stays open.
    pub(crate) async fn finish(
        &mut self,
        outcome: &Outcome,
        at: Moment,
    ) -> Result<(), JournalError> {
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
        let rendered = self.take_rendered();
        self.put_unblocked(rendered).await?;
        self.transcript.release();
        Ok(())
    }

    /// Writes the record if this process still owns the thread, and the readable transcript of a thread that stops. A power
    /// loss may undo the write.
    fn put(&mut self, rendered: Option<Rendered>) -> Result<(), JournalError> {
        let write = self.write_record(rendered);
        self.keep_warnings(write())
    }

    /// Writes the record like [`Journal::put`], without blocking another thread of this process.
    async fn put_unblocked(&mut self, rendered: Option<Rendered>) -> Result<(), JournalError> {
        let written = run_unblocked(self.write_record(rendered)).await;
        self.keep_warnings(written)
    }

    /// Takes the readable transcript of a thread that stops.
    fn take_rendered(&mut self) -> Option<Rendered> {
        self.place.as_mut().map(|place| place.readable.take())
    }

    /// Returns the work that writes the record and the readable transcript. It gives the reasons why derived files lack the
    /// change.
    fn write_record(
        &self,
        rendered: Option<Rendered>,
    ) -> impl FnOnce() -> Result<Vec<String>, JournalError> + Send + use<> {
        let place = self.place.as_ref();
        let place = place.map(|place| (place.folder.clone(), Arc::clone(&place.registry)));
        let owned = self.transcript.ownership_check();
        let number = self.transcript.ownership();
        let key = Arc::clone(&self.key);
        let record = self.record.clone();
        move || {
            let Some((folder, registry)) = place else { return Ok(Vec::new()) };
            owned()?;
            let unwritten = rendered.and_then(|rendered| rendered.write());
            record.replace(&folder, &key, number)?;
            // The registry is derived, so a failure to change it does not stop the thread.
            let unlisted = registry.enter(&record).err().map(|error| unlisted_warning(&error));
            Ok(unwritten.into_iter().chain(unlisted).collect())
        }
    }

    /// Keeps the reasons why derived files lack the record.
    fn keep_warnings(
        &mut self,
        written: Result<Vec<String>, JournalError>,
    ) -> Result<(), JournalError> {
        let warnings = written?;
        if let Some(place) = &mut self.place {
            place.warnings = warnings;
        }
        Ok(())
    }
}

fn unlisted_warning(error: &RegistryError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!(
        "the list of threads lacks the last change of this thread; `rye threads reindex` writes it anew ({error}{cause})"
    )
}
