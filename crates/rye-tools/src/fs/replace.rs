//! Atomic replacement of a file.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cap_fs_ext::MetadataExt;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};

use super::root::open_file;
use rye_sandbox::{lock_shared, sweep_once};

/// The file to write: a name in an open folder.
pub(super) struct Target<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a OsStr,
    /// The metadata of the existing file, whose owner and mode are kept.
    pub(super) old: Option<&'a Metadata>,
}

/// The condition of the replacement, which is checked right before it.
#[derive(Clone, Copy)]
pub(super) enum Meanwhile<'a> {
    /// The file is replaced whatever it is now.
    Whatever,
    /// The file is replaced only if it still has this content.
    Unchanged(&'a [u8]),
    /// The name must be free. Nothing is replaced.
    Absent,
}

/// The result of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Replaced,
    /// Another program replaced, changed or removed the old file, or took the name.
    Changed,
}

/// Writes `content` to a temporary file in the same folder and renames it.
pub(super) fn replace(
    target: &Target<'_>,
    content: &[u8],
    meanwhile: Meanwhile<'_>,
) -> io::Result<Outcome> {
    // The file stays open, and with it locked, until it has its name. Otherwise, a thread that removes the
    // files of killed programs could remove it.
    let (temporary, mut file) = temporary_file(target)?;
    let filled = fill(&mut file, content, target.old);
    let done = filled.and_then(|()| settle(target, &temporary, meanwhile));
    drop(file);
    if !matches!(done, Ok(Outcome::Replaced)) {
        // The first error is the one to report. A temporary file that stays is recognised by its name.
        let _ = target.folder.remove_file(&temporary);
    }
    done
}

/// Checks the condition and renames. Threads of this process take turns, so that no change between them is
/// lost.
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

/// Gives the temporary file its name without replacing another file.
fn create(target: &Target<'_>, temporary: &OsStr) -> io::Result<Outcome> {
    match rename_to_free_name(target, temporary) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Outcome::Changed),
        Err(error) if is_unknown(&error) => link(target, temporary),
        done => done.map(|()| Outcome::Replaced),
    }
}

/// Renames atomically without replacing, if the kernel and the file system support it.
#[cfg(target_os = "linux")]
fn rename_to_free_name(target: &Target<'_>, temporary: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};

    let folder = target.folder;
    let flags = RenameFlags::NOREPLACE;
    Ok(renameat_with(folder, temporary, folder, target.name, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_to_free_name(_target: &Target<'_>, _temporary: &OsStr) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns `true` for errors that mean that the kernel or the file system does not support this rename.
fn is_unknown(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let unknown = [Errno::INVAL, Errno::NOSYS].map(Errno::raw_os_error);
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error().is_some_and(|errno| unknown.contains(&errno))
}

/// Gives the name by a hard link, which never replaces a file either. Not every file system has hard links.
fn link(target: &Target<'_>, temporary: &OsStr) -> io::Result<Outcome> {
    match target.folder.hard_link(temporary, target.folder, target.name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Outcome::Changed),
        Err(error) => Err(error),
        Ok(()) => target.folder.remove_file(temporary).map(|()| Outcome::Replaced),
    }
}

/// Returns `true` if the target still has `content`. The content is compared, because two changes within one
/// tick of the clock have the same time.
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
        file.set_permissions(keep_owner(file, old))?;
    }
    file.sync_all()
}

/// Gives the file the owner and group of the old one, if the system allows it, and returns the permissions to
/// set.
///
/// Set-user-id is dropped, because the content is new. If the group cannot be kept, the new group gets no
/// more access than others have.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> Permissions {
    use cap_std::fs::MetadataExt as _;
    use cap_std::fs::PermissionsExt;
    let user = rustix::fs::Uid::from_raw(old.uid());
    let group = rustix::fs::Gid::from_raw(old.gid());
    // Only the superuser can give files away. For other users, the file becomes their own.
    let _ = rustix::fs::fchown(file, Some(user), None);
    let keeps_group = rustix::fs::fchown(file, None, Some(group)).is_ok();
    let mode = old.mode() & 0o777;
    Permissions::from_mode(if keeps_group { mode } else { mode & 0o707 | (mode & 0o7) << 3 })
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, old: &Metadata) -> Permissions {
    old.permissions()
}

/// Makes a temporary file with a free name. If it is to replace a file, only its owner can open it.
fn temporary_file(target: &Target<'_>) -> io::Result<(OsString, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if target.old.is_some() {
        owner_only(&mut options);
    }
    sweep_once(target.folder);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".rye-{}-{number}.tmp", std::process::id()));
        match target.folder.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Another program may remove the file before it is locked, because it seems to be left behind.
            Ok(file) if !lock_shared(&file) => {}
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
