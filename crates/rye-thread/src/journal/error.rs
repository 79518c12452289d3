//! Why a thread's folder could not be used.

use std::io;
use std::path::PathBuf;

use crate::store::StoreError;
use crate::transcript::TranscriptError;
use crate::{RecordError, RegistryError};

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
