//! What of a project no program changes, where the sandbox is whole.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::host::Processes;
use super::job::StartError;
use crate::sandbox::Mode;

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

/// An empty folder where `.git` would be, so that there is something to guard and no program makes one: the next `git` outside
/// would run what it says. `git` itself passes an empty one over.
#[derive(Debug)]
pub(super) struct StandIn {
    path: PathBuf,
    /// Locked by everybody who guards it, in this program and in others.
    folder: File,
}

impl StandIn {
    /// Makes it where a project has none and the sandbox can guard it; one that was left behind is as good.
    pub(super) fn make(project: &Path, mode: Mode) -> Option<Self> {
        let path = project.join(".git");
        if !mode.is_whole() {
            return None;
        }
        // Somebody may take it away between making and locking it, but not again and again.
        (0..ATTEMPTS).find_map(|_| {
            // Where we may make nothing, no program can either.
            let _there = fs::create_dir(&path);
            let is_plain = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
            let folder = File::open(&path).ok().filter(|_| is_plain && is_empty(&path))?;
            flock(&folder, FlockOperation::NonBlockingLockShared).ok()?;
            is_still(&path, &folder).then(|| Self { path: path.clone(), folder })
        })
    }

    /// Takes it away once nobody guards it; what somebody put into it in the meantime keeps it there.
    pub(super) fn remove(self) {
        if flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_still(&self.path, &self.folder)
        {
            let _used = fs::remove_dir(&self.path);
        }
    }
}

const ATTEMPTS: usize = 8;

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether the path leads to what was opened.
fn is_still(path: &Path, folder: &File) -> bool {
    let at = |it: fs::Metadata| (it.dev(), it.ino());
    let (here, opened) = (fs::symlink_metadata(path).map(at), folder.metadata().map(at));
    matches!((here, opened), (Ok(here), Ok(opened)) if here == opened)
}
