//! Other names of files and folders: the paths by which further mounts of a file system lead to them.

use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::mount_table::{Mount, list_mounts};

/// The mounts of this machine. On other systems than Linux it has none.
#[derive(Debug)]
pub(crate) struct MountTable {
    #[cfg(target_os = "linux")]
    mounts: Vec<Mount>,
}

impl MountTable {
    /// Reads the mounts that this process sees.
    ///
    /// # Errors
    ///
    /// The system's error. Without the table, a hidden place may have a name that stays visible.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self {
            #[cfg(target_os = "linux")]
            mounts: list_mounts()?,
        })
    }

    /// Returns the other names of a file or folder. `path` is absolute and has no links.
    pub(crate) fn names_of(&self, path: &Path) -> OtherNames {
        #[cfg(target_os = "linux")]
        return names_by(&self.mounts, path);
        #[cfg(not(target_os = "linux"))]
        {
            let _alone = path;
            OtherNames::default()
        }
    }
}

/// The other paths of a file or folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OtherNames {
    /// The paths by which other mounts lead to it.
    pub(crate) whole: Vec<PathBuf>,
    /// The places where parts of a folder are mounted.
    pub(crate) parts: Vec<PathBuf>,
}

impl OtherNames {
    /// Returns all paths.
    pub(crate) fn all(self) -> impl Iterator<Item = PathBuf> {
        self.whole.into_iter().chain(self.parts)
    }
}

#[cfg(target_os = "linux")]
fn names_by(mounts: &[Mount], path: &Path) -> OtherNames {
    let mut names = OtherNames::default();
    // Of the mounts in one place, the last covers the others, and everything that was mounted below them.
    let own = mounts.iter().filter(|one| path.starts_with(&one.place) && one.is_reached());
    let Some(own) = own.max_by_key(|one| one.place.as_os_str().len()) else { return names };
    let Ok(below) = path.strip_prefix(&own.place) else { return names };
    let inner = join(&own.root, below);
    for one in mounts.iter().filter(|one| one.device == own.device && one.number != own.number) {
        if let Ok(rest) = inner.strip_prefix(&one.root) {
            let other = join(&one.place, rest);
            if other != path && is_same_file(path, &other) {
                names.whole.push(other);
            }
        } else if one.root.starts_with(&inner) && one.is_reached() {
            names.parts.push(one.place.clone());
        }
    }
    names
}

/// Joins paths. [`Path::join`] adds a separator for an empty path.
#[cfg(target_os = "linux")]
fn join(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}

#[cfg(target_os = "linux")]
fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| std::fs::symlink_metadata(path).map(|it| (it.dev(), it.ino())).ok();
    id(one).is_some_and(|one| Some(one) == id(other))
}
