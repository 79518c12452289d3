//! Replacing a file as a whole.

use super::protected::Access;
use super::replace::{Meanwhile, Outcome, Target, replace};
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
    /// The self-starting files that were changed, such as `.envrc`.
    pub self_starting: Vec<String>,
}

/// Replaces or makes a file below the root as a whole, and makes the folders on the way.
///
/// The content goes to a temporary file of the same folder, which is then renamed: a reader sees the old file or the new
/// one, and a crash leaves one of the two. A file that existed keeps its permissions, and its owner where we may give it away;
/// it loses set-user-id and access control lists, and its other names keep the old content.
///
/// # Errors
///
/// Refused outside of the root, in every [`Area`](super::Area) and for what is no regular file (SPEC 5.5); fails for folders, for read-only files and for more than [`MAX_WRITE_BYTES`].
pub fn write(root: &Root, path: &str, content: &str) -> Result<Written, Error> {
    let (asked, guard) = prepare(root, path, Access::Write)?;
    let path = asked.text();
    refuse_large(&path, content)?;
    let (folder, name, old, self_starting) = match walk(root, &asked, &guard, Parents::Created)? {
        Place::Folder { .. } => return Err(Error::IsFolder { path }),
        Place::Missing { folder, name, self_starting } => (folder, name, None, self_starting),
        Place::File { metadata, .. } if metadata.permissions().readonly() => {
            return Err(Error::ReadOnly { path });
        }
        Place::File { folder, name, metadata, self_starting } => {
            (folder, name, Some(metadata), self_starting)
        }
    };
    let target = Target { folder: &folder, name: &name, old: old.as_ref() };
    match replace(&target, content.as_bytes(), Meanwhile::Whatever) {
        Ok(_) => Ok(Written { path, bytes_written: content.len(), self_starting }),
        Err(source) => Err(Error::Io { action: "write", path, source }),
    }
}

/// Makes a file below the root where nothing is, and makes the folders on the way.
///
/// The whole content appears under the name in one step, which fails if anything has the name by then. Of several callers
/// that create one path at the same time, one succeeds.
///
/// # Errors
///
/// [`Error::Exists`] when there is a file, and otherwise the errors of [`write`](fn@write).
pub fn create(root: &Root, path: &str, content: &str) -> Result<Written, Error> {
    let (asked, guard) = prepare(root, path, Access::Write)?;
    let path = asked.text();
    refuse_large(&path, content)?;
    let (folder, name, self_starting) = match walk(root, &asked, &guard, Parents::Created)? {
        Place::Folder { .. } => return Err(Error::IsFolder { path }),
        Place::File { .. } => return Err(Error::Exists { path }),
        Place::Missing { folder, name, self_starting } => (folder, name, self_starting),
    };
    let target = Target { folder: &folder, name: &name, old: None };
    match replace(&target, content.as_bytes(), Meanwhile::Absent) {
        Ok(Outcome::Replaced) => Ok(Written { path, bytes_written: content.len(), self_starting }),
        Ok(Outcome::Changed) => Err(Error::Exists { path }),
        Err(source) => Err(Error::Io { action: "create", path, source }),
    }
}

fn refuse_large(path: &str, content: &str) -> Result<(), Error> {
    if content.len() <= MAX_WRITE_BYTES {
        return Ok(());
    }
    let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let (bytes, maximum) = (size(content.len()), size(MAX_WRITE_BYTES));
    Err(Error::TooLarge { path: path.to_owned(), bytes, maximum })
}
