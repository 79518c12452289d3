//! Identities of files, which a rename does not change.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Stat, Statx, StatxFlags, makedev, readlinkat, statat, statx};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

use super::layout::Identity;

/// Returns the identity of `name` in the folder, or of the folder itself if the name is empty. Links are not
/// followed.
pub(super) fn identity(folder: impl AsFd, name: impl Arg + Copy) -> Result<Identity> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let found = statx(&folder, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
    let is_link = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Symlink;
    let target = match is_link {
        false => None,
        true => {
            let target = readlinkat(&folder, name, Vec::new())?;
            Some(target.to_bytes().iter().copied().map(char::from).collect())
        }
    };
    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
    Ok(Identity { device, inode: found.stx_ino, born: birth(&found), target })
}

/// Returns the time of the file's creation, if the file system has it. It distinguishes a new file from a
/// removed one with the same number.
fn birth(found: &Statx) -> Option<(i64, u32)> {
    let is_kept = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    is_kept.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec))
}

pub(super) fn state(folder: impl AsFd, name: impl Arg) -> Result<Stat> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)
}

/// Returns `None` if the file does not exist.
pub(super) fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system gives the number of a removed file to a new one.
    #[test]
    fn a_new_file_is_not_taken_for_one_that_is_gone() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("file");
        let make = || {
            std::fs::write(&path, "").unwrap();
            let found = identity(rustix::fs::CWD, &*path).unwrap();
            std::fs::remove_file(&path).unwrap();
            found
        };
        let first = make();
        assert_ne!(first, make(), "{first:?}");
    }
}
