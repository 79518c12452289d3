//! Bare repositories: folders that `git` takes for a repository without a `.git`.
//!
//! `git` runs what the settings of such a folder say, so a tool that could write its four parts one after the other would
//! start programs outside of any sandbox. All of them need a file `HEAD`, which no tool writes, in whatever folder; that
//! rule needs no look at other files, so no order of writes and no race gets around it. The other rules keep a `HEAD` that
//! is there already, such as one that was cloned, from being completed, and repositories from being changed.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

use super::names::{fold, stands_for};

/// Returns `true` for a name that `git` reads as `HEAD` on some system.
pub(super) fn is_head(name: &OsStr) -> bool {
    fold(name) == "head"
}

/// Returns `true` if `git` takes the open folder for a repository: it has a `HEAD`, and `objects` with `refs` or a
/// `commondir` that says where those are.
pub(super) fn is_repository(folder: &Dir) -> io::Result<bool> {
    if !has_head(folder)? {
        return Ok(false);
    }
    Ok(is_there(folder, "commondir")?
        || (is_there(folder, "objects")? && is_there(folder, "refs")?))
}

/// Returns `true` if a new `name` in the open folder is what a repository needs beside the `HEAD` that is there.
pub(super) fn would_complete(folder: &Dir, name: &OsStr) -> io::Result<bool> {
    let folded = fold(name);
    let is_part = ["objects", "refs", "commondir"].iter().any(|part| stands_for(&folded, part));
    if is_part { has_head(folder) } else { Ok(false) }
}

/// Returns `true` for a `HEAD` that is no folder. A link counts, because what it leads to may change.
fn has_head(folder: &Dir) -> io::Result<bool> {
    match folder.symlink_metadata("HEAD") {
        Ok(metadata) => Ok(!metadata.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_there(folder: &Dir, name: &str) -> io::Result<bool> {
    match folder.symlink_metadata(name) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
