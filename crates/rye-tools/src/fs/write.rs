//! Writing of whole files.

use super::protected::Access;
use super::replace::{Meanwhile, Outcome, Target, replace};
use super::walk::{Parents, Place, prepare, walk};
use super::{Error, Root};

/// The largest content that a call writes, in bytes.
pub const MAX_WRITE_BYTES: usize = 4 * 1024 * 1024;

/// The result of a write.
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

/// Writes a whole file below the root: replaces it or makes it, with the folders of its path.
///
/// The content goes to a temporary file in the same folder, which is then renamed. A reader sees either the
/// old or the new file, and a crash leaves one of them. An existing file keeps its permissions, and its owner
/// if the system allows it. It loses set-user-id and access control lists, and its other names keep the old
/// content.
///
/// # Errors
///
/// Refuses paths outside of the root, in every [`Area`](super::Area) and to anything but regular files (SPEC
/// 5.5). Fails for folders, for read-only files and for more than [`MAX_WRITE_BYTES`].
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

/// Makes a new file below the root, with the folders of its path.
///
/// The whole content appears under the name in one step, which fails if the name is taken by then. If several
/// callers create the same path, one of them succeeds.
///
/// # Errors
///
/// [`Error::Exists`] if the file exists, and otherwise the errors of [`write`](fn@write).
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
    let bytes = size(content.len());
    let maximum = size(MAX_WRITE_BYTES);
    Err(Error::TooLarge { path: path.to_owned(), bytes, maximum })
}
