//! The launcher as an open file. Programs may replace the file at its path, and that changes nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program that calls [`launch`](crate::launch) first, as an open file.
///
/// Each start runs the opened file. Its path is not resolved again, so that no program can put another file in its
/// place, not even if the launcher lies in a project. All clones share the file.
#[derive(Debug, Clone)]
pub struct Launcher {
    file: Arc<File>,
    path: PathBuf,
}

impl Launcher {
    /// Opens the running program. On Linux, that is the file that was started, even if its path leads to another one
    /// by now.
    ///
    /// # Errors
    ///
    /// The system's error, for instance if `/proc` is not mounted.
    pub fn of_this_program() -> io::Result<Self> {
        let path = std::env::current_exe()?;
        let opened = if cfg!(target_os = "linux") { Path::new(OWN) } else { &path };
        Ok(Self { file: Arc::new(open(opened)?), path })
    }

    /// Opens another program as the launcher.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: Arc::new(open(path)?), path: path.canonicalize()? })
    }

    /// Returns the path that the file had when it was opened, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path that starts the open file, from this process.
    pub(crate) fn program(&self) -> PathBuf {
        by_number(&*self.file)
    }
}

/// The link to the file of the running program.
const OWN: &str = "/proc/self/exe";

fn open(path: &Path) -> io::Result<File> {
    // A program can be started without the right to read it.
    #[cfg(target_os = "linux")]
    let flags = rustix::fs::OFlags::PATH.bits().cast_signed();
    #[cfg(not(target_os = "linux"))]
    let flags = 0;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns the path of an open file in the table of this process.
pub(crate) fn by_number(file: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Opens the running launcher for the next process, which inherits it.
#[cfg(target_os = "linux")]
pub(crate) fn inheritable() -> io::Result<File> {
    let file = open(Path::new(OWN))?;
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
    Ok(file)
}
