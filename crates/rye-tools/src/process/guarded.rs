//! What of a project no program changes, where the sandbox is whole.

use std::fs;
use std::path::PathBuf;

use super::host::Processes;
use super::job::StartError;

/// What of the project stays as it is: who is trusted, what was done, what was accepted, and what the next `git` outside would
/// run.
///
/// All of `.git` is, because many files in it say what `git` runs, and a name in it may be given to a new one.
pub(super) const GUARDED: [&str; 4] = [".ai/config/keys", ".ai/rye.lock", ".ai/threads", ".git"];

/// The folders that lead there, the outer one first: nothing is made or replaced directly in them.
pub(super) const PINNED: [&str; 2] = [".ai", ".ai/config"];

impl Processes {
    /// What is guarded is guarded where it is: a link would lead what is written to another place.
    pub(super) fn refuse_links(&self) -> Result<(), StartError> {
        let mut places = GUARDED.into_iter().chain([".ai/config/keys/signing"]);
        let linked = places.find_map(|path| self.link_in(path));
        linked.map_or(Ok(()), |path| {
            let path = path.display().to_string();
            Err(StartError::Folder { path, problem: "it is a link; put a folder in its place" })
        })
    }

    /// The folders in those that lead to what is guarded, as far as they are neither: programs may write items.
    pub(super) fn open(&self) -> Vec<PathBuf> {
        let kept: Vec<PathBuf> =
            GUARDED.iter().chain(&PINNED).map(|path| self.project.join(path)).collect();
        let pinned = PINNED.iter().map(|path| self.project.join(path));
        let entries = pinned.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let paths = folders.map(|entry| entry.path());
        paths.filter(|path| !kept.contains(path)).collect()
    }
}
