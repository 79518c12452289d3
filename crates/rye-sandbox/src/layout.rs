//! The layout of a project: its parts that programs cannot change.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::path_encoding;

/// The providers of a project, which decide the servers that receive prompts. A missing folder cannot be
/// protected by a survey.
pub(crate) const PROVIDERS: &str = ".ai/tools/rye/agent/providers";

/// The policy and the records of a project. They are read-only for programs.
pub(crate) const POLICY: [&str; 5] =
    [".ai/config", ".ai/rye.lock", ".ai/signed", ".ai/threads", PROVIDERS];

/// The folder that contains them. Its direct entries cannot be made or replaced.
pub(crate) const PINNED: &str = ".ai";

/// The folders between it and the deeper policy, outermost first. A mount keeps each in its place.
#[cfg(target_os = "linux")]
const HELD: [&str; 2] = [".ai/tools/rye", ".ai/tools/rye/agent"];

/// The identity of a file or folder, independent of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The time of its creation, if the file system has it.
    pub(super) born: Option<(i64, u32)>,
    /// The target of a link, because a new link may get the number of the old one.
    pub(super) target: Option<String>,
}

/// A path that programs cannot change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guarded {
    #[serde(with = "path_encoding::one")]
    pub(super) path: PathBuf,
    /// The expected identity, if the path must still be the same entry.
    pub(super) identity: Option<Identity>,
}

/// The read-only parts of a project, in the order of the mounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Folders whose entries cannot be made or replaced. A mount over a single file would be lost if the file
    /// is replaced.
    #[serde(with = "path_encoding::many")]
    pub(super) pinned: Vec<PathBuf>,
    /// Folders in them that programs may change, but not move.
    #[serde(with = "path_encoding::many")]
    pub(super) open: Vec<PathBuf>,
    /// Read-only files and folders.
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
    /// Returns the layout of a project. The guards of its repositories come first. `kept` are the places in it that
    /// belong to the operator, and `hidden` those that programs do not see.
    pub(super) fn new(
        project: &Path,
        repositories: Vec<Guarded>,
        kept: &[PathBuf],
        hidden: &[PathBuf],
    ) -> Self {
        let policy = POLICY.iter().map(|path| project.join(path)).filter(is_plain);
        let pinned = Some(project.join(PINNED)).filter(is_plain);
        let entries = pinned.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let is_folder = |kind: std::fs::FileType| kind.is_dir();
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(is_folder));
        let folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        let held = HELD.iter().map(|path| project.join(path));
        let above = kept.iter().chain(hidden).flat_map(|place| folders_above(project, place));
        let there = kept.iter().filter(|path| is_plain(path)).cloned();
        let fixed = policy.chain(there).map(|path| Guarded { path, identity: None });
        let guarded = repositories.into_iter().chain(fixed).collect();
        let pinned = pinned.into_iter().collect();
        let mut layout = Self { pinned, open: Vec::new(), guarded };
        let open = folders.into_iter().chain(held).chain(above);
        layout.open = open.filter(|path| is_plain(path) && !layout.is_guarded(path)).collect();
        // A folder comes after the one that contains it.
        layout.open.sort();
        layout.open.dedup();
        layout
    }
}

/// Returns `true` for a path that exists and is no link.
#[cfg(target_os = "linux")]
fn is_plain(path: &PathBuf) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_symlink())
}

/// Returns the folders between the project and a place in it. A program that could move one of them would move the
/// place away from its path.
#[cfg(target_os = "linux")]
fn folders_above<'a>(project: &'a Path, place: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let above = place.ancestors().skip(1);
    above
        .take_while(move |folder| *folder != project && folder.starts_with(project))
        .map(Path::to_owned)
}
