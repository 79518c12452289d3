//! Survey of a project: the places that `git` and `rye` obey, and the self-starting files. The walk follows
//! no links.
//!
//! The walk before a program only records. The walk after the program renames every such place that the first
//! walk did not find. Both use open folders, so that a program which replaces folders meanwhile cannot
//! redirect them.

mod stamps;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr};
use std::fmt;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Dir, FileType, Mode, OFlags, accessat, openat, statat};
use rustix::io::Errno;

use self::stamps::Stamp;
use super::account::{Excerpt, Moved};
use super::call_folder::KnownFolder;
use super::fault::Fault;
use super::identity::{identity, if_there, state};
use super::layout::{Guarded, Identity, PINNED, PROVIDERS};
use super::quarantine;
use crate::repository::{self, Entry};

/// The largest number of files and folders in a project where programs are started.
const ENTRIES: u64 = 2_000_000;

/// The largest number of protected places in a project. Each of them needs a mount.
const GUARDED: usize = 1_000;

/// The largest depth of folders.
const DEPTH: usize = 256;

/// The number of problems that a message lists.
const TOLD: usize = 3;

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The places to protect: repositories, `.ai` folders below the project's own, and folders that cannot be
    /// read. Links are not included.
    pub(super) guarded: Vec<Guarded>,
    /// The identities of these places, links included.
    pub(super) known: BTreeSet<Identity>,
    /// The self-starting files.
    self_starting: BTreeMap<PathBuf, Stamp>,
    /// The entries that the second walk renamed.
    pub(super) moved: Excerpt<Moved>,
    /// The parts that could not be checked.
    problems: Excerpt<String>,
}

impl Survey {
    /// Surveys a project before a program. Only the policy folders are left out, because programs cannot
    /// change them.
    pub(super) fn before(project: &KnownFolder) -> Result<Self, Fault> {
        let found = Self::walk(project, None)?;
        match found.problem() {
            Some(problem) => Err(Fault::new("look at the project", problem)),
            None => Ok(found),
        }
    }

    /// Returns the identities of the current places, as far as they can be read.
    pub(super) fn identities(project: &KnownFolder) -> Result<BTreeSet<Identity>, Fault> {
        Ok(Self::walk(project, None)?.known)
    }

    /// Surveys the project after a program, and renames each place whose identity is not known. If a part
    /// cannot be checked, it becomes a [`Survey::problem`], and the walk continues.
    pub(super) fn after(project: &KnownFolder, known: &BTreeSet<Identity>) -> Result<Self, Fault> {
        Self::walk(project, Some(known))
    }

    fn walk(folder: &KnownFolder, known: Option<&BTreeSet<Identity>>) -> Result<Self, Fault> {
        let project = folder.path();
        let mut walk = Walk { project, known, entries: 0, found: Self::default() };
        let opened = match open(CWD, project) {
            Err(Errno::ACCESS) if known.is_some() => {
                let path = CString::new(project.as_os_str().as_bytes()).map_err(|_| Errno::INVAL);
                path.and_then(|path| quarantine::open_closed(CWD, &path))
            }
            opened => opened.map(Some),
        };
        let root = opened.and_then(|root| root.ok_or(Errno::NOENT));
        let root = root.map_err(Fault::at(&format!("open `{}`", project.display())))?;
        let root = folder.check_identity(root.into()).map_err(Fault::at("look at the project"))?;
        walk.folder(root.into(), Path::new(""), 0);
        walk.common_folders();
        Ok(walk.found)
    }

    /// Removes the places that are not among `known`.
    pub(super) fn restrict(&mut self, known: &BTreeSet<Identity>) {
        self.known.retain(|identity| known.contains(identity));
        let known = &self.known;
        let is_known = |one: &Guarded| one.identity.as_ref().is_some_and(|it| known.contains(it));
        self.guarded.retain(is_known);
    }

    /// Returns a message about the parts that could not be checked, if there are any.
    pub(super) fn problem(&self) -> Option<String> {
        let first: Vec<&str> =
            self.problems.first().iter().take(TOLD).map(String::as_str).collect();
        let told = u64::try_from(first.len()).unwrap_or(u64::MAX);
        let all = u64::try_from(self.problems.first().len()).unwrap_or(u64::MAX);
        let more = all.saturating_add(self.problems.more()).saturating_sub(told);
        let text = first.join("; ");
        match (told, more) {
            (0, _) => None,
            (_, 0) => Some(text),
            _ => Some(format!("{text}; and {more} more")),
        }
    }

    /// Returns the self-starting files that changed, appeared or disappeared.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let old = &before.self_starting;
        let new = &self.self_starting;
        let changed = new.iter().filter(|(path, stamp)| old.get(*path) != Some(stamp));
        let gone = old.keys().filter(|path| !new.contains_key(*path));
        let mut all: Vec<PathBuf> = changed.map(|(path, _)| path).chain(gone).cloned().collect();
        all.sort();
        all
    }
}

struct Walk<'a> {
    project: &'a Path,
    /// The result of the first walk, if this is the second.
    known: Option<&'a BTreeSet<Identity>>,
    entries: u64,
    found: Survey,
}

impl Walk<'_> {
    fn trouble(&mut self, path: &Path, cause: impl fmt::Display) {
        let place: String = self.project.join(path).display().to_string();
        let place: String = place.chars().take(300).collect();
        self.found.problems.push(format!("cannot look for repositories in `{place}`: {cause}"));
    }

    fn folder(&mut self, folder: OwnedFd, path: &Path, depth: usize) {
        if let Err(error) = self.look_into(folder, path, depth) {
            self.trouble(path, error);
        }
    }

    fn look_into(&mut self, folder: OwnedFd, path: &Path, depth: usize) -> Result<(), Errno> {
        let mut folder = Dir::new(folder)?;
        let entries = self.list(&mut folder)?;
        let folder = folder.fd()?;
        if is_repository(folder, &entries)? && self.visit_bare(folder, path)? {
            return Ok(());
        }
        if depth >= DEPTH {
            self.trouble(path, format!("it lies more than {DEPTH} folders deep"));
            return Ok(());
        }
        for (name, kind) in entries {
            let place = path.join(OsStr::from_bytes(name.to_bytes()));
            if let Err(error) = self.entry(folder, &name, kind, &place, depth) {
                self.trouble(&place, error);
            }
        }
        Ok(())
    }

    fn list(&mut self, folder: &mut Dir) -> Result<Vec<(CString, FileType)>, Errno> {
        let mut entries = Vec::new();
        while let Some(entry) = folder.read() {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES {
                if self.entries == ENTRIES + 1 {
                    let problem = format!("it has more than {ENTRIES} files and folders");
                    self.trouble(Path::new(""), problem);
                }
                return Ok(Vec::new());
            }
            entries.push((entry.file_name().to_owned(), entry.file_type()));
        }
        Ok(entries)
    }

    fn entry(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
        place: &Path,
        depth: usize,
    ) -> Result<(), Errno> {
        if place == Path::new(".ai/threads") || place == Path::new(".ai/config") {
            return Ok(());
        }
        // The project's own `.ai` is protected in its parts.
        let is_nested = depth > 0 && place != Path::new(PINNED);
        let counts = is_spelled(folder, name, c".git")?
            || (is_nested && is_spelled(folder, name, c".ai")?)
            || place == Path::new(PROVIDERS);
        if counts {
            return self.visit_named(folder, name, place, depth);
        }
        let kind = match kind {
            FileType::Unknown => match if_there(state(folder, name))? {
                Some(stat) => FileType::from_raw_mode(stat.st_mode),
                None => return Ok(()),
            },
            kind => kind,
        };
        match kind {
            FileType::Directory => self.descend(folder, name, place, depth),
            kind => self.stamp(folder, name, kind, place),
        }
    }

    /// Handles a place that counts by its name.
    fn visit_named(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        place: &Path,
        depth: usize,
    ) -> Result<(), Errno> {
        let Some(found) = if_there(identity(folder, name))? else { return Ok(()) };
        if self.is_known(&found) {
            self.record(place, found);
            return Ok(());
        }
        let Some(new) = quarantine::rename(folder, name)? else { return Ok(()) };
        let now = place.with_file_name(OsStr::from_bytes(new.to_bytes()));
        self.found.moved.push(Moved::new(place, &now));
        let is_folder = if_there(state(folder, &*new))?
            .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        if is_folder { self.descend(folder, &new, &now, depth) } else { Ok(()) }
    }

    /// Handles a folder whose content makes it a repository. Returns `true` if it existed before.
    fn visit_bare(&mut self, folder: BorrowedFd<'_>, path: &Path) -> Result<bool, Errno> {
        let found = identity(folder, "")?;
        if self.is_known(&found) {
            self.record(path, found);
            return Ok(true);
        }
        if let Some(new) = quarantine::rename(folder, c"HEAD")? {
            let new = path.join(OsStr::from_bytes(new.to_bytes()));
            self.found.moved.push(Moved::new(&path.join("HEAD"), &new));
        }
        Ok(false)
    }

    fn is_known(&self, found: &Identity) -> bool {
        self.known.is_none_or(|known| known.contains(found))
    }

    fn record(&mut self, path: &Path, found: Identity) {
        if path.as_os_str().is_empty() {
            let problem = "the project itself is a bare repository; work in a clone of it";
            return self.trouble(path, problem);
        }
        if self.found.known.len() >= GUARDED {
            if self.found.known.len() == GUARDED {
                let _told = self.found.known.insert(found);
                let problem = format!("there are more than {GUARDED} repositories");
                self.trouble(Path::new(""), problem);
            }
            return;
        }
        let is_link = found.target.is_some();
        if self.found.known.insert(found.clone()) && !is_link && path != Path::new(PROVIDERS) {
            let path = self.project.join(path);
            self.found.guarded.push(Guarded { path, identity: Some(found) });
        }
    }

    fn descend(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        place: &Path,
        depth: usize,
    ) -> Result<(), Errno> {
        let opened = match open(folder, name) {
            Err(Errno::ACCESS) => self.open_unreadable(folder, name, place)?,
            opened => if_there(opened)?,
        };
        if let Some(inner) = opened {
            self.folder(inner, place, depth + 1);
        }
        Ok(())
    }

    /// Handles a folder that cannot be read. If it existed before the program, it is protected, so that
    /// nothing can be made in it. A new one of this user is opened.
    fn open_unreadable(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        place: &Path,
    ) -> Result<Option<OwnedFd>, Errno> {
        let Some(found) = if_there(identity(folder, name))? else { return Ok(None) };
        let Some(stat) = if_there(state(folder, name))? else { return Ok(None) };
        let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
        let is_entered = || accessat(folder, name, Access::EXEC_OK, AtFlags::EACCESS).is_ok();
        if !is_own && !is_entered() {
            // Programs of this user cannot enter it either.
            return Ok(None);
        }
        match self.known {
            Some(known) if !known.contains(&found) => quarantine::open_closed(folder, name),
            Some(_) => Ok(None),
            None => {
                self.record(place, found);
                Ok(None)
            }
        }
    }

    /// Handles the folders in the `commondir` files of repositories. `git` reads its settings there, and
    /// these folders need no `HEAD`.
    fn common_folders(&mut self) {
        let mut index = 0;
        while let Some(repository) = self.found.guarded.get(index).cloned() {
            index += 1;
            let Some(place) = quarantine::common_folder(&repository.path) else { continue };
            let Ok(path) = place.strip_prefix(self.project) else { continue };
            if self.found.guarded.iter().any(|known| place.starts_with(&known.path)) {
                continue;
            }
            if let Err(error) = self.common_folder(path) {
                self.trouble(path, error);
            }
        }
    }

    fn common_folder(&mut self, path: &Path) -> Result<(), Errno> {
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            let nothing = Identity { device: 0, inode: 0, born: None, target: None };
            self.record(path, nothing);
            return Ok(());
        };
        let parent = quarantine::open_below(self.project, parent)?;
        let Some(parent) = parent else { return Ok(()) };
        match if_there(identity(&parent, name))? {
            None => Ok(()),
            Some(found) if self.is_known(&found) => {
                self.record(path, found);
                Ok(())
            }
            Some(_) => {
                let name = CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?;
                let new = quarantine::rename(&parent, &name)?;
                let new = new.map(|new| path.with_file_name(OsStr::from_bytes(new.to_bytes())));
                if let Some(new) = new {
                    self.found.moved.push(Moved::new(path, &new));
                }
                Ok(())
            }
        }
    }
}

/// Opens a folder, if it can be listed and searched.
fn open(folder: impl std::os::fd::AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(folder, name, flags, Mode::empty())?;
    let _searched = statat(&opened, c".", AtFlags::empty())?;
    Ok(opened)
}

/// Returns `true` if this entry is found under `name`, which may have other spellings on some file systems.
fn is_spelled(folder: BorrowedFd<'_>, entry: &CStr, name: &CStr) -> Result<bool, Errno> {
    if entry == name {
        return Ok(true);
    }
    if !may_be_spelled(entry, name) {
        return Ok(false);
    }
    let spelled = if_there(state(folder, entry))?;
    let found = if_there(state(folder, name))?;
    Ok(spelled.zip(found).is_some_and(|(one, other)| one.st_ino == other.st_ino))
}

/// Returns `true` if some file system might find the entry under the name. Some file systems ignore invisible
/// characters.
fn may_be_spelled(entry: &CStr, name: &CStr) -> bool {
    let entry = entry.to_bytes();
    !entry.is_ascii() || entry.eq_ignore_ascii_case(name.to_bytes())
}

/// Returns `true` if `git` takes the folder for a repository. Only the entries whose spelling may match are
/// looked up.
fn is_repository(folder: BorrowedFd<'_>, entries: &[(CString, FileType)]) -> Result<bool, Errno> {
    repository::is_repository(|name| {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        if !entries.iter().any(|(entry, _)| may_be_spelled(entry, &name)) {
            return Ok(Entry::Absent);
        }
        let found = if_there(state(folder, &*name))?;
        Ok(found.map_or(Entry::Absent, |found| match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Entry::Folder,
            _ => Entry::Other,
        }))
    })
}
