//! All items of one kind in one root.

use std::{
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use rye_types::ItemKind;

use crate::reserved::is_reserved;
use crate::{
    ItemId, Location, ResolveError, ShippedFile, disk,
    root::Root,
    stamp::Stamp,
    standing::fault_of_name,
    stem::{is_in_other_case, stem},
};

/// A file that `id` means in its root, with its stamp or the reason why it is refused.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) id: ItemId,
    pub(crate) location: Location,
    pub(crate) stamp: Result<Stamp, ResolveError>,
}

/// The files that a root holds, and the problems that keep the list from being complete.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    pub(crate) found: Vec<Found>,
    pub(crate) problems: Vec<ResolveError>,
}

/// Lists the items of `kind` in `root`, in the order of their paths.
pub(crate) fn walk(root: &Root, kind: ItemKind) -> Holdings {
    match root {
        Root::Disk { ai, .. } => Walk::new(root, ai, kind, MAX_ENTRIES).start(),
        Root::Shipped(files) => walk_shipped(root, files, kind),
    }
}

fn walk_shipped(root: &Root, files: &[ShippedFile], kind: ItemKind) -> Holdings {
    let mut holdings = Holdings::default();
    for file in files {
        let below = file.path.strip_prefix(kind.folder()).and_then(|path| path.strip_prefix('/'));
        if let Some(stem) = below.and_then(|path| stem(kind, path)) {
            holdings.admit(kind, stem, root.location(file.path), Ok(Stamp::of_text(file.text)));
        }
    }
    holdings
}

impl Holdings {
    fn admit(
        &mut self,
        kind: ItemKind,
        stem: &str,
        location: Location,
        stamp: Result<Stamp, ResolveError>,
    ) {
        match stem.parse::<ItemId>() {
            Ok(id) if is_reserved(kind, &id) => {}
            Ok(id) => self.found.push(Found { id, location, stamp }),
            Err(source) => {
                self.problems.push(ResolveError::Misnamed { path: location.path, source });
            }
        }
    }
}

/// A walk over one kind's folder, bounded in breadth by a count and in depth by the id's length.
struct Walk<'a> {
    root: &'a Root,
    ai: &'a Path,
    kind: ItemKind,
    /// The number of entries that may still be read; `None` once the limit was exceeded.
    budget: Option<usize>,
    limit: usize,
    holdings: Holdings,
}

/// The sort of an entry once links are followed.
enum Sort {
    Folder,
    File,
    Other,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Root, ai: &'a Path, kind: ItemKind, limit: usize) -> Self {
        Self { root, ai, kind, budget: Some(limit), limit, holdings: Holdings::default() }
    }

    fn start(mut self) -> Holdings {
        self.holdings.problems.extend(self.in_other_case());
        match disk::is_occupied(&self.top()) {
            Ok(true) => self.folder("", &mut Vec::new()),
            Ok(false) => {}
            Err(problem) => self.holdings.problems.push(problem),
        }
        self.holdings
    }

    /// Folders that nothing reads, because they have the kind's name in another case.
    fn in_other_case(&self) -> Vec<ResolveError> {
        let folder = self.kind.folder();
        let names = disk::names(self.ai).ok().flatten().unwrap_or_default();
        let other = names.iter().filter(|name| is_in_other_case(name, folder));
        other.map(|name| ResolveError::OtherCase { path: self.ai.join(name), folder }).collect()
    }

    fn top(&self) -> PathBuf {
        self.ai.join(self.kind.folder())
    }

    /// Walks the folder at `below`, a path below the kind's folder. `above` has the real paths of its
    /// ancestors.
    fn folder(&mut self, below: &str, above: &mut Vec<PathBuf>) {
        match self.open(below, above) {
            Ok(Some((real, names))) => {
                above.push(real);
                for name in names {
                    self.entry(&join(below, &name), above);
                }
                above.pop();
            }
            Ok(None) => {}
            Err(problem) => self.holdings.problems.push(problem),
        }
    }

    /// Returns the real path and the names of a folder, or `None` if it must not be walked.
    ///
    /// A link to an ancestor would never end, and an exceeded limit is reported once.
    fn open(
        &mut self,
        below: &str,
        above: &[PathBuf],
    ) -> Result<Option<(PathBuf, Vec<String>)>, ResolveError> {
        let path = self.top().join(below);
        let (real, _) = disk::inside(self.ai, &path)?;
        let Some(budget) = self.budget.filter(|_| !above.contains(&real)) else { return Ok(None) };
        let names = disk::names(&path)?.unwrap_or_default();
        self.budget = budget.checked_sub(names.len());
        match self.budget {
            Some(_) => Ok(Some((real, names))),
            None => Err(ResolveError::TooManyFiles { path: self.top(), limit: self.limit }),
        }
    }

    fn entry(&mut self, below: &str, above: &mut Vec<PathBuf>) {
        let path = self.top().join(below);
        let (sort, stamp) = match sort(self.ai, &path) {
            Ok((Sort::File, metadata)) => (Sort::File, Ok(Stamp::of(&metadata))),
            Ok((sort, _)) => (sort, Err(ResolveError::NotAFile { path })),
            Err(problem) => (Sort::Other, Err(problem)),
        };
        let wrong_type = match sort {
            Sort::File => fault_of_name(self.kind, below, &self.top().join(below)),
            Sort::Folder | Sort::Other => None,
        };
        if let Some(fault @ ResolveError::WrongType { .. }) = wrong_type {
            self.holdings.problems.push(fault);
        } else if let Some(stem) = stem(self.kind, below) {
            let location = self.root.location(&format!("{}/{below}", self.kind.folder()));
            self.holdings.admit(self.kind, stem, location, stamp);
        } else if let Some(problem) =
            stamp.err().filter(|fault| !matches!(fault, ResolveError::NotAFile { .. }))
        {
            self.holdings.problems.push(problem);
        }
        if matches!(sort, Sort::Folder) {
            self.descend(below, above);
        }
    }

    fn descend(&mut self, below: &str, above: &mut Vec<PathBuf>) {
        match below.parse::<ItemId>() {
            Ok(id) if is_reserved(self.kind, &id) => {}
            Ok(_) => self.folder(below, above),
            Err(source) => {
                let path = self.top().join(below);
                self.holdings.problems.push(ResolveError::Misnamed { path, source });
            }
        }
    }
}

fn join(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

fn sort(ai: &Path, path: &Path) -> Result<(Sort, Metadata), ResolveError> {
    let failed = |source| ResolveError::Io { path: path.to_owned(), source };
    let mut metadata = fs::symlink_metadata(path).map_err(failed)?;
    if metadata.is_symlink() {
        // Only a link can lead out, so only links are resolved.
        metadata = disk::inside(ai, path)?.1;
    }
    let sort = match metadata.file_type() {
        sort if sort.is_dir() => Sort::Folder,
        sort if sort.is_file() => Sort::File,
        _ => Sort::Other,
    };
    Ok((sort, metadata))
}

/// Ten times the number of items that a search must support (SPEC 1.6).
const MAX_ENTRIES: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    #[test]
    fn a_spent_budget_is_said_once_and_what_was_seen_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let ai = folder.path();
        for file in ["a.sh", "b/1.sh", "b/2.sh", "c/1.sh", "d/1.sh"] {
            let path = ai.join("tools").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let root = Root::Disk { space: Space::User, ai: ai.to_owned() };
        let listed = |limit| {
            let Holdings { found, problems } = Walk::new(&root, ai, ItemKind::Tool, limit).start();
            let ids: Vec<String> = found.iter().map(|found| found.id.to_string()).collect();
            (ids.join(" "), problems.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let spent = |limit: usize| {
            let tools = ai.join("tools");
            format!(
                "`{}` holds more than {limit} entries; move what is not an item elsewhere",
                tools.display()
            )
        };
        assert_eq!(listed(8), ("a b/1 b/2 c/1 d/1".to_owned(), vec![]));
        assert_eq!(listed(9), ("a b/1 b/2 c/1 d/1".to_owned(), vec![]));
        assert_eq!(listed(6), ("a b/1 b/2".to_owned(), vec![spent(6)]));
        assert_eq!(listed(3), (String::new(), vec![spent(3)]));
    }
}
