//! The identity of a file, which it keeps when it is moved.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Stat, readlinkat, statat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

use super::layout::Identity;

/// The identity of what `name` is in the folder, or of the folder itself for an empty name. A link is not followed.
pub(super) fn identity(folder: impl AsFd, name: impl Arg + Copy) -> Result<Identity> {
    let stat = state(&folder, name)?;
    let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
    let target = match is_link {
        false => None,
        true => {
            let target = readlinkat(&folder, name, Vec::new())?;
            Some(target.to_bytes().iter().copied().map(char::from).collect())
        }
    };
    Ok(Identity { device: stat.st_dev, inode: stat.st_ino, target })
}

pub(super) fn state(folder: impl AsFd, name: impl Arg) -> Result<Stat> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)
}

/// `None` for what is not there.
pub(super) fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}
