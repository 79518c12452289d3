//! Walks through a folder tree over open folders, in a fixed order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::entry_filter::{EntryFilter, Position};
use super::path_limits::MAX_DEPTH;
use super::protected::{Access, Guard};
use super::read::Source;
use super::walk::{self, Parents, Trail, prepare, walk};
use super::{Cut, EntryKind, Error, PathFault, Root, Skipped, Stop, View, path};

/// The largest number of folder entries that a call looks at.
pub const MAX_VISITED: usize = 200_000;

/// The folder where a walk begins.
pub(super) struct Start {
    folder: Dir,
    trail: Trail,
    guard: Guard,
    path: String,
    /// The prefix of the paths below it.
    pub(super) shown: String,
}

impl Start {
    /// Opens a folder below the root.
    pub(super) fn open(root: &Root, path: &str) -> Result<Self, Error> {
        let (asked, guard) = prepare(root, path, Access::Read)?;
        let path = asked.text();
        match walk(root, &asked, &guard, Parents::Required)? {
            walk::Place::Folder { folder, trail } => Ok(Self::new(folder, trail, guard, path)),
            walk::Place::File { .. } => Err(Error::NotFolder { path }),
            walk::Place::Missing { .. } => Err(Error::NotFound { path }),
        }
    }

    pub(super) fn new(folder: Dir, trail: Trail, guard: Guard, path: String) -> Self {
        let shown = if path == "." { String::new() } else { format!("{path}/") };
        Self { folder, trail, guard, path, shown }
    }

    /// Visits the files below the folder in the order of the parts of their paths. Links are not followed.
    /// Returns the counts of entries that were not visited, and the reason if the walk ended early.
    pub(super) fn walk(
        self,
        root: &Root,
        view: View,
        stop: &Stop,
        visit: &mut Visit<'_>,
    ) -> Result<(Skipped, Option<Cut>), Error> {
        let (filter, mut place) = EntryFilter::new(root, &self.trail, &self.guard, view);
        let mut tree = Tree { filter, stop, visit, n_met: 0, shown: self.shown };
        match tree.folder(&self.folder, &mut place) {
            Ok(cut) => Ok((tree.filter.skipped, cut)),
            Err(source) => Err(Error::Io { action: "list", path: self.path, source }),
        }
    }
}

/// A regular file of a walk, not open yet.
pub(super) struct File<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a OsStr,
    /// The path for tools.
    pub(super) path: &'a str,
}

impl File<'_> {
    pub(super) fn source<'a>(&'a self, guard: &'a Guard) -> Source<'a> {
        Source { folder: self.folder, name: self.name, guard, path: self.path }
    }
}

/// A function that is called for each file, and ends the walk by returning a reason.
pub(super) type Visit<'a> = dyn FnMut(&File<'_>, &Guard, &mut Skipped) -> ControlFlow<Cut> + 'a;

struct Tree<'a, 'v> {
    filter: EntryFilter<'a>,
    stop: &'a Stop,
    visit: &'a mut Visit<'v>,
    /// The number of folder entries so far.
    n_met: usize,
    /// The prefix of the next path: empty, or with `/` at its end.
    shown: String,
}

impl Tree<'_, '_> {
    /// Visits the files of an open folder and of the folders in it. Returns the reason if it ended early.
    fn folder(&mut self, folder: &Dir, place: &mut Position) -> io::Result<Option<Cut>> {
        let (count, names) =
            entries(folder, MAX_VISITED.saturating_sub(self.n_met), &mut |_, _| true)?;
        self.n_met = self.n_met.saturating_add(count);
        let is_whole = names.len() == count;
        for (name, kind) in names {
            if self.stop.is_stopped() {
                return Ok(Some(Cut::Stopped));
            }
            if let ControlFlow::Break(cut) = self.entry(folder, place, &name, kind) {
                return Ok(Some(cut));
            }
        }
        Ok((!is_whole).then_some(Cut::Entries))
    }

    fn entry(
        &mut self,
        folder: &Dir,
        place: &mut Position,
        name: &OsStr,
        kind: EntryKind,
    ) -> ControlFlow<Cut> {
        if self.filter.is_closed(place, name) {
            return self.skip(|skipped| &mut skipped.protected);
        }
        if !self.filter.admits(place, name, kind) {
            return ControlFlow::Continue(());
        }
        let n_before = self.shown.len();
        match name.to_str() {
            Some(text) => self.shown.push_str(text),
            None => return self.skip(|skipped| &mut skipped.unnameable),
        }
        let flow = match (path::fault(&self.shown), kind) {
            (Some(PathFault::TooDeep), _) => self.skip(|skipped| &mut skipped.too_deep),
            (Some(_), _) => self.skip(|skipped| &mut skipped.unnameable),
            (None, EntryKind::Folder) => self.below(folder, place, name),
            (None, EntryKind::File) => {
                let file = File { folder, name, path: &self.shown };
                (self.visit)(&file, self.filter.guard, &mut self.filter.skipped)
            }
            (None, EntryKind::Link) => self.skip(|skipped| &mut skipped.links),
            (None, EntryKind::Other) => self.skip(|skipped| &mut skipped.special),
        };
        self.shown.truncate(n_before);
        flow
    }

    fn below(&mut self, folder: &Dir, place: &mut Position, name: &OsStr) -> ControlFlow<Cut> {
        if place.depth() == MAX_DEPTH {
            return self.skip(|skipped| &mut skipped.too_deep);
        }
        // Since the listing, a link may have replaced the folder. It is not followed either.
        let Ok(inner) = folder.open_dir_nofollow(name) else {
            return self.skip(|skipped| &mut skipped.unreadable);
        };
        if self.filter.closes(&inner) {
            return self.skip(|skipped| &mut skipped.protected);
        }
        self.shown.push('/');
        place.push(name);
        self.filter.enter(&inner, place);
        let cut = self.folder(&inner, place);
        self.filter.leave(place);
        place.pop();
        match cut {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(cut)) => ControlFlow::Break(cut),
            Err(_) => self.skip(|skipped| &mut skipped.unreadable),
        }
    }

    fn skip(&mut self, reason: impl FnOnce(&mut Skipped) -> &mut u64) -> ControlFlow<Cut> {
        *reason(&mut self.filter.skipped) += 1;
        ControlFlow::Continue(())
    }
}

/// Counts the entries of a folder that `admits` accepts, and returns the first `most` of them by name.
pub(super) fn entries(
    folder: &Dir,
    most: usize,
    admits: &mut dyn FnMut(&OsStr, EntryKind) -> bool,
) -> io::Result<(usize, BTreeMap<OsString, EntryKind>)> {
    let mut names = BTreeMap::new();
    let mut count = 0;
    for entry in folder.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(kind) = EntryKind::of_entry(folder, &name, entry.file_type()?)? else { continue };
        if !admits(&name, kind) {
            continue;
        }
        count += 1;
        names.insert(name, kind);
        if names.len() > most {
            names.pop_last();
        }
    }
    Ok((count, names))
}
