//! The only place that touches the file system: bounded reads that stay inside their space.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::ResolveError;

/// The longest file that is read, in bytes (SPEC 3.8).
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Whether anything is at `path`: a dangling link is, and must not fall through to a lower space.
pub(crate) fn occupied(path: &Path) -> Result<bool, ResolveError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absence(&error) => Ok(false),
        Err(source) => Err(ResolveError::Io { path: path.to_owned(), source }),
    }
}

/// The text of the plain file at `path`, which must lie in the `.ai` folder `ai` after every link.
pub(crate) fn read(ai: &Path, path: &Path) -> Result<String, ResolveError> {
    let real = reach(ai, path)?;
    let failed = |source| ResolveError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    // The length is counted while reading, because a file can grow after it was measured.
    let mut file = File::open(&real).map_err(failed)?.take(MAX_FILE_BYTES + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ResolveError::TooLarge { path: path.to_owned(), limit: MAX_FILE_BYTES });
    }
    String::from_utf8(bytes).map_err(|_| ResolveError::NotText { path: path.to_owned() })
}

/// The real path of the plain file at `path`.
pub(crate) fn reach(ai: &Path, path: &Path) -> Result<PathBuf, ResolveError> {
    let (real, metadata) = inside(ai, path)?;
    // Checked before opening: opening a pipe would wait for a writer.
    if metadata.is_file() {
        Ok(real)
    } else {
        Err(ResolveError::NotAFile { path: path.to_owned() })
    }
}

/// The real path and sort of what is at `path`, refused when a link leads it out of `ai`.
///
/// `ai` itself may be a link: a home folder kept elsewhere is still the operator's.
pub(crate) fn inside(ai: &Path, path: &Path) -> Result<(PathBuf, Metadata), ResolveError> {
    let failed = |source| ResolveError::Io { path: path.to_owned(), source };
    let space = fs::canonicalize(ai).map_err(failed)?;
    let real = fs::canonicalize(path).map_err(failed)?;
    if !real.starts_with(&space) {
        return Err(ResolveError::LeavesSpace { path: path.to_owned(), target: real });
    }
    let metadata = fs::metadata(&real).map_err(failed)?;
    Ok((real, metadata))
}

/// The names in the folder at `path`, sorted, or `None` when there is no such folder.
///
/// Hidden names and names that are not Unicode are left out: no id can spell them.
pub(crate) fn names(path: &Path) -> Result<Option<Vec<String>>, ResolveError> {
    let failed = |source| ResolveError::Io { path: path.to_owned(), source };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        names.extend(name.into_string().ok().filter(|name| !name.starts_with('.')));
    }
    names.sort_unstable();
    Ok(Some(names))
}

fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    // An id may be longer than the longest file name, which is one more way not to be there.
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}
