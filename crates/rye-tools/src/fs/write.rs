//! Replacing a file as a whole.

use super::protected::Access;
use super::replace::{Meanwhile, Target, replace};
use super::walk::{Parents, Place, prepare, walk};
use super::{Error, Root};

/// The most content that one call writes, in bytes.
pub const MAX_WRITE_BYTES: usize = 4 * 1024 * 1024;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The path as asked, with `/` between its parts.
    pub path: String,
    /// The size of the file now, in bytes.
    pub bytes_written: usize,
}

/// Replaces or makes a file below the root as a whole, and makes the folders on the way.
///
/// The content goes to a temporary file of the same folder, which is then renamed: a reader sees the old file or the new
/// one, and a crash leaves one of the two. A file that existed keeps its permissions, and its owner where we may give it away;
/// it loses set-user-id and access control lists, and its other names keep the old content.
///
/// # Errors
///
/// Refused outside of the root, below `.ai/config/keys`, `.ai/threads` and `.git`, and for what is no regular file (SPEC 5.5);
/// fails for folders, for read-only files and for more than [`MAX_WRITE_BYTES`].
pub fn write(root: &Root, path: &str, content: &str) -> Result<Written, Error> {
    let (asked, guard) = prepare(root, path, Access::Write)?;
    let path = asked.text();
    if content.len() > MAX_WRITE_BYTES {
        let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        return Err(Error::TooLarge {
            path,
            bytes: size(content.len()),
            maximum: size(MAX_WRITE_BYTES),
        });
    }
    let (folder, name, old) = match walk(root, &asked, &guard, Parents::Created)? {
        Place::Folder { .. } => return Err(Error::IsFolder { path }),
        Place::Missing { folder, name } => (folder, name, None),
        Place::File { metadata, .. } if metadata.permissions().readonly() => {
            return Err(Error::ReadOnly { path });
        }
        Place::File { folder, name, metadata } => (folder, name, Some(metadata)),
    };
    let target = Target { folder: &folder, name: &name, old: old.as_ref() };
    match replace(&target, content.as_bytes(), Meanwhile::Whatever) {
        Ok(_) => Ok(Written { path, bytes_written: content.len() }),
        Err(source) => Err(Error::Io { action: "write", path, source }),
    }
}
