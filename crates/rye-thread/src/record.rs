//! `thread.json`: the signed state of one thread.

mod disk;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rye_sign::{JsonError, KeyId, PublicKey, SigningKey, sign_json, verify_json};
use serde_json::{Map, Value};

use crate::{
    Failure, Limits, Moment, Nanos, ThreadId, ThreadState, Usage, count_json_values, read_plain,
};

/// The content of `thread.json`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ThreadRecord {
    /// The thread.
    pub thread: ThreadId,
    /// The root of its tree, whose lock owns it. It is the thread itself without a parent and a predecessor.
    pub root: ThreadId,
    /// The parent.
    pub parent: Option<ThreadId>,
    /// The predecessor, whose conversation it continues (SPEC 10.10).
    pub continues: Option<ThreadId>,
    /// The successor, in state `continued`.
    pub continued_by: Option<ThreadId>,
    /// The id of its directive.
    pub directive: String,
    /// Its state.
    pub state: ThreadState,
    /// The creation time of its folder.
    pub created: Moment,
    /// The time of this record.
    pub updated: Moment,
    /// The name of the provider's configuration, once it is known.
    pub provider: Option<String>,
    /// The model's id, once it is known.
    pub model: Option<String>,
    /// The limits.
    pub limits: Limits,
    /// The number of answered requests.
    pub turns: u64,
    /// The token usage of all replies.
    pub usage: Usage,
    /// Its cost.
    pub cost: Nanos,
    /// The returned outputs.
    pub outputs: Option<Map<String, Value>>,
    /// The failure.
    pub failure: Option<Failure>,
    /// The claim about the transcript, so that missing records at its end are detected.
    pub transcript: Option<TranscriptClaim>,
    /// Further facts of the caller, such as inputs or the permission of unsigned items. The first record of the
    /// transcript repeats them.
    pub facts: Map<String, Value>,
    /// Members of a newer version, kept unchanged.
    rest: Map<String, Value>,
}

/// The records of a transcript that a signed `thread.json` claims. They were on disk before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptClaim {
    /// The minimum number of records.
    pub records: u64,
    /// The hash of the last of those records.
    pub head: String,
    /// `true` if more records may follow: a process drives the thread, or stopped without recording the end of the
    /// transcript.
    pub is_open: bool,
}

impl TranscriptClaim {
    /// Creates a claim of these records.
    #[must_use]
    pub const fn new(records: u64, head: String, is_open: bool) -> Self {
        Self { records, head, is_open }
    }
}

impl ThreadRecord {
    /// The maximum length of a `thread.json` in bytes. Inputs and outputs make far shorter ones.
    pub const MAX_BYTES: u64 = 32 * 1024 * 1024;

    /// Creates the record of a new thread.
    #[must_use]
    pub fn new(thread: &ThreadId, directive: &str, limits: &Limits, created: Moment) -> Self {
        Self {
            thread: thread.clone(),
            root: thread.clone(),
            parent: None,
            continues: None,
            continued_by: None,
            directive: directive.to_owned(),
            state: ThreadState::Created,
            created,
            updated: created,
            provider: None,
            model: None,
            limits: limits.clone(),
            turns: 0,
            usage: Usage::default(),
            cost: Nanos::ZERO,
            outputs: None,
            failure: None,
            transcript: None,
            facts: Map::new(),
            rest: Map::new(),
        }
    }

    /// Writes `thread.json` into the folder, signed at the time of `updated`.
    ///
    /// The write is atomic: a reader sees the old or the new record, also after a power loss. After this returns, it
    /// sees the new one.
    ///
    /// # Errors
    ///
    /// [`RecordError::Write`] if the file cannot be written.
    pub fn write(&self, folder: &Path, key: &SigningKey) -> Result<(), RecordError> {
        let mut staged = self.stage(folder, key, 0)?;
        staged.place()?;
        staged.keep()
    }

    /// Writes the record to a temporary file beside the current one. `number` makes the name unique.
    pub(crate) fn stage(
        &self,
        folder: &Path,
        key: &SigningKey,
        number: u64,
    ) -> Result<Staged, RecordError> {
        let signed = sign_json(&disk::value(self), key, self.updated.timestamp())
            .expect("because the record is an object");
        let mut text = serde_json::to_vec_pretty(&signed).expect("because it is plain JSON");
        text.push(b'\n');
        Staged::write(folder, number, &text)
    }

    /// Removes temporary files of killed programs. Only the owner of the thread may call this.
    ///
    /// Files that cannot be removed do no harm.
    pub fn remove_unfinished(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let of_record = name.to_str().and_then(|name| name.strip_prefix(FILE));
            if of_record.is_some_and(|rest| rest.ends_with(UNFINISHED)) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    /// Reads the bytes of the folder's `thread.json`, without verification.
    ///
    /// # Errors
    ///
    /// An error if it is not a plain file, is longer than [`ThreadRecord::MAX_BYTES`], or holds more than two million
    /// values. A parsed value takes many times the memory of its text.
    pub fn read_bytes(folder: &Path) -> io::Result<Vec<u8>> {
        let bytes = read_plain(&folder.join(FILE), Self::MAX_BYTES)?;
        if count_json_values(&bytes) <= MOST_VALUES {
            return Ok(bytes);
        }
        Err(io::Error::other(format!("it holds more than {MOST_VALUES} values")))
    }

    /// Reads the `thread.json` of a folder for the index, by which nothing is decided; `None` if it cannot be read.
    pub(crate) fn read_unverified(folder: &Path) -> Option<Self> {
        let value: Value = serde_json::from_slice(&Self::read_bytes(folder).ok()?).ok()?;
        disk::parse(value).ok()
    }

    /// Reads and verifies the `thread.json` of the folder.
    ///
    /// # Errors
    ///
    /// [`RecordError`] if it cannot be read, has no valid signature of one of the keys, or has another version.
    pub fn read(folder: &Path, keys: &[PublicKey]) -> Result<Self, RecordError> {
        Self::read_signed(folder, keys).map(|(record, _)| record)
    }

    /// Reads and verifies the `thread.json` of the folder, and returns the id of its key as well.
    ///
    /// # Errors
    ///
    /// As [`ThreadRecord::read`].
    pub fn read_signed(folder: &Path, keys: &[PublicKey]) -> Result<(Self, KeyId), RecordError> {
        let path = folder.join(FILE);
        let bytes = match Self::read_bytes(folder) {
            Ok(bytes) => bytes,
            Err(source) => return Err(RecordError::Read { path, source }),
        };
        let malformed = |problem: String| RecordError::Malformed { path: path.clone(), problem };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))?;
        let signature = verify_json(&value, keys).map_err(|source| RecordError::Unverified {
            path: path.clone(),
            source: Box::new(source),
        })?;
        Ok((disk::parse(value).map_err(malformed)?, signature.key_id))
    }
}

/// The reason why a `thread.json` was not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It is signed, but has another form than this version reads.
    #[error("`{}` is not a thread record of version 1: {problem}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The file cannot be read.
    #[error("cannot read `{}`; name a thread that exists", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The signature is not valid.
    #[error("`{}` is not as a run wrote it; do not rely on it", .path.display())]
    Unverified {
        /// The file.
        path: PathBuf,
        /// The problem of the signature.
        source: Box<JsonError>,
    },
    /// The file cannot be written.
    #[error("cannot write `{}`; check the disk and the permissions of its folder", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

const FILE: &str = "thread.json";

/// The maximum number of values in a `thread.json`.
const MOST_VALUES: usize = 2_000_000;

const UNFINISHED: &str = ".tmp";

/// A record in a temporary file, which is removed unless it replaces the current record.
#[derive(Debug)]
pub(crate) struct Staged {
    temporary: PathBuf,
    path: PathBuf,
    is_placed: bool,
}

impl Staged {
    fn write(folder: &Path, number: u64, text: &[u8]) -> Result<Self, RecordError> {
        let path = folder.join(FILE);
        let temporary = folder.join(format!("{FILE}.{number}{UNFINISHED}"));
        let written = create_file(&temporary).and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        });
        let staged = Self { temporary, path, is_placed: false };
        match written {
            Ok(()) => Ok(staged),
            Err(source) => Err(RecordError::Write { path: staged.path.clone(), source }),
        }
    }

    /// Replaces the current record. A power loss leaves either of the two.
    pub(crate) fn place(&mut self) -> Result<(), RecordError> {
        fs::rename(&self.temporary, &self.path).map_err(|source| self.write_error(source))?;
        self.is_placed = true;
        Ok(())
    }

    /// Makes the replacement durable, so that a power loss no longer undoes it.
    pub(crate) fn keep(&self) -> Result<(), RecordError> {
        let kept = self.path.parent().map_or(Ok(()), sync_folder);
        kept.map_err(|source| self.write_error(source))
    }

    fn write_error(&self, source: io::Error) -> RecordError {
        RecordError::Write { path: self.path.clone(), source }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_placed {
            drop(fs::remove_file(&self.temporary));
        }
    }
}

/// The durability of a written record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// A power loss leaves it or the record before it.
    Either,
    /// A power loss leaves it.
    This,
}

/// Creates a file. It replaces a file of a killed program, and a link, which opening would follow.
fn create_file(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
        created => created,
    }
}

/// Syncs the names in a folder to disk, if the system can open a folder for that.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
