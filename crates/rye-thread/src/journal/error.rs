//! Errors of a thread's folder.

use std::io;
use std::path::PathBuf;

use crate::RecordError;
use crate::store::StoreError;
use crate::transcript::TranscriptError;

/// The reason why a thread's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The folder exists already or cannot be created.
    #[error("cannot create the thread's folder `{}`; each run needs a new folder", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The thread record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Another process drives the thread, or the store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The transcript cannot be written.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}
