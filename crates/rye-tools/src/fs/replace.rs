//! Putting a new file in the place of an old one, in one step.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cap_fs_ext::MetadataExt;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};

use super::root::open_file;
use crate::temporary;

/// Where a file is to be, below which name of an open folder.
pub(super) struct Target<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a OsStr,
    /// What is there now, whose owner and mode are kept.
    pub(super) old: Option<&'a Metadata>,
}

/// Whether what is there may have become something else since it was looked at.
#[derive(Clone, Copy)]
pub(super) enum Meanwhile<'a> {
    /// It is replaced whatever it is.
    Whatever,
    /// Only what still has this content is replaced.
    Unchanged(&'a [u8]),
    /// Nothing may be there, and nothing is replaced.
    Absent,
}

/// Whether the new content is there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Replaced,
    /// Somebody else replaced, changed or removed the old file.
    Changed,
}

/// Writes `content` to a temporary file of the same folder and renames it.
pub(super) fn replace(
    target: &Target<'_>,
    content: &[u8],
    meanwhile: Meanwhile<'_>,
) -> io::Result<Outcome> {
    // Open until it has its name: a thread that removes what killed programs left could lock it otherwise, and remove it.
    let (temporary, mut file) = temporary_file(target)?;
    let filled = fill(&mut file, content, target.old);
    let done = filled.and_then(|()| settle(target, &temporary, meanwhile));
    drop(file);
    if !matches!(done, Ok(Outcome::Replaced)) {
        // The first error is the one to tell; what is left of the temporary file names itself.
        let _ = target.folder.remove_file(&temporary);
    }
    done
}

/// Looks a last time and renames. Threads of this program take turns, so that between them no change is lost.
fn settle(target: &Target<'_>, temporary: &OsStr, meanwhile: Meanwhile<'_>) -> io::Result<Outcome> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Meanwhile::Unchanged(old) = meanwhile
        && !is_unchanged(target, old)?
    {
        return Ok(Outcome::Changed);
    }
    if let Meanwhile::Absent = meanwhile {
        return create(target, temporary);
    }
    target.folder.rename(temporary, target.folder, target.name).map(|()| Outcome::Replaced)
}

/// Gives the temporary file its name, and never takes the name from another file.
fn create(target: &Target<'_>, temporary: &OsStr) -> io::Result<Outcome> {
    match rename_to_free_name(target, temporary) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Outcome::Changed),
        Err(error) if is_unknown(&error) => link(target, temporary),
        done => done.map(|()| Outcome::Replaced),
    }
}

/// Renames in one step, where the kernel and the file system can do it without taking the place of a file.
#[cfg(target_os = "linux")]
fn rename_to_free_name(target: &Target<'_>, temporary: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};

    let (folder, flags) = (target.folder, RenameFlags::NOREPLACE);
    Ok(renameat_with(folder, temporary, folder, target.name, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_to_free_name(_target: &Target<'_>, _temporary: &OsStr) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns `true` for the errors of a kernel or a file system that does not know such a rename.
fn is_unknown(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let unknown = [Errno::INVAL, Errno::NOSYS].map(Errno::raw_os_error);
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error().is_some_and(|errno| unknown.contains(&errno))
}

/// The same by a link, which never takes a name from another file either. Not every file system has links.
fn link(target: &Target<'_>, temporary: &OsStr) -> io::Result<Outcome> {
    match target.folder.hard_link(temporary, target.folder, target.name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Outcome::Changed),
        Err(error) => Err(error),
        Ok(()) => target.folder.remove_file(temporary).map(|()| Outcome::Replaced),
    }
}

/// Compared by content: two changes within one tick of the clock leave the same times.
fn is_unchanged(target: &Target<'_>, content: &[u8]) -> io::Result<bool> {
    let file = match open_file(target.folder, target.name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let now = file.metadata()?;
    let same = |old: &Metadata| {
        (old.dev(), old.ino()) == (now.dev(), now.ino()) && old.permissions() == now.permissions()
    };
    if !now.is_file() || !target.old.is_some_and(same) {
        return Ok(false);
    }
    let mut read = Vec::with_capacity(content.len());
    let maximum = u64::try_from(content.len()).unwrap_or(u64::MAX).saturating_add(1);
    file.take(maximum).read_to_end(&mut read)?;
    Ok(read == content)
}

fn fill(file: &mut File, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(old) = old {
        file.set_permissions(kept(file, old))?;
    }
    file.sync_all()
}

/// Gives the file to the owner and group of the old one where we may, and says which permissions to give it.
///
/// A program that runs as its owner is not left so with other content. A group that could not be kept must not read
/// more than everybody.
#[cfg(unix)]
fn kept(file: &File, old: &Metadata) -> Permissions {
    use cap_std::fs::MetadataExt as _;
    use cap_std::fs::PermissionsExt;
    let (user, group) =
        (rustix::fs::Uid::from_raw(old.uid()), rustix::fs::Gid::from_raw(old.gid()));
    // Only the superuser gives files away; for others, the file is now theirs.
    let _ = rustix::fs::fchown(file, Some(user), None);
    let keeps_group = rustix::fs::fchown(file, None, Some(group)).is_ok();
    let mode = old.mode() & 0o777;
    Permissions::from_mode(if keeps_group { mode } else { mode & 0o707 | (mode & 0o7) << 3 })
}

#[cfg(not(unix))]
fn kept(_file: &File, old: &Metadata) -> Permissions {
    old.permissions()
}

/// A new file with a name that nobody has; while it is to replace another, only its owner can open it.
fn temporary_file(target: &Target<'_>) -> io::Result<(OsString, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if target.old.is_some() {
        owner_only(&mut options);
    }
    temporary::sweep_once(target.folder);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".rye-{}-{number}.tmp", std::process::id()));
        match target.folder.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Another program that takes it for left behind removes it before it is locked.
            Ok(file) if !temporary::lock_shared(&file) => {}
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
