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
use crate::repository::{self, Entry, HEAD, PARTS};

/// Returns `true` for a name that `git` reads as `HEAD` on some system.
pub(super) fn is_head(name: &OsStr) -> bool {
    fold(name) == fold(OsStr::new(HEAD))
}

/// Returns `true` if `git` takes the open folder for a repository.
pub(super) fn is_repository(folder: &Dir) -> io::Result<bool> {
    repository::is_repository(|name| entry(folder, name))
}

/// Returns `true` if a new `name` in the open folder is what a repository needs beside the `HEAD` that is there.
pub(super) fn would_complete(folder: &Dir, name: &OsStr) -> io::Result<bool> {
    let folded = fold(name);
    let is_part = PARTS.iter().any(|part| stands_for(&folded, part));
    Ok(is_part && entry(folder, HEAD)? == Entry::Other)
}

fn entry(folder: &Dir, name: &str) -> io::Result<Entry> {
    match folder.symlink_metadata(name) {
        Ok(metadata) if metadata.is_dir() => Ok(Entry::Folder),
        Ok(_) => Ok(Entry::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entry::Absent),
        Err(error) => Err(error),
    }
}
