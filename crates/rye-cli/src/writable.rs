//! Folders that may be written.

use std::path::Path;

/// Returns `true` if the folder is there and can be written, or can be made.
pub(crate) fn may_be_made(folder: &Path) -> bool {
    folder.ancestors().find(|folder| folder.exists()).is_some_and(is_writable)
}

/// Returns `true` if files can be made in this folder, as far as it is known without making one.
#[cfg(unix)]
pub(crate) fn is_writable(folder: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn is_writable(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| found.is_dir() && !found.permissions().readonly())
}
