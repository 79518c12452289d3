//! The folder that confines file operations.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::Error;

/// A folder that file operations cannot leave. Clones are cheap and mean the same folder.
///
/// The folder is held open, so that renaming it does not move the root.
#[derive(Clone)]
pub struct Root {
    dir: Arc<Dir>,
}

impl Root {
    /// Opens a folder by its path on this machine. Links in that path are followed.
    ///
    /// # Errors
    ///
    /// [`Error::OpenRoot`] if the path is missing, is not a folder or cannot be read.
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

/// Opens a file for reading by its name in `folder`. Neither follows a link nor waits for the other end of a
/// FIFO.
pub(super) fn open_file(folder: &Dir, name: &OsStr) -> io::Result<File> {
    folder.open_with(name, OpenOptions::new().read(true).follow(FollowSymlinks::No).nonblock(true))
}
