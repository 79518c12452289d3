//! Many files, read and verified on all processors.

use std::path::{Path, PathBuf};

use rye_files::read_plain;

use super::{Subject, Verification, VerifyError};
use crate::parallel::in_parallel;
use crate::place::{LONGEST_FILE, kind_of, place};
use crate::project::Project;

impl Project {
    /// Reads and verifies files as [`verify`](Self::verify) does, on all processors; the answers are in the order of
    /// `paths`, which must be absolute. That a file cannot be read, or is no text, is its answer.
    pub fn verify_files(&self, paths: &[PathBuf]) -> Vec<Verification> {
        in_parallel(paths, |path| self.verify_file(path))
    }

    fn verify_file(&self, path: &Path) -> Verification {
        match read_plain(path, LONGEST_FILE).map(String::from_utf8) {
            Ok(Ok(text)) => self.verify(path, &text),
            Ok(Err(_)) => refusal(path, VerifyError::NotText),
            Err(error) => refusal(path, VerifyError::Unreadable(error)),
        }
    }
}

/// Returns the result for a file that cannot be read.
fn refusal(path: &Path, error: VerifyError) -> Verification {
    let (kind, id) =
        place(path).map_or_else(|| (kind_of(path, ""), None), |(kind, id)| (kind, Some(id)));
    Verification { path: path.to_owned(), subject: Subject::Item(kind), id, result: Err(error) }
}
