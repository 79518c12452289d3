//! What happened in a thread, as lines that cannot be changed unseen (SPEC 10.7).
//!

mod event;
mod markdown;
mod read;
mod record;
mod wire;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rye_sign::chain::{Head, sign_checkpoint};
use rye_sign::{PublicKey, SigningKey};

pub use self::event::{Event, Injected, Target};
pub use self::markdown::markdown;
pub use self::read::{Damage, DamageKind, Reading, read};
pub use self::record::Record;
use self::wire::RecordWire;
use crate::{Moment, ThreadId, read_plain};

/// An append-only file of JSON lines, each of which carries the hash of all before it.
///
/// After a write that failed nothing more is appended: what is on disk then may end in half a line.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: File,
    thread: ThreadId,
    directive: String,
    head: Head,
    records: u64,
    is_broken: bool,
}

impl Transcript {
    /// Creates the file, which must not be there yet; its folder must.
    ///
    /// # Errors
    ///
    /// When the file is there or cannot be created.
    pub fn create(
        path: &Path,
        thread: &ThreadId,
        directive: &str,
    ) -> Result<Self, TranscriptError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        Ok(Self {
            file: file
                .map_err(|source| TranscriptError::Create { path: path.to_owned(), source })?,
            path: path.to_owned(),
            thread: thread.clone(),
            directive: directive.to_owned(),
            head: Head::genesis(),
            records: 0,
            is_broken: false,
        })
    }

    /// Appends one record; it is with the operating system when this returns, and on disk after [`Transcript::sync`].
    ///
    /// # Errors
    ///
    /// When it cannot be written whole, and ever after.
    pub fn append(&mut self, event: &Event, at: Moment) -> Result<(), TranscriptError> {
        let payload = wire::payload(event);
        let record = RecordWire {
            seq: self.records,
            ts: at.to_string(),
            thread_id: self.thread.as_str(),
            directive: &self.directive,
            event: event.name(),
            payload: &payload,
            prev: self.head.to_string(),
        };
        let mut line = record.line();
        let head = self.head.link(line.as_bytes());
        line.push('\n');
        self.guarded(|file| file.write_all(line.as_bytes()))?;
        self.head = head;
        self.records += 1;
        Ok(())
    }

    /// Puts everything appended so far on disk.
    ///
    /// # Errors
    ///
    /// When the disk refuses, and ever after.
    pub fn sync(&mut self) -> Result<(), TranscriptError> {
        self.guarded(|file| file.sync_data())
    }

    /// Signs the chain so far, appends the signature, and puts all of it on disk.
    ///
    /// # Errors
    ///
    /// As [`Transcript::append`].
    pub fn checkpoint(&mut self, key: &SigningKey, at: Moment) -> Result<Event, TranscriptError> {
        let checkpoint = sign_checkpoint(&self.head, self.records, self.thread.as_str(), key)
            .expect("because a thread id is one line of text");
        let event = Event::Checkpoint { checkpoint: checkpoint.to_json() };
        self.append(&event, at)?;
        self.sync()?;
        Ok(event)
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

    fn guarded(
        &mut self,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), TranscriptError> {
        if self.is_broken {
            return Err(TranscriptError::Broken { path: self.path.clone() });
        }
        write(&mut self.file).map_err(|source| {
            self.is_broken = true;
            TranscriptError::Write { path: self.path.clone(), source }
        })
    }
}

/// Why a transcript was not written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// A write failed before, so that the file may end in half a record.
    #[error("transcript `{}` is not continued after a write that failed; start the directive again", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
    },
    /// The file is there or cannot be created.
    #[error("cannot create the transcript `{}`; a thread has a new folder of its own", .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A record is not the one that was written.
    #[error("transcript `{}` is damaged; do not resume from it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        source: Damage,
    },
    /// The file cannot be read.
    #[error("cannot read the transcript `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused a write.
    #[error("cannot write the transcript `{}`; free the disk and start the directive again", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The longest transcript that is read, in bytes: it is held in memory, and no run writes as much.
const MAX_BYTES: u64 = 1 << 30;

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
mod tests;
