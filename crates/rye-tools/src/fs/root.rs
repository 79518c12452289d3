//! The folder that operations cannot leave.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::Error;

/// A folder that file operations cannot leave; cloning it is cheap and means the same folder.
///
/// The folder is held open, so renaming it does not move the root elsewhere.
#[derive(Clone)]
pub struct Root {
    dir: Arc<Dir>,
}

impl Root {
    /// Opens a folder by its path on this machine, links in that path followed.
    ///
    /// # Errors
    ///
    /// [`Error::OpenRoot`] when it is missing, not a folder, or not ours to read.
    pub fn open(project: &Path) -> Result<Self, Error> {
        match Dir::open_ambient_dir(project, ambient_authority()) {
            Ok(dir) => Ok(Self { dir: Arc::new(dir) }),
            Err(source) => Err(Error::OpenRoot { path: project.to_owned(), source }),
        }
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root").finish_non_exhaustive()
    }
}

/// Opens a file for reading by its one-part name, neither following a link nor waiting for a FIFO's other end.
pub(super) fn open_file(folder: &Dir, name: &OsStr) -> io::Result<File> {
    folder.open_with(name, OpenOptions::new().read(true).follow(FollowSymlinks::No).nonblock(true))
}
