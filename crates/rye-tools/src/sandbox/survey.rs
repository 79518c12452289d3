//! The places of a project that `git` takes orders from, and the files that run by themselves, found by one walk that follows no
//! link.
//!
//! The walk before a program starts only looks. The walk after it has ended renames every repository that the first walk did not
//! find. Both go by open folders, so that a program that swaps folders meanwhile leads them nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::account::Moved;
use super::fault::Fault;
use super::identity::{identity, if_there, state};
use super::layout::{Guarded, Identity};
use super::quarantine;
use crate::self_starting::is_self_starting;

/// The most files and folders of a project in which programs are started.
const ENTRIES: u64 = 2_000_000;

/// The most repositories of a project, each of which takes a mount.
const REPOSITORIES: usize = 1_000;

/// The most folders within each other.
const DEPTH: usize = 256;

/// The policy that a walk cannot guard where it is not there yet: providers of a project.
const PROVIDERS: &str = ".ai/tools/rye/agent/providers";

/// A folder that could not be listed, which is looked at again if that changes.
type Closed = (Identity, i128, i128);

/// A state of a file by which a change is seen: its number, its length, and its times, of which a program sets only one.
type Stamp = (u64, i128, [i128; 4]);

/// What one walk found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The repositories, with their paths, links left out.
    pub(super) repositories: Vec<Guarded>,
    /// The identity of each repository.
    pub(super) known: BTreeSet<Identity>,
    /// The files that run by themselves.
    pub(super) self_starting: BTreeMap<PathBuf, Stamp>,
    closed: BTreeSet<Closed>,
    /// What the second walk renamed.
    pub(super) moved: Vec<Moved>,
}

impl Survey {
    /// Looks at a project. Only policy is left out, which programs do not change.
    pub(super) fn before(project: &Path) -> Result<Self, Fault> {
        Self::walk(project, None)
    }

    /// Looks again, and renames each repository whose identity is not among the known ones.
    pub(super) fn after(
        project: &Path,
        known: &BTreeSet<Identity>,
        before: Option<&Self>,
    ) -> Result<Self, Fault> {
        let closed = before.map(|before| &before.closed);
        Self::walk(project, Some(Known { identities: known, closed }))
    }

    fn walk(project: &Path, known: Option<Known<'_>>) -> Result<Self, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, project, flags, Mode::empty())
            .map_err(Fault::at(&format!("open `{}`", project.display())))?;
        let mut walk = Walk { project, known, entries: 0, found: Self::default() };
        walk.folder(root, Path::new(""), 0)?;
        walk.common_folders()?;
        Ok(walk.found)
    }

    /// The files that run by themselves and are not as they were.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let (old, new) = (&before.self_starting, &self.self_starting);
        let changed = new.iter().filter(|(path, stamp)| old.get(*path) != Some(stamp));
        let gone = old.keys().filter(|path| !new.contains_key(*path));
        let mut all: Vec<PathBuf> = changed.map(|(path, _)| path).chain(gone).cloned().collect();
        all.sort();
        all
    }
}

/// What the first walk of two found.
struct Known<'a> {
    identities: &'a BTreeSet<Identity>,
    closed: Option<&'a BTreeSet<Closed>>,
}

struct Walk<'a> {
    project: &'a Path,
    known: Option<Known<'a>>,
    entries: u64,
    found: Survey,
}

impl Walk<'_> {
    fn folder(&mut self, folder: OwnedFd, path: &Path, depth: usize) -> Result<(), Fault> {
        let at = || format!("look for repositories in `{}`", self.project.join(path).display());
        let mut folder = Dir::new(folder).map_err(Fault::at(&at()))?;
        let entries = self.list(&mut folder, path)?;
        let folder = folder.fd().map_err(Fault::at(&at()))?;
        if is_repository(folder, &entries) && self.bare(folder, path)? {
            return Ok(());
        }
        if depth >= DEPTH {
            return Err(Fault::new(&at(), format!("it lies more than {DEPTH} folders deep")));
        }
        for (name, kind) in entries {
            self.entry(folder, path, (&name, kind), depth).map_err(|error| match error {
                Trouble::System(error) => Fault::new(&at(), error),
                Trouble::Fault(fault) => fault,
            })?;
        }
        Ok(())
    }

    fn list(&mut self, folder: &mut Dir, path: &Path) -> Result<Vec<(CString, FileType)>, Fault> {
        let mut entries = Vec::new();
        while let Some(entry) = folder.read() {
            let place = || format!("list `{}`", self.project.join(path).display());
            let entry = entry.map_err(|error| Fault::new(&place(), error))?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES {
                let problem = format!("it has more than {ENTRIES} files and folders");
                return Err(Fault::new("look for repositories in the project", problem));
            }
            entries.push((entry.file_name().to_owned(), entry.file_type()));
        }
        Ok(entries)
    }

    fn entry(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &Path,
        (name, kind): (&CStr, FileType),
        depth: usize,
    ) -> Result<(), Trouble> {
        let place = path.join(OsStr::from_bytes(name.to_bytes()));
        if place == Path::new(".ai/threads") || place == Path::new(".ai/config") {
            return Ok(());
        }
        if is_git(folder, name)? || place == Path::new(PROVIDERS) {
            return self.named(folder, name, &place, depth);
        }
        let kind = match kind {
            FileType::Unknown => match if_there(state(folder, name))? {
                Some(stat) => FileType::from_raw_mode(stat.st_mode),
                None => return Ok(()),
            },
            kind => kind,
        };
        if kind == FileType::Directory {
            return self.descend(folder, name, &place, depth);
        }
        if starts_by_itself(&place)
            && let Some(stat) = if_there(state(folder, name))?
        {
            let times = [
                i128::from(stat.st_mtime),
                i128::from(stat.st_mtime_nsec),
                i128::from(stat.st_ctime),
                i128::from(stat.st_ctime_nsec),
            ];
            let stamp = (stat.st_ino, i128::from(stat.st_size), times);
            let _first = self.found.self_starting.insert(place, stamp);
        }
        Ok(())
    }

    /// A place that counts by its name.
    fn named(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        place: &Path,
        depth: usize,
    ) -> Result<(), Trouble> {
        let Some(found) = if_there(identity(folder, name))? else { return Ok(()) };
        if self.is_known(&found) {
            return self.record(place, found).map_err(Trouble::Fault);
        }
        let Some(new) = quarantine::rename(folder, name, OsStr::from_bytes(name.to_bytes()))?
        else {
            return Ok(());
        };
        let now = place.with_file_name(OsStr::from_bytes(new.to_bytes()));
        self.found.moved.push(Moved::new(place, &now));
        let is_folder = if_there(state(folder, &*new))?
            .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        if is_folder { self.descend(folder, &new, &now, depth) } else { Ok(()) }
    }

    /// A folder that is a repository by what is in it. Returns `true` if it is one that was there before.
    fn bare(&mut self, folder: BorrowedFd<'_>, path: &Path) -> Result<bool, Fault> {
        let action = format!("look for repositories in `{}`", self.project.join(path).display());
        let found = identity(folder, "").map_err(Fault::at(&action))?;
        if self.is_known(&found) {
            self.record(path, found)?;
            return Ok(true);
        }
        let renamed = quarantine::rename(folder, c"HEAD", OsStr::new("HEAD"));
        if let Some(new) = renamed.map_err(Fault::at(&action))? {
            let new = path.join(OsStr::from_bytes(new.to_bytes()));
            self.found.moved.push(Moved::new(&path.join("HEAD"), &new));
        }
        Ok(false)
    }

    fn is_known(&self, found: &Identity) -> bool {
        self.known.as_ref().is_none_or(|known| known.identities.contains(found))
    }

    fn record(&mut self, path: &Path, found: Identity) -> Result<(), Fault> {
        let action = "keep the project's repositories read-only";
        if path.as_os_str().is_empty() {
            let problem = "the project itself is a bare repository; work in a clone of it";
            return Err(Fault::new(action, problem));
        }
        if self.found.repositories.len() >= REPOSITORIES {
            return Err(Fault::new(action, format!("there are more than {REPOSITORIES}")));
        }
        let is_link = found.target.is_some();
        if self.found.known.insert(found.clone()) && !is_link && path != Path::new(PROVIDERS) {
            let path = self.project.join(path);
            self.found.repositories.push(Guarded { path, identity: Some(found) });
        }
        Ok(())
    }

    fn descend(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        place: &Path,
        depth: usize,
    ) -> Result<(), Trouble> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match openat(folder, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => self.closed(folder, name)?,
            other => if_there(other)?,
        };
        opened.map_or(Ok(()), |inner| self.folder(inner, place, depth + 1).map_err(Trouble::Fault))
    }

    /// A folder that cannot be listed. One that was like this before, and was not touched, is left alone.
    fn closed(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> Result<Option<OwnedFd>, Errno> {
        let Some(stat) = if_there(state(folder, name))? else { return Ok(None) };
        let Some(found) = if_there(identity(folder, name))? else { return Ok(None) };
        let seen = (found, i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec));
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
        let is_new = match &self.known {
            None => false,
            Some(known) => known.closed.is_some_and(|closed| !closed.contains(&seen)),
        };
        let _first = self.found.closed.insert(seen);
        if is_new && is_own { quarantine::open_closed(folder, name) } else { Ok(None) }
    }

    /// Folders that a repository's `commondir` names: `git` reads its settings there, and they need no `HEAD`.
    fn common_folders(&mut self) -> Result<(), Fault> {
        let mut index = 0;
        while let Some(repository) = self.found.repositories.get(index).cloned() {
            index += 1;
            let Some(place) = quarantine::common_folder(&repository.path) else { continue };
            let Ok(path) = place.strip_prefix(self.project) else { continue };
            if self.found.repositories.iter().any(|known| place.starts_with(&known.path)) {
                continue;
            }
            self.common_folder(path)?;
        }
        Ok(())
    }

    fn common_folder(&mut self, path: &Path) -> Result<(), Fault> {
        let action = format!("look for repositories in `{}`", self.project.join(path).display());
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return self.record(path, Identity { device: 0, inode: 0, target: None });
        };
        let parent = quarantine::open_below(self.project, parent).map_err(Fault::at(&action))?;
        let Some(parent) = parent else { return Ok(()) };
        let found = if_there(identity(&parent, name)).map_err(Fault::at(&action))?;
        match found {
            None => Ok(()),
            Some(found) if self.is_known(&found) => self.record(path, found),
            Some(_) => {
                let text = CString::new(name.as_bytes()).map_err(Fault::at(&action))?;
                let new = quarantine::rename(&parent, &text, name).map_err(Fault::at(&action))?;
                let new = new.map(|new| path.with_file_name(OsStr::from_bytes(new.to_bytes())));
                self.found.moved.extend(new.map(|new| Moved::new(path, &new)));
                Ok(())
            }
        }
    }
}

/// Why an entry could not be looked at.
enum Trouble {
    System(Errno),
    Fault(Fault),
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

/// The names are compared only where one of them is hidden or unusual, which few are.
fn starts_by_itself(path: &Path) -> bool {
    let is_usual = |name: &OsStr| name.as_bytes().is_ascii() && !name.as_bytes().starts_with(b".");
    !path.iter().all(is_usual) && is_self_starting(path.iter())
}

/// Returns `true` if `git` finds this entry when it looks for `.git`, which on some file systems has other spellings.
fn is_git(folder: BorrowedFd<'_>, name: &CStr) -> Result<bool, Errno> {
    if name.to_bytes() == b".git" {
        return Ok(true);
    }
    if !name.to_bytes().eq_ignore_ascii_case(b".git") {
        return Ok(false);
    }
    let (spelled, found) = (if_there(state(folder, name))?, if_there(state(folder, c".git"))?);
    Ok(spelled.zip(found).is_some_and(|(one, other)| one.st_ino == other.st_ino))
}

/// Returns `true` if `git` takes the folder for a repository, which needs no more than three names.
fn is_repository(folder: BorrowedFd<'_>, entries: &[(CString, FileType)]) -> bool {
    let has = |name: &CStr| {
        let spelled =
            |(entry, _): &(CString, _)| entry.to_bytes().eq_ignore_ascii_case(name.to_bytes());
        entries.iter().any(spelled) && state(folder, name).is_ok()
    };
    has(c"HEAD") && (has(c"commondir") || (has(c"objects") && has(c"refs")))
}
