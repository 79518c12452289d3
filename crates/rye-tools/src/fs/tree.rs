//! Walking a folder and all below it, by open folders and in a fixed order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::protected::{Access, Guard};
use super::read::Source;
use super::sieve::{Place, Sieve};
use super::walk::{self, MAX_DEPTH, Parents, Trail, prepare, walk};
use super::{Cut, EntryKind, Error, PathFault, Root, Skipped, Stop, View, path};

/// The most entries of folders that one call looks at.
pub const MAX_VISITED: usize = 200_000;

/// A folder to walk through.
pub(super) struct Start {
    folder: Dir,
    trail: Trail,
    guard: Guard,
    path: String,
    /// What the paths below it begin with.
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

    /// Visits the files below it in the order of their paths' parts; links are not followed. Says what was not visited, and
    /// why the walk ended before its end.
    pub(super) fn walk(
        self,
        root: &Root,
        view: View,
        stop: &Stop,
        visit: &mut Visit<'_>,
    ) -> Result<(Skipped, Option<Cut>), Error> {
        let (sieve, mut place) = Sieve::new(root, &self.trail, &self.guard, view);
        let mut tree = Tree { sieve, stop, visit, n_met: 0, shown: self.shown };
        match tree.folder(&self.folder, &mut place) {
            Ok(cut) => Ok((tree.sieve.skipped, cut)),
            Err(source) => Err(Error::Io { action: "list", path: self.path, source }),
        }
    }
}

/// A regular file that a walk came to, not yet opened.
pub(super) struct File<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a OsStr,
    /// The path by which tools reach it.
    pub(super) path: &'a str,
}

impl File<'_> {
    pub(super) fn source<'a>(&'a self, guard: &'a Guard) -> Source<'a> {
        Source { folder: self.folder, name: self.name, guard, path: self.path }
    }
}

/// What is done with each file; it ends the walk with the reason.
pub(super) type Visit<'a> = dyn FnMut(&File<'_>, &Guard, &mut Skipped) -> ControlFlow<Cut> + 'a;

struct Tree<'a, 'v> {
    sieve: Sieve<'a>,
    stop: &'a Stop,
    visit: &'a mut Visit<'v>,
    /// How many entries of folders were met.
    n_met: usize,
    /// What the next path begins with: empty, or with `/` at its end.
    shown: String,
}

impl Tree<'_, '_> {
    /// Visits the files of one open folder, and of those in it; says why when that was not all.
    fn folder(&mut self, folder: &Dir, place: &mut Place) -> io::Result<Option<Cut>> {
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
        place: &mut Place,
        name: &OsStr,
        kind: EntryKind,
    ) -> ControlFlow<Cut> {
        if self.sieve.is_closed(place, name) {
            return self.skip(|skipped| &mut skipped.protected);
        }
        if !self.sieve.admits(place, name, kind) {
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
                (self.visit)(&file, self.sieve.guard, &mut self.sieve.skipped)
            }
            (None, EntryKind::Link) => self.skip(|skipped| &mut skipped.links),
            (None, EntryKind::Other) => self.skip(|skipped| &mut skipped.special),
        };
        self.shown.truncate(n_before);
        flow
    }

    fn below(&mut self, folder: &Dir, place: &mut Place, name: &OsStr) -> ControlFlow<Cut> {
        if place.depth() == MAX_DEPTH {
            return self.skip(|skipped| &mut skipped.too_deep);
        }
        // Between the listing and this, the folder may have become a link, which is not followed either.
        let Ok(inner) = folder.open_dir_nofollow(name) else {
            return self.skip(|skipped| &mut skipped.unreadable);
        };
        if self.sieve.closes(&inner) {
            return self.skip(|skipped| &mut skipped.protected);
        }
        self.shown.push('/');
        place.push(name);
        self.sieve.enter(&inner, place);
        let cut = self.folder(&inner, place);
        self.sieve.leave(place);
        place.pop();
        match cut {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(cut)) => ControlFlow::Break(cut),
            Err(_) => self.skip(|skipped| &mut skipped.unreadable),
        }
    }

    fn skip(&mut self, reason: impl FnOnce(&mut Skipped) -> &mut u64) -> ControlFlow<Cut> {
        *reason(&mut self.sieve.skipped) += 1;
        ControlFlow::Continue(())
    }
}

/// Of the entries of a folder that `admits` lets through, the first by name, at most `most`, and how many there are.
pub(super) fn entries(
    folder: &Dir,
    most: usize,
    admits: &mut dyn FnMut(&OsStr, EntryKind) -> bool,
) -> io::Result<(usize, BTreeMap<OsString, EntryKind>)> {
    let (mut names, mut count) = (BTreeMap::new(), 0);
    for entry in folder.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(kind) = EntryKind::told(folder, &name, entry.file_type()?)? else { continue };
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
