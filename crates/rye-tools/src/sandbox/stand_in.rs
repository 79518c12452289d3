//! What stands where a project has no `.git`, while a program runs.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::{Plan, descendants};

/// An empty folder where `.git` would be, so that there is something to guard and no program makes one: the next `git` outside
/// would run what it says. `git` itself passes an empty one over.
///
/// The launcher holds it, because nobody else is there for as long as the program is: its caller may be gone before.
#[derive(Debug)]
pub(super) struct StandIn {
    path: PathBuf,
    /// Locked by everybody who guards it, in this program and in others.
    folder: File,
}

impl StandIn {
    /// Makes it where a project has none, and has it guarded; one that was left behind is as good.
    pub(super) fn make(plan: &mut Plan) -> Option<Self> {
        if !plan.stands_in {
            return None;
        }
        let made = Self::at(&plan.project.join(".git"))?;
        if !plan.guarded.contains(&made.path) {
            plan.guarded.push(made.path.clone());
        }
        Some(made)
    }

    fn at(path: &Path) -> Option<Self> {
        // Somebody may take it away between making and locking it, but not again and again.
        (0..ATTEMPTS).find_map(|_| {
            // Where we may make nothing, no program can either.
            let _there = fs::create_dir(path);
            let is_plain = fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
            let folder = File::open(path).ok().filter(|_| is_plain && is_empty(path))?;
            if flock(&folder, FlockOperation::NonBlockingLockShared).is_err() {
                // Somebody is about to take it away.
                std::thread::sleep(PAUSE);
                return None;
            }
            is_still(path, &folder).then(|| Self { path: path.to_owned(), folder })
        })
    }
}

impl Drop for StandIn {
    /// Takes it away once nobody guards it; what somebody put into it in the meantime keeps it there, and so does a program that
    /// could not be ended.
    fn drop(&mut self) {
        if descendants::living().is_empty()
            && flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_still(&self.path, &self.folder)
        {
            let _used = fs::remove_dir(&self.path);
        }
    }
}

const ATTEMPTS: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether the path leads to what was opened.
fn is_still(path: &Path, folder: &File) -> bool {
    let at = |it: fs::Metadata| (it.dev(), it.ino());
    let (here, opened) = (fs::symlink_metadata(path).map(at), folder.metadata().map(at));
    matches!((here, opened), (Ok(here), Ok(opened)) if here == opened)
}
