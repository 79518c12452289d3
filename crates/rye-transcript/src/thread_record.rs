//! `thread.json`: the signed state of one thread.

mod disk;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rye_files::read_plain;
use rye_sign::{JsonError, KeyId, PublicKey, SigningKey, sign_json, verify_json};
use rye_types::{LimitSet, Moment, Nanos, ThreadState, Usage};
use serde_json::{Map, Value};

use crate::{Failure, ThreadId, TranscriptClaim, count_json_values};

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
    pub limits: LimitSet,
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

impl ThreadRecord {
    /// The maximum length of a `thread.json` in bytes. Inputs and outputs make far shorter ones.
    pub const MAX_BYTES: u64 = 32 * 1024 * 1024;

    /// Creates the record of a new thread.
    #[must_use]
    pub fn new(thread: &ThreadId, directive: &str, limits: &LimitSet, created: Moment) -> Self {
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

    /// Returns `true` if the thread used items that nobody signed, which `--allow-unsigned` permits.
    #[must_use]
    pub fn used_unsigned(&self) -> bool {
        self.facts.get("verified") == Some(&Value::Bool(false))
    }

    /// Writes `thread.json` into the folder, signed at the time of `updated`.
    ///
    /// A reader sees the old or the new record. A power loss may undo the write, or leave a file that is no JSON. A
    /// reader then computes the record from the transcript.
    ///
    /// # Errors
    ///
    /// [`RecordError::Write`] if the file cannot be written.
    pub fn write(&self, folder: &Path, key: &SigningKey) -> Result<(), RecordError> {
        self.replace(folder, key, 0)
    }

    /// Replaces the current record. `number` makes the name of the temporary file unique.
    ///
    /// # Errors
    ///
    /// As [`ThreadRecord::write`].
    pub fn replace(&self, folder: &Path, key: &SigningKey, number: u64) -> Result<(), RecordError> {
        let signed = sign_json(&disk::value(self), key, self.updated.timestamp())
            .expect("because the record is an object");
        let mut text = serde_json::to_vec_pretty(&signed).expect("because it is plain JSON");
        text.push(b'\n');
        let temporary = folder.join(format!("{FILE}.{number}{UNFINISHED}"));
        let path = folder.join(FILE);
        let written = create_file(&temporary).and_then(|mut file| file.write_all(&text));
        written.and_then(|()| fs::rename(&temporary, &path)).map_err(|source| {
            drop(fs::remove_file(&temporary));
            RecordError::Write { path, source }
        })
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

#[cfg(test)]
mod tests;
