//! Bounded reads that stay inside their space.

use std::{
    fs::{self, Metadata},
    io,
    path::{Component, Path, PathBuf},
};

use rye_files::{Refusal, read_unlinked, text};

use crate::ResolveError;

/// The longest file that is read, in bytes (SPEC 3.8).
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The folders below `.ai` whose files decide what a thread may do. Programs are kept from them by their paths, so that no
/// link leads elsewhere.
const POLICY: [&str; 2] = ["config", "tools/rye/agent/providers"];

/// Returns `true` if anything is at `path`. A dangling link counts, so that it does not fall through to a
/// farther space.
pub(crate) fn is_occupied(path: &Path) -> Result<bool, ResolveError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absence(&error) => Ok(false),
        Err(source) => Err(ResolveError::Io { path: path.to_owned(), source }),
    }
}

/// Returns `true` if there is no folder at `path`, so that nothing can be below it.
pub(crate) fn is_missing(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| is_absence(&error))
}

/// Reads the plain file at `path`, which must lie in the `.ai` folder `ai` once all links are followed.
pub(crate) fn read(ai: &Path, path: &Path) -> Result<String, ResolveError> {
    let (real, _) = inside(ai, path)?;
    // The real path has no link, so one that is there now was put there meanwhile and may lead out.
    let bytes = read_unlinked(&real, MAX_FILE_BYTES).map_err(|error| refusal(path, error))?;
    text(bytes)
        .map_err(|source| ResolveError::NotText { path: path.to_owned(), told: source.to_string() })
}

/// Reads the plain file at `below`, a path below the folder `root`. No part of `below` may be a link; `root` itself may. `None` if there
/// is no such file.
pub(crate) fn read_below(
    root: &Path,
    below: &str,
    most: u64,
) -> Result<Option<String>, ResolveError> {
    let path = root.join(below);
    let failed = |source| ResolveError::Io { path: path.clone(), source };
    let mut real = match fs::canonicalize(root) {
        Err(error) if is_absence(&error) => return Ok(None),
        real => real.map_err(failed)?,
    };
    for segment in below.split('/') {
        real.push(segment);
        match fs::symlink_metadata(&real) {
            Ok(found) if found.is_symlink() => {
                return Err(ResolveError::LinkedFile { path: path.clone() });
            }
            Ok(_) => {}
            Err(error) if is_absence(&error) => return Ok(None),
            Err(source) => return Err(failed(source)),
        }
    }
    let bytes = read_unlinked(&real, most).map_err(|error| refusal(&path, error))?;
    let told = |error: rye_files::NotText| error.to_string();
    text(bytes)
        .map(Some)
        .map_err(|error| ResolveError::NotText { path: path.clone(), told: told(error) })
}

/// Returns the reason why a file was not read.
fn refusal(path: &Path, source: io::Error) -> ResolveError {
    let path = path.to_owned();
    match Refusal::of(&source) {
        Some(Refusal::NotPlain) => ResolveError::NotAFile { path },
        Some(Refusal::TooLong { most }) => ResolveError::TooLarge { path, limit: most },
        _ => ResolveError::Io { path, source },
    }
}

/// Returns the real path and the metadata of the entry at `path`, or an error if a link leads out of `ai` or to policy.
///
/// `ai` itself may be a link, because a home folder may be kept elsewhere.
pub(crate) fn inside(ai: &Path, path: &Path) -> Result<(PathBuf, Metadata), ResolveError> {
    let failed = |source| ResolveError::Io { path: path.to_owned(), source };
    let space = fs::canonicalize(ai).map_err(failed)?;
    if let Ok(below) = path.strip_prefix(ai) {
        if let Some(found) = find_unlinked(&space, below) {
            return Ok(found);
        }
        if POLICY.iter().any(|folder| below.starts_with(folder)) {
            fs::metadata(path).map_err(failed)?;
            return Err(ResolveError::LinkedPolicy { path: path.to_owned() });
        }
    }
    let real = fs::canonicalize(path).map_err(failed)?;
    if !real.starts_with(&space) {
        return Err(ResolveError::LeavesSpace { path: path.to_owned(), target: real });
    }
    let metadata = fs::metadata(&real).map_err(failed)?;
    Ok((real, metadata))
}

/// Returns the entry at `below` in the real folder `space`, or `None` if a segment of `below` is a link.
///
/// Without a link nothing can lead out, so the segments of `space` need not be resolved again.
fn find_unlinked(space: &Path, below: &Path) -> Option<(PathBuf, Metadata)> {
    let mut real = space.to_owned();
    let mut last = None;
    for component in below.components() {
        let Component::Normal(segment) = component else { return None };
        real.push(segment);
        last = Some(fs::symlink_metadata(&real).ok().filter(|metadata| !metadata.is_symlink())?);
    }
    Some((real, last?))
}

/// The names in the folder at `path`, sorted, or `None` when there is no such folder.
///
/// Hidden names and names that are not Unicode are left out, because no id can spell them.
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
    // An id may be longer than the longest file name; such a file cannot exist.
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}
