//! Replacing a file as a whole.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, OpenOptions, Permissions};

use super::protected::Access;
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
/// one, and a crash leaves one of the two. The mode of a file that existed is kept; its other names keep the old content.
///
/// # Errors
///
/// Refused outside of the root, below `.ai/config/keys` and `.ai/threads`, and for what is no regular file (SPEC 5.5);
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
    let (folder, name, kept) = match walk(root, &asked, &guard, Parents::Created)? {
        Place::Folder(_) => return Err(Error::IsFolder { path }),
        Place::Missing { folder, name } => (folder, name, None),
        Place::File { metadata, .. } if metadata.permissions().readonly() => {
            return Err(Error::ReadOnly { path });
        }
        Place::File { folder, name, metadata } => (folder, name, Some(metadata.permissions())),
    };
    match replace(&folder, &name, content.as_bytes(), kept) {
        Ok(()) => Ok(Written { path, bytes_written: content.len() }),
        Err(source) => Err(Error::Io { action: "write", path, source }),
    }
}

fn replace(
    folder: &Dir,
    name: &OsStr,
    content: &[u8],
    kept: Option<Permissions>,
) -> io::Result<()> {
    let (temporary, file) = temporary(folder, kept.is_some())?;
    let done = fill(file, content, kept).and_then(|()| folder.rename(&temporary, folder, name));
    if done.is_err() {
        // The first error is the one to tell; what is left of the temporary file names itself.
        let _ = folder.remove_file(&temporary);
    }
    done
}

fn fill(mut file: File, content: &[u8], kept: Option<Permissions>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(permissions) = kept {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

/// A new file with a name that nobody has; while it is to replace another, only its owner can open it.
fn temporary(folder: &Dir, replaces: bool) -> io::Result<(OsString, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if replaces {
        owner_only(&mut options);
    }
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".rye-{}-{number}.tmp", std::process::id()));
        match folder.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (name, file)),
        }
    }
}

#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn owner_only(_options: &mut OpenOptions) {}
