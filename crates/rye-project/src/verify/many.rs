//! Many files, read and verified on all processors.

use std::path::{Path, PathBuf};

use rye_files::{read_plain, text};
use rye_resolve::{ResolveError, fault_of_place, item_at};

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
        if let Some(fault) = fault_of_place(path) {
            return refusal(path, VerifyError::Misplaced(fault));
        }
        if let Some(error) = self.ambiguity(path) {
            return refusal(path, VerifyError::Misplaced(error));
        }
        match read_plain(path, LONGEST_FILE).map(text) {
            Ok(Ok(text)) => self.verify(path, &text),
            Ok(Err(error)) => refusal(path, VerifyError::NotText(error)),
            Err(error) => refusal(path, VerifyError::Unreadable(error)),
        }
    }
}

impl Project {
    /// Returns the error for a file of the spaces whose id another file of its space has, too.
    fn ambiguity(&self, path: &Path) -> Option<ResolveError> {
        let (kind, id, _) = item_at(self.library.spaces(), path)?;
        let error = self.library.locate(kind, &id).err()?;
        matches!(&error, ResolveError::Ambiguous { files, .. } if files.iter().any(|file| file.path == path))
            .then_some(error)
    }
}

/// Returns the result for a file that cannot be read.
fn refusal(path: &Path, error: VerifyError) -> Verification {
    let (kind, id) =
        place(path).map_or_else(|| (kind_of(path, ""), None), |(kind, id)| (kind, Some(id)));
    Verification { path: path.to_owned(), subject: Subject::Item(kind), id, result: Err(error) }
}
