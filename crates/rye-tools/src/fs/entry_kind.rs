//! The kinds of entries in a folder.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::{Dir, FileType};
use strum::IntoStaticStr;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, whatever its target is.
    Link,
    /// A device, FIFO or socket.
    Other,
}

impl EntryKind {
    /// Returns the name in a tool's result: `file`, `folder`, `link` or `other`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the kind of `name` from its folder's listing, or from its metadata if the listing has no kind.
    /// Returns `None` if the entry is gone.
    pub(super) fn of_entry(
        folder: &Dir,
        name: &OsStr,
        listed: FileType,
    ) -> io::Result<Option<Self>> {
        if listed != FileType::unknown() {
            return Ok(Some(Self::of(listed)));
        }
        match folder.symlink_metadata(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            metadata => Ok(Some(Self::of(metadata?.file_type()))),
        }
    }

    fn of(file_type: FileType) -> Self {
        if file_type.is_symlink() {
            Self::Link
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}
