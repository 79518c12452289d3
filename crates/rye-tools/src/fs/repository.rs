//! Bare repositories: folders that `git` takes for a repository without a `.git`.
//!
//! `git` runs the settings of such a folder. A tool that could write the four parts of a repository one after
//! the other would therefore start programs outside of any sandbox. All repositories need a file `HEAD`,
//! which no tool may write in any folder. This rule depends on no other file, so that no order of writes and
//! no race evades it. The other rules protect an existing `HEAD`, such as a cloned one, from being completed,
//! and repositories from being changed.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

use rye_sandbox::names::{fold, stands_for};
use rye_sandbox::repository::{self, Entry, HEAD, PARTS};

/// Returns `true` for a name that `git` reads as `HEAD` on some system.
pub(super) fn is_head(name: &OsStr) -> bool {
    fold(name) == fold(OsStr::new(HEAD))
}

/// Returns `true` if `git` takes the open folder for a repository.
pub(super) fn is_repository(folder: &Dir) -> io::Result<bool> {
    repository::is_repository(|name| entry(folder, name))
}

/// Returns `true` if a new `name` in the open folder would complete a repository with the `HEAD` that is
/// there.
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
