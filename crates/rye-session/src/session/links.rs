//! The record of a thread stays in the project's space.

use std::fs;
use std::path::{Path, PathBuf};

/// A link stands where threads are recorded, which would lead their record elsewhere.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is a link, through which no thread is recorded; put a folder or a file of its own in its place", .path.display())]
#[non_exhaustive]
pub struct LinkedThreads {
    /// The link.
    pub path: PathBuf,
}

/// Refuses a link in the place of `threads`, the folder of all threads, or of its registry. The
/// author of the project may have put it there, and opening the record verifies no file of the
/// project (SPEC 1.3).
///
/// # Errors
///
/// When either is a link.
pub fn refuse_linked_threads(threads: &Path) -> Result<(), LinkedThreads> {
    let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let link = [threads.to_owned(), threads.join("registry.db")].into_iter().find(is_link);
    link.map_or(Ok(()), |path| Err(LinkedThreads { path }))
}
