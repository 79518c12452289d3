//! `thread.json`: how one thread stands, signed.

mod disk;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rye_sign::{JsonError, KeyId, PublicKey, SigningKey, sign_json, verify_json};
use serde_json::{Map, Value};

use crate::{
    Failure, Limits, Moment, Nanos, ThreadId, ThreadState, Usage, count_json_values, read_plain,
};

/// What `thread.json` holds of one thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ThreadRecord {
    /// The thread.
    pub thread: ThreadId,
    /// The root of its tree, whose lock owns it: itself, unless another thread started it or was continued by it.
    pub root: ThreadId,
    /// The thread that started it.
    pub parent: Option<ThreadId>,
    /// The thread whose conversation it goes on with (SPEC 10.10).
    pub continues: Option<ThreadId>,
    /// The thread that goes on with its conversation, in state `continued`.
    pub continued_by: Option<ThreadId>,
    /// The id of the directive that it follows.
    pub directive: String,
    /// Where it is in its life.
    pub state: ThreadState,
    /// When it got its folder.
    pub created: Moment,
    /// When this record was written.
    pub updated: Moment,
    /// The name of the provider's configuration, once it is known.
    pub provider: Option<String>,
    /// The model's id, once it is known.
    pub model: Option<String>,
    /// The limits.
    pub limits: Limits,
    /// Requests that were answered.
    pub turns: u64,
    /// Tokens of all answers.
    pub usage: Usage,
    /// What it cost.
    pub cost: Nanos,
    /// What was returned.
    pub outputs: Option<Map<String, Value>>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What the record claims of the transcript, so that records missing at its end are seen.
    pub transcript: Option<TranscriptClaim>,
    /// What the caller wants on record beside, such as inputs or that unsigned items were allowed; the first record of
    /// the transcript repeats it.
    pub facts: Map<String, Value>,
    /// Members that a newer version wrote, kept for it.
    rest: Map<String, Value>,
}

/// The part of a transcript that a signed `thread.json` claims to exist: records that were on disk before it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptClaim {
    /// How many records there are at least.
    pub records: u64,
    /// The hash of those records.
    pub head: String,
    /// Whether more records may follow: a process drives the thread, or stopped without noting where the transcript ends.
    pub is_open: bool,
}

impl TranscriptClaim {
    /// Claims these records.
    #[must_use]
    pub const fn new(records: u64, head: String, is_open: bool) -> Self {
        Self { records, head, is_open }
    }
}

impl ThreadRecord {
    /// The longest `thread.json` that is read, in bytes: far more than inputs and outputs make of one.
    pub const MAX_BYTES: u64 = 32 * 1024 * 1024;

    /// A thread that has just been made.
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

    /// Writes `thread.json` into the folder, signed at the time of `updated`; a reader sees the old or the new one, also after
    /// a loss of power, and the new one once this has returned.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn write(&self, folder: &Path, key: &SigningKey) -> Result<(), RecordError> {
        let mut staged = self.staged(folder, key, 0)?;
        staged.place()?;
        staged.keep()
    }

    /// Writes the record beside the one that is there, under a name that has no other `number`.
    pub(crate) fn staged(
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

    /// Removes what programs left that were killed while they wrote the record; for the owner of the thread.
    ///
    /// What cannot be removed is in nobody's way.
    pub fn remove_unfinished(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let of_record = name.to_str().and_then(|name| name.strip_prefix(FILE));
            if of_record.is_some_and(|rest| rest.ends_with(UNFINISHED)) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    /// Reads the bytes of the `thread.json` of the folder, which nobody vouches for yet.
    ///
    /// # Errors
    ///
    /// When it is no plain file, is longer than [`ThreadRecord::MAX_BYTES`], or holds more than two million values, because a value
    /// takes many times the memory of its text.
    pub fn read_bytes(folder: &Path) -> io::Result<Vec<u8>> {
        let bytes = read_plain(&folder.join(FILE), Self::MAX_BYTES)?;
        if count_json_values(&bytes) <= MOST_VALUES {
            return Ok(bytes);
        }
        Err(io::Error::other(format!("it holds more than {MOST_VALUES} values")))
    }

    /// Reads and verifies the `thread.json` of the folder.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is not signed by one of the keys as it stands, or is of another version.
    pub fn read(folder: &Path, keys: &[PublicKey]) -> Result<Self, RecordError> {
        Self::read_signed(folder, keys).map(|(record, _)| record)
    }

    /// The same, with the id of the key that signed it.
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

/// Why a `thread.json` was not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It is signed, and not what this version reads.
    #[error("`{}` is not a thread record of version 1: {problem}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The file cannot be read.
    #[error("cannot read `{}`; name a thread that exists", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The signature does not hold.
    #[error("`{}` is not as a run wrote it; do not rely on it", .path.display())]
    Unverified {
        /// The file.
        path: PathBuf,
        /// What is wrong with the signature.
        source: Box<JsonError>,
    },
    /// The file cannot be written.
    #[error("cannot write `{}`; check the disk and the permissions of its folder", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

const FILE: &str = "thread.json";

/// The most values that a `thread.json` holds.
const MOST_VALUES: usize = 2_000_000;

const UNFINISHED: &str = ".tmp";

/// A record that is on disk beside the one that counts, and is removed where it does not take its place.
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
        let written = created(&temporary).and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        });
        let staged = Self { temporary, path, is_placed: false };
        match written {
            Ok(()) => Ok(staged),
            Err(source) => Err(RecordError::Write { path: staged.path.clone(), source }),
        }
    }

    /// Takes the place of the record that is there: a loss of power leaves the one or the other.
    pub(crate) fn place(&mut self) -> Result<(), RecordError> {
        fs::rename(&self.temporary, &self.path).map_err(|source| self.failed(source))?;
        self.is_placed = true;
        Ok(())
    }

    /// Sees to it that nothing else is found from now on.
    pub(crate) fn keep(&self) -> Result<(), RecordError> {
        let kept = self.path.parent().map_or(Ok(()), sync_folder);
        kept.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> RecordError {
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

/// What is found when the machine loses its power after a record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It, or the one before it.
    Either,
    /// It, and nothing else.
    This,
}

/// A new file. What a killed program left, or a link that somebody laid there and that would be followed, makes room for it.
fn created(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
        created => created,
    }
}

/// Puts the names in a folder on disk, where the system lets a folder be opened for that.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
