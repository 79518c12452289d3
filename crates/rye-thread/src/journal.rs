//! The folder of one thread: everything that a run leaves behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rye_sign::SigningKey;

use crate::record::sync_folder;
use crate::transcript::markdown;
use crate::transcript::{Event, Transcript, TranscriptError};
use crate::{
    Failure, FailureKind, Moment, Outcome, ProviderInfo, RecordError, Registry, RegistryError,
    ThreadId, ThreadRecord, ThreadState,
};

/// The folder `<threads>/<id>/` with `transcript.jsonl`, `transcript.md` and `thread.json`, and the thread's line in
/// the registry.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    transcript: Transcript,
    markdown: File,
    record: ThreadRecord,
    key: Arc<SigningKey>,
    registry: Arc<Registry>,
}

impl Journal {
    /// Creates the thread's folder, which must be new, below `threads`, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// When the folder is there already or cannot be written.
    pub fn create(
        threads: &Path,
        record: ThreadRecord,
        key: Arc<SigningKey>,
        registry: Arc<Registry>,
    ) -> Result<Self, JournalError> {
        let folder = threads.join(record.thread.as_str());
        create_folder(threads, &folder)
            .map_err(|source| JournalError::Folder { path: folder.clone(), source })?;
        let transcript = Transcript::create(
            &folder.join("transcript.jsonl"),
            &record.thread,
            &record.directive,
        )?;
        let path = folder.join("transcript.md");
        let markdown = OpenOptions::new().append(true).create_new(true).open(&path);
        let markdown = markdown.map_err(|source| JournalError::Markdown { path, source })?;
        let journal = Self { folder, transcript, markdown, record, key, registry };
        journal.save()?;
        Ok(journal)
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.record.thread
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
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

    /// Appends an event to both transcripts.
    pub(crate) fn append(&mut self, event: &Event, at: Moment) -> Result<(), JournalError> {
        self.transcript.append(event, at)?;
        self.write_markdown(event, at)
    }

    /// Puts the transcript on disk, as must be before an effect.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        Ok(self.transcript.sync()?)
    }

    /// Signs and syncs the transcript.
    pub(crate) fn checkpoint(&mut self, at: Moment) -> Result<Event, JournalError> {
        Ok(self.transcript.checkpoint(&self.key, at)?)
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
        self.record.updated = at;
        self.save()
    }

    /// Notes how the thread ended.
    pub(crate) fn finish(&mut self, outcome: &Outcome, at: Moment) -> Result<(), JournalError> {
        self.record.state = outcome.state;
        self.record.turns = outcome.turns;
        self.record.usage = outcome.usage;
        self.record.cost = outcome.cost;
        self.record.outputs.clone_from(&outcome.outputs);
        self.record.failure.clone_from(&outcome.failure);
        self.record.transcript = Some(self.transcript_end());
        self.record.updated = at;
        self.save()
    }

    fn transcript_end(&self) -> (u64, String) {
        (self.transcript.records(), self.transcript.head().to_string())
    }

    fn save(&self) -> Result<(), JournalError> {
        self.record.write(&self.folder, &self.key)?;
        Ok(self.registry.enter(&self.record)?)
    }

    fn write_markdown(&mut self, event: &Event, at: Moment) -> Result<(), JournalError> {
        let text = markdown(event, at);
        self.markdown.write_all(text.as_bytes()).map_err(|source| JournalError::Markdown {
            path: self.folder.join("transcript.md"),
            source,
        })
    }
}

#[cfg(test)]
impl Journal {
    /// From now on no record can be written to the transcript.
    pub(crate) fn fill_the_disk(&mut self) {
        self.transcript = Transcript::full(&self.record.thread);
    }

    pub(crate) fn public_key(&self) -> rye_sign::PublicKey {
        self.key.public()
    }
}

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
    /// The readable transcript cannot be written.
    #[error("cannot write `{}`; check the disk and the permissions of its folder", .path.display())]
    Markdown {
        /// The file.
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
    /// The transcript cannot be written.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}
