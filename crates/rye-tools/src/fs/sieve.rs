//! Which entries of a folder a caller gets to see.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use cap_std::fs::Dir;

use super::ignored::Rules;
use super::protected::Guard;
use super::view::{Skipped, View};
use super::walk::Trail;
use super::{EntryKind, Root};

/// Where a walk is, by the real names of the folders from the root.
#[derive(Debug, Default)]
pub(super) struct Place {
    names: Vec<OsString>,
    path: PathBuf,
}

impl Place {
    pub(super) fn depth(&self) -> usize {
        self.names.len()
    }

    pub(super) fn push(&mut self, name: &OsStr) {
        self.names.push(name.to_owned());
        self.path.push(name);
    }

    pub(super) fn pop(&mut self) {
        drop(self.names.pop());
        let _ = self.path.pop();
    }
}

/// Holds each entry against what was asked for and the ignore files, and counts what it keeps back.
pub(super) struct Sieve<'a> {
    pub(super) guard: &'a Guard,
    view: View,
    rules: Rules,
    pub(super) skipped: Skipped,
}

impl<'a> Sieve<'a> {
    /// A sieve with the rules of all folders from the root to the end of the trail, and that end.
    pub(super) fn new(root: &Root, trail: &Trail, guard: &'a Guard, view: View) -> (Self, Place) {
        let skipped = Skipped::default();
        let mut sieve = Self { guard, view, rules: Rules::default(), skipped };
        let mut place = Place::default();
        sieve.enter(root.dir(), &place);
        for (name, folder) in trail {
            place.push(name);
            sieve.enter(folder, &place);
        }
        (sieve, place)
    }

    /// Adds the rules of a folder.
    pub(super) fn enter(&mut self, folder: &Dir, place: &Place) {
        if !self.view.shows_ignored() {
            self.skipped.bad_rules +=
                self.rules.enter(folder, place.depth(), &place.path, self.guard);
        }
    }

    /// Drops the rules of a folder.
    pub(super) fn leave(&mut self, place: &Place) {
        self.rules.leave(place.depth());
    }

    /// Whether the caller sees the entry `name` of the folder at `place`.
    pub(super) fn admits(&mut self, place: &Place, name: &OsStr, kind: EntryKind) -> bool {
        let reason = if !self.view.shows_hidden() && name.as_encoded_bytes().starts_with(b".") {
            &mut self.skipped.hidden
        } else if !self.view.shows_ignored() && self.is_ignored(place, name, kind) {
            &mut self.skipped.ignored
        } else {
            return true;
        };
        *reason += 1;
        false
    }

    /// Whether the entry `name` of the folder at `place` is a closed area by its name.
    pub(super) fn is_closed(&self, place: &Place, name: &OsStr) -> bool {
        let names = place.names.iter().map(OsString::as_os_str);
        self.guard.is_last_of_area(name) && self.guard.by_name(names.chain([name])).is_some()
    }

    fn is_ignored(&self, place: &Place, name: &OsStr, kind: EntryKind) -> bool {
        self.rules.leave_out(&place.path.join(name), kind == EntryKind::Folder)
    }

    /// Whether the open folder is a closed area. One that cannot be looked at is.
    pub(super) fn closes(&self, folder: &Dir) -> bool {
        !matches!(self.guard.by_folder(folder), Ok(None))
    }
}
