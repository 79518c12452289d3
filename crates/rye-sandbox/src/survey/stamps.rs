//! States of self-starting files, to detect changes.

use std::ffi::{CStr, OsStr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Stat, statat};
use rustix::io::Errno;

use super::super::identity::{if_there, state};
use super::super::quarantine;
use super::{DEPTH, Walk, open};
use crate::self_starting::{is_self_starting, leads_to_self_starting};

/// The state of a file: number, length and times, of which a program can set only one. For a link, also the
/// state of its target.
pub(super) type Stamp = (State, Option<State>);

type State = (u64, i128, [i128; 4]);

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn state_of(stat: &Stat) -> State {
    let times = [
        i128::from(stat.st_mtime),
        i128::from(stat.st_mtime_nsec),
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
    ];
    (stat.st_ino, i128::from(stat.st_size), times)
}

impl Walk<'_> {
    /// Records the state of a self-starting file, and of the files behind a link.
    pub(super) fn stamp(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
        place: &Path,
    ) -> Result<(), Errno> {
        if !has_unusual_part(place) {
            return Ok(());
        }
        let is_link = kind == FileType::Symlink;
        if is_self_starting(place.iter()) || (is_link && leads_to_self_starting(place.iter())) {
            let Some(stat) = if_there(state(folder, name))? else { return Ok(()) };
            let target = match is_link {
                // The files of a folder have states of their own.
                true => statat(folder, name, AtFlags::empty()).ok().filter(|stat| !is_folder(stat)),
                false => None,
            };
            let stamp = (state_of(&stat), target.as_ref().map(state_of));
            let _first = self.found.self_starting.insert(place.to_owned(), stamp);
        }
        if is_link && leads_to_self_starting(place.iter()) {
            self.stamp_link_target(place)
        } else {
            Ok(())
        }
    }

    /// Records the files that are self-starting because a link leads to their folder, such as `.vscode` to
    /// `settings`.
    fn stamp_link_target(&mut self, place: &Path) -> Result<(), Errno> {
        let Ok(target) = self.project.join(place).canonicalize() else { return Ok(()) };
        let Ok(path) = target.strip_prefix(self.project) else { return Ok(()) };
        // A folder that cannot be read is reported under its own path.
        match quarantine::open_below(self.project, path) {
            Ok(Some(folder)) => self.stamp_all(folder, place, 0),
            _ => Ok(()),
        }
    }

    fn stamp_all(&mut self, folder: OwnedFd, place: &Path, depth: usize) -> Result<(), Errno> {
        let mut folder = Dir::new(folder)?;
        let entries = self.list(&mut folder)?;
        let folder = folder.fd()?;
        for (name, kind) in entries {
            let place = place.join(OsStr::from_bytes(name.to_bytes()));
            match kind {
                FileType::Directory if depth < DEPTH => {
                    // A folder that cannot be read is reported under its own path.
                    let Ok(inner) = open(folder, &*name) else { continue };
                    self.stamp_all(inner, &place, depth + 1)?;
                }
                FileType::Directory => {}
                _ if is_self_starting(place.iter()) => {
                    let Some(stat) = if_there(state(folder, &*name))? else { continue };
                    let stamp = (state_of(&stat), None);
                    let _first = self.found.self_starting.insert(place, stamp);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns `true` if a part of the path is hidden or not ASCII. Only these few paths need a comparison.
fn has_unusual_part(path: &Path) -> bool {
    let is_usual = |name: &OsStr| name.as_bytes().is_ascii() && !name.as_bytes().starts_with(b".");
    !path.iter().all(is_usual)
}
