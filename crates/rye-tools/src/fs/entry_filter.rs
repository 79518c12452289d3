//! Selection of the entries that a caller sees.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use cap_std::fs::Dir;

use super::ignored::Rules;
use super::protected::Guard;
use super::view::{Skipped, View};
use super::walk::Trail;
use super::{EntryKind, Root};

/// The position of a walk, by the real names of the folders from the root.
#[derive(Debug, Default)]
pub(super) struct Position {
    names: Vec<OsString>,
    path: PathBuf,
}

impl Position {
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

/// Checks entries against the view and the ignore files, and counts those that it leaves out.
pub(super) struct EntryFilter<'a> {
    pub(super) guard: &'a Guard,
    view: View,
    rules: Rules,
    pub(super) skipped: Skipped,
}

impl<'a> EntryFilter<'a> {
    /// Creates a filter with the rules of all folders of the trail, and the position at its end.
    pub(super) fn new(
        root: &Root,
        trail: &Trail,
        guard: &'a Guard,
        view: View,
    ) -> (Self, Position) {
        let skipped = Skipped::default();
        let mut filter = Self { guard, view, rules: Rules::default(), skipped };
        let mut place = Position::default();
        filter.enter(root.dir(), &place);
        for (name, folder) in trail {
            place.push(name);
            filter.enter(folder, &place);
        }
        (filter, place)
    }

    /// Adds the rules of a folder.
    pub(super) fn enter(&mut self, folder: &Dir, place: &Position) {
        if !self.view.shows_ignored() {
            self.skipped.bad_rules +=
                self.rules.enter(folder, place.depth(), &place.path, self.guard);
        }
    }

    /// Removes the rules of a folder.
    pub(super) fn leave(&mut self, place: &Position) {
        self.rules.leave(place.depth());
    }

    /// Returns `true` if the caller sees the entry `name` of the folder at `place`.
    pub(super) fn admits(&mut self, place: &Position, name: &OsStr, kind: EntryKind) -> bool {
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

    /// Returns `true` if the entry `name` of the folder at `place` is a closed area by its name.
    pub(super) fn is_closed(&self, place: &Position, name: &OsStr) -> bool {
        let names = place.names.iter().map(OsString::as_os_str);
        self.guard.is_last_of_area(name) && self.guard.by_name(names.chain([name])).is_some()
    }

    fn is_ignored(&self, place: &Position, name: &OsStr, kind: EntryKind) -> bool {
        self.rules.leave_out(&place.path.join(name), kind == EntryKind::Folder)
    }

    /// Returns `true` if the open folder is a closed area, or if that cannot be decided.
    pub(super) fn closes(&self, folder: &Dir) -> bool {
        !matches!(self.guard.by_folder(folder), Ok(None))
    }
}
