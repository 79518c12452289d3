//! Transcripts in files.

use std::path::{Path, PathBuf};

use rye_files::read_plain;
use rye_sign::PublicKey;

use crate::read::named_key;
use crate::{Damage, Reading, ThreadId, read};

/// The maximum length of a transcript in bytes. It is read into memory, and no run writes as much.
pub const MAX_BYTES: u64 = 1 << 30;

/// The reason why the file of a transcript was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A record differs from the written one.
    #[error("transcript `{}` is damaged; do not resume from it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The place and kind of the damage.
        source: Damage,
    },
    /// The file cannot be read.
    #[error("cannot read the transcript `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// Reads and verifies a whole file, as [`read()`] does for bytes.
///
/// # Errors
///
/// [`FileError`] if it cannot be read, or is damaged before an incomplete last line.
pub fn read_file(path: &Path, thread: &ThreadId, keys: &[PublicKey]) -> Result<Reading, FileError> {
    let bytes = read_plain(path, MAX_BYTES)
        .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    read(&bytes, thread, keys)
        .map_err(|source| FileError::Damaged { path: path.to_owned(), source })
}

/// Returns the public keys, as PEM, that the openings of an unverified transcript name, oldest first. A thread whose operator has no
/// key is verified with the keys that it names itself.
///
/// # Errors
///
/// When the file cannot be read.
pub fn named_keys(path: &Path) -> std::io::Result<Vec<String>> {
    Ok(named_keys_in(&read_plain(path, MAX_BYTES)?))
}

/// Returns the public keys that the openings of an unverified transcript name, like [`named_keys`].
#[must_use]
pub fn named_keys_in(transcript: &[u8]) -> Vec<String> {
    transcript.split(|byte| *byte == b'\n').filter_map(named_key).collect()
}
