//! From a path to an open folder and a name in it, link by link.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use super::path::Asked;
use super::protected::{Access, Guard};
use super::{Area, Error, Root};
use crate::self_starting::is_self_starting;

/// The most links that one path may go through.
pub(super) const MAX_LINKS: usize = 40;

/// The most folders between the root and a place: each of them is held open on the way.
pub(super) const MAX_DEPTH: usize = 100;

/// The open folders from below the root to a place, by real name.
pub(super) type Trail = Vec<(OsString, Dir)>;

/// Where a path leads after every link is resolved.
pub(super) enum Place {
    Folder {
        folder: Dir,
        /// The folder itself is the last of it; empty for the root.
        trail: Trail,
    },
    File {
        folder: Dir,
        name: OsString,
        metadata: Metadata,
        self_starting: Vec<String>,
    },
    /// Nothing is there; the folder that would hold it is.
    Missing {
        folder: Dir,
        name: OsString,
        self_starting: Vec<String>,
    },
}

/// Whether folders that are missing on the way are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    Required,
    Created,
}

/// Resolves a path part by part, each folder opened without following links and checked against the guard.
pub(super) fn walk(
    root: &Root,
    asked: &Asked,
    guard: &Guard,
    parents: Parents,
) -> Result<Place, Error> {
    let todo = asked
        .parts()
        .iter()
        .map(|part| Part { name: part.into(), origin: Origin::Asked })
        .collect();
    let mut walk = Walk {
        root: root.dir(),
        asked,
        guard,
        parents,
        trail: Vec::new(),
        todo,
        links: Vec::new(),
        self_starting: Vec::new(),
    };
    walk.refuse_folder(root.dir())?;
    while let Some(part) = walk.todo.pop_front() {
        if let Some(place) = walk.step(part)? {
            return Ok(place);
        }
    }
    let folder = walk.here().try_clone().map_err(|source| walk.io("open", source))?;
    Ok(Place::Folder { folder, trail: walk.trail })
}

struct Walk<'a> {
    root: &'a Dir,
    asked: &'a Asked,
    guard: &'a Guard,
    parents: Parents,
    /// The folders entered so far, by real name.
    trail: Trail,
    todo: VecDeque<Part>,
    /// The links followed so far, by their real places.
    links: Vec<String>,
    /// The self-starting files that the path names: links on the way, and the file at its end.
    self_starting: Vec<String>,
}

struct Part {
    name: OsString,
    origin: Origin,
}

/// A missing part is made only when it was asked for by name: a link to nothing is not a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Asked,
    Link,
}

impl Walk<'_> {
    fn here(&self) -> &Dir {
        self.trail.last().map_or(self.root, |(_, dir)| dir)
    }

    fn step(&mut self, part: Part) -> Result<Option<Place>, Error> {
        // Only a link's target has such a part. It climbs over open folders, so a rename cannot fool it.
        if part.name == ".." {
            return if self.trail.pop().is_some() { Ok(None) } else { Err(self.leaves()) };
        }
        self.refuse_by_name(&part.name)?;
        match self.here().symlink_metadata(&part.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.missing(part),
            Err(source) => Err(self.io("look at", source)),
            Ok(metadata) if metadata.is_symlink() => self.follow(&part.name).map(|()| None),
            Ok(metadata) if metadata.is_dir() => self.enter(part.name).map(|()| None),
            Ok(metadata) => self.file(part.name, metadata).map(Some),
        }
    }

    /// Refuses `name` here with all parts to come, if a closed area is among them.
    ///
    /// It looks ahead, so that a path which ends in a closed area leaves no folder behind.
    fn refuse_by_name(&self, name: &OsStr) -> Result<(), Error> {
        let entered = self.trail.iter().map(|(name, _)| name.as_os_str());
        let ahead = self.todo.iter().map(|part| part.name.as_os_str());
        self.refuse(self.guard.by_name(entered.chain([name]).chain(ahead)))?;
        let last = self.todo.back().map_or(name, |part| part.name.as_os_str());
        self.refuse(self.guard.by_file_name(last))
    }

    fn refuse_folder(&self, folder: &Dir) -> Result<(), Error> {
        self.refuse(self.guard.by_folder(folder).map_err(|source| self.io("look at", source))?)
    }

    fn refuse(&self, area: Option<Area>) -> Result<(), Error> {
        match area {
            Some(area) => Err(Error::Protected { path: self.asked.text(), area }),
            None => Ok(()),
        }
    }

    fn missing(&mut self, part: Part) -> Result<Option<Place>, Error> {
        if part.origin == Origin::Link {
            return Err(Error::NotFound { path: self.asked.text() });
        }
        let ahead = self.todo.iter().map(|part| part.name.as_os_str());
        let new = std::iter::once(part.name.as_os_str()).chain(ahead);
        self.refuse(self.guard.by_new_names(new.skip(usize::from(self.trail.is_empty()))))?;
        let area = self.guard.by_new_name(self.here(), &part.name);
        self.refuse(area.map_err(|source| self.io("look at", source))?)?;
        if self.todo.is_empty() {
            let folder = self.here().try_clone().map_err(|source| self.io("open", source))?;
            self.note_self_starting(&part.name);
            let self_starting = std::mem::take(&mut self.self_starting);
            return Ok(Some(Place::Missing { folder, name: part.name, self_starting }));
        }
        if self.parents == Parents::Required {
            return Err(Error::NotFound { path: self.asked.text() });
        }
        match self.here().create_dir(&part.name) {
            // Somebody else may have made it since; what it is now is decided by opening it.
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.io("make the folders of", source))
            }
            _ => self.enter(part.name).map(|()| None),
        }
    }

    fn enter(&mut self, name: OsString) -> Result<(), Error> {
        let folder =
            self.here().open_dir_nofollow(&name).map_err(|source| self.io("open", source))?;
        self.refuse_folder(&folder)?;
        if self.trail.len() == MAX_DEPTH {
            return Err(Error::TooDeep { path: self.asked.text() });
        }
        self.trail.push((name, folder));
        Ok(())
    }

    fn file(&mut self, name: OsString, metadata: Metadata) -> Result<Place, Error> {
        if !metadata.is_file() {
            return Err(Error::Special { path: self.asked.text() });
        }
        if !self.todo.is_empty() {
            return Err(Error::NotFolder { path: self.asked.text() });
        }
        self.refuse(self.guard.by_identity(&metadata))?;
        let folder = self.here().try_clone().map_err(|source| self.io("open", source))?;
        self.note_self_starting(&name);
        let self_starting = std::mem::take(&mut self.self_starting);
        Ok(Place::File { folder, name, metadata, self_starting })
    }

    fn note_self_starting(&mut self, name: &OsStr) {
        let ahead = self.todo.iter().map(|part| part.name.as_os_str());
        let names = self.trail.iter().map(|(name, _)| name.as_os_str()).chain([name]).chain(ahead);
        let names: Vec<&OsStr> = names.collect();
        if is_self_starting(names.iter().copied()) {
            let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
            self.self_starting.push(super::path::shown(&names.join("/")));
        }
    }

    /// Replaces a link by the parts of its target.
    fn follow(&mut self, name: &OsStr) -> Result<(), Error> {
        if self.links.len() == MAX_LINKS {
            return Err(Error::TooManyLinks { path: self.asked.text() });
        }
        let target = self
            .here()
            .read_link_contents(name)
            .map_err(|source| self.io("read the link", source))?;
        self.links.push(self.place_of(name));
        self.note_self_starting(name);
        let Some(parts) = target_parts(&target) else { return Err(self.leaves()) };
        for name in parts.into_iter().rev() {
            self.todo.push_front(Part { name, origin: Origin::Link });
        }
        Ok(())
    }

    fn leaves(&self) -> Error {
        let link = self.links.last().cloned().unwrap_or_default();
        Error::Leaves { path: self.asked.text(), link }
    }

    fn place_of(&self, name: &OsStr) -> String {
        let names = self.trail.iter().map(|(name, _)| name.as_os_str()).chain([name]);
        super::path::shown(&names.map(OsStr::to_string_lossy).collect::<Vec<_>>().join("/"))
    }

    fn io(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io { action, path: self.asked.text(), source }
    }
}

/// The parts of a link's target, or nothing when it starts elsewhere than here.
fn target_parts(target: &Path) -> Option<Vec<OsString>> {
    let mut parts = Vec::new();
    for component in target.components() {
        match component {
            Component::Normal(name) => parts.push(name.to_owned()),
            Component::ParentDir => parts.push("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
}

/// The guard and the parsed path of one operation.
pub(super) fn prepare(root: &Root, path: &str, access: Access) -> Result<(Asked, Guard), Error> {
    let asked = Asked::parse(path)?;
    Ok((asked, Guard::new(root.dir(), access)))
}
