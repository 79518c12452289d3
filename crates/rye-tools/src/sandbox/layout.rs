//! The parts of a project that programs do not change.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::encoded;

/// The providers of a project, which decide to which servers prompts go. A walk cannot guard them where they are not there yet.
pub(crate) const PROVIDERS: &str = ".ai/tools/rye/agent/providers";

/// The policy of a project, and its record: read-only for programs as whole folders.
pub(crate) const POLICY: [&str; 4] = [".ai/config", ".ai/rye.lock", ".ai/threads", PROVIDERS];

/// The folder that leads to it: nothing is made or replaced directly in it.
pub(crate) const PINNED: &str = ".ai";

/// The folders on the way to policy that are not directly in it, in their order: a mount of its own keeps each in its place.
#[cfg(target_os = "linux")]
const HELD: [&str; 2] = [".ai/tools/rye", ".ai/tools/rye/agent"];

/// One file or folder, whatever it is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// When it was made, where the file system keeps that.
    pub(super) born: Option<(i64, u32)>,
    /// The target of a link, because a link that is made anew may get the number of the old one.
    pub(super) target: Option<String>,
}

/// A place that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guarded {
    #[serde(with = "encoded::one")]
    pub(super) path: PathBuf,
    /// What is there, where nothing else will do.
    pub(super) identity: Option<Identity>,
}

/// What is made read-only in a project, in the order in which it is mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Folders in which nothing is made or replaced. A guard over a file alone would be gone once that is replaced.
    #[serde(with = "encoded::many")]
    pub(super) pinned: Vec<PathBuf>,
    /// The folders in those that programs may change, and not move.
    #[serde(with = "encoded::many")]
    pub(super) open: Vec<PathBuf>,
    /// Files and whole folders that stay as they are.
    pub(super) guarded: Vec<Guarded>,
}

impl Layout {
    pub(super) fn is_guarded(&self, place: &Path) -> bool {
        self.guarded.iter().any(|one| place.starts_with(&one.path))
            || self.pinned.iter().any(|folder| place == folder)
    }
}

#[cfg(target_os = "linux")]
impl Layout {
    /// The layout of a project, with the repositories that were found in it as its first guards.
    pub(super) fn new(plan: &super::Plan, repositories: Vec<Guarded>) -> Self {
        let project = &plan.project;
        let is_plain = |path: &PathBuf| {
            std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_symlink())
        };
        let policy: Vec<PathBuf> =
            POLICY.iter().map(|path| project.join(path)).filter(is_plain).collect();
        let pinned: Vec<PathBuf> =
            Some(project.join(PINNED)).into_iter().filter(is_plain).collect();
        let entries = pinned.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let folders = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path());
        let held = HELD.iter().map(|path| project.join(path)).filter(is_plain);
        let open = folders.filter(|path| !policy.contains(path)).chain(held).collect();
        let fixed = policy.into_iter().map(|path| Guarded { path, identity: None });
        Self { pinned, open, guarded: repositories.into_iter().chain(fixed).collect() }
    }
}
