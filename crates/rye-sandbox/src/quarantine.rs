//! Renaming of entries that `git` or `rye` would obey, to names that they ignore. Nothing is deleted.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    CWD, Mode, OFlags, RenameFlags, ResolveFlags, fchmod, fstat, openat, openat2, renameat_with,
};
use rustix::io::Errno;

use super::identity::if_there;

/// The number of names to try. The names after the first are random, so that no program can take them in
/// advance.
const NAMES: usize = 8;

/// The longest part of an old name in a new one, in bytes.
const LONGEST_NAME: usize = 200;

/// The size of the largest `commondir` file that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Renames an entry, for example `.git` to `.git.quarantined`, and returns its new name, or `None` if it is
/// gone.
///
/// A read-only folder is made writable for that moment.
pub(super) fn rename(folder: impl AsFd, name: &CStr) -> Result<Option<CString>, Errno> {
    let before = Mode::from_raw_mode(fstat(&folder)?.st_mode);
    let mut is_opened = false;
    for number in 0..NAMES {
        let new = new_name(name, number)?;
        let rename = || renameat_with(&folder, name, &folder, &*new, RenameFlags::NOREPLACE);
        let mut done = rename();
        if matches!(done, Err(Errno::ACCESS | Errno::PERM)) && !is_opened {
            is_opened = fchmod(&folder, before | Mode::RWXU).is_ok();
            done = rename();
        }
        if matches!(done, Err(Errno::EXIST)) && number + 1 < NAMES {
            continue;
        }
        if is_opened {
            fchmod(&folder, before)?;
        }
        return if_there(done).map(|done| done.map(|()| new));
    }
    Err(Errno::EXIST)
}

/// Returns the new name. The first has no random ending, so that it is easy to find.
fn new_name(name: &CStr, number: usize) -> Result<CString, Errno> {
    let base = name.to_bytes();
    let base = base.get(..LONGEST_NAME).unwrap_or(base);
    let ending = match number {
        0 => String::new(),
        // The hash is keyed with random numbers of the system.
        _ => format!("-{:016x}", RandomState::new().hash_one(number)),
    };
    CString::new([base, b".quarantined", ending.as_bytes()].concat()).map_err(|_| Errno::INVAL)
}

/// Opens a folder that is closed to its owner, and leaves it open to its owner.
pub(super) fn open_closed(folder: impl AsFd, name: &CStr) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Some(closed) = if_there(openat(folder, name, flags, Mode::empty()))? else {
        return Ok(None);
    };
    let path = format!("/proc/self/fd/{}", closed.as_raw_fd());
    let mode = fstat(&closed)?.st_mode | 0o700;
    fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777)).map_err(|_| Errno::ACCESS)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map(Some)
}

/// Opens a folder of the project without following links.
pub(super) fn open_below(project: &Path, path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let place = project.join(path);
    if_there(openat2(CWD, &place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS))
}

/// Returns the folder that the `commondir` of a repository names, without links, if it exists.
pub(super) fn common_folder(repository: &Path) -> Option<PathBuf> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(repository.join("commondir"));
    let file = file.ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    let named = Path::new(OsStr::from_bytes(text.trim_ascii_end()));
    let place = repository.join(named);
    place.canonicalize().ok()
}
