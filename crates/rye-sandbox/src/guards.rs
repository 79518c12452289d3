//! Read-only mounts over parts of a project. They are made and checked with open files. No path is resolved
//! twice, so that a folder which another program replaces meanwhile cannot redirect them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstatvfs, openat2};
use rustix::io::Errno;

use super::fault::Fault;
use super::identity::identity;
use super::launcher::by_number;
use super::layout::{Guarded, Layout};

/// Mounts the layout. Returns the path of a guard whose target is gone or has been replaced, if there is one.
pub(super) fn make(layout: &Layout) -> Result<Option<PathBuf>, Fault> {
    for folder in layout.pinned.iter().chain(&layout.open) {
        if let Some(file) = open(folder)? {
            bind(&file, folder)?;
        }
    }
    layout
        .pinned
        .iter()
        .try_for_each(|folder| open(folder)?.map_or(Ok(()), |top| close(&top, folder)))?;
    for guard in &layout.guarded {
        if !stand(guard)? {
            return Ok(Some(guard.path.clone()));
        }
    }
    Ok(None)
}

/// Mounts a guard. Returns `false` if its target was moved.
fn stand(guard: &Guarded) -> Result<bool, Fault> {
    let Some(file) = open_target(guard)? else {
        let is_there = fs::symlink_metadata(&guard.path).is_ok();
        return match guard.identity.is_none() && is_there {
            true => Err(Fault::new(&guarding(&guard.path), "it is a link")),
            // A missing policy file needs no guard, because programs make no new one in its place.
            false => Ok(guard.identity.is_none()),
        };
    };
    let bound = bind(&file, &guard.path);
    match (open_target(guard)?, bound) {
        (Some(top), Ok(())) => close(&top, &guard.path).map(|()| true),
        (None, _) => Ok(false),
        (Some(_), Err(fault)) => Err(fault),
    }
}

/// Returns the fault of a guard whose target is gone.
pub(super) fn moved_fault(path: &Path) -> Fault {
    Fault::new(&guarding(path), "it was moved meanwhile")
}

/// Fails unless everything in the layout is read-only for this process. bubblewrap makes its mounts by path,
/// and a path may have changed in that moment.
pub(super) fn check(layout: &Layout) -> Result<(), Fault> {
    let pinned = layout.pinned.iter().cloned().map(|path| Guarded { path, identity: None });
    for guard in pinned.chain(layout.guarded.iter().cloned()) {
        let is_there = fs::symlink_metadata(&guard.path).is_ok();
        match open_target(&guard)? {
            Some(file) if is_read_only(&file)? => {}
            None if guard.identity.is_none() && !is_there => {}
            _ => return Err(moved_fault(&guard.path)),
        }
    }
    Ok(())
}

fn guarding(path: &Path) -> String {
    format!("keep `{}` read-only", path.display())
}

/// Opens the target of the guard. Returns `None` if it is gone or has been replaced.
fn open_target(guard: &Guarded) -> Result<Option<File>, Fault> {
    let Some(file) = open(&guard.path)? else { return Ok(None) };
    let Some(expected) = &guard.identity else { return Ok(Some(file)) };
    let found = identity(&file, "").map_err(Fault::at(&guarding(&guard.path)))?;
    Ok((found == *expected).then_some(file))
}

/// Opens a path without following links anywhere in it.
fn open(path: &Path) -> Result<Option<File>, Fault> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(Fault::new(&guarding(path), error)),
    }
}

fn bind(file: &File, path: &Path) -> Result<(), Fault> {
    let place = by_number(file);
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(&place), &place, None::<&str>, flags, None::<&str>)
        .map_err(Fault::at(&guarding(path)))
}

/// Makes the mount read-only, and keeps its other flags.
fn close(top: &File, path: &Path) -> Result<(), Fault> {
    let had = fstatvfs(top).map_err(Fault::at(&guarding(path)))?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MsFlags::MS_NOSUID),
        (StatVfsMountFlags::NODEV, MsFlags::MS_NODEV),
        (StatVfsMountFlags::NOEXEC, MsFlags::MS_NOEXEC),
        (StatVfsMountFlags::NOATIME, MsFlags::MS_NOATIME),
        (StatVfsMountFlags::NODIRATIME, MsFlags::MS_NODIRATIME),
        (StatVfsMountFlags::RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept: MsFlags =
        kept.into_iter().filter(|(flag, _)| had.contains(*flag)).map(|(_, flag)| flag).collect();
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | kept;
    mount(None::<&str>, &by_number(top), None::<&str>, flags, None::<&str>)
        .map_err(Fault::at(&guarding(path)))?;
    match is_read_only(top)? {
        true => Ok(()),
        false => Err(Fault::new(&guarding(path), "it stays writable")),
    }
}

fn is_read_only(file: &File) -> Result<bool, Fault> {
    let state = fstatvfs(file).map_err(Fault::at("see whether a mount is read-only"))?;
    Ok(state.f_flag.contains(StatVfsMountFlags::RDONLY))
}
