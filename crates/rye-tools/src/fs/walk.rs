//! Resolution of a path to an open folder and a name in it, link by link.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use rye_sandbox::is_self_starting;

use super::path::RequestedPath;
use super::path_limits::{MAX_DEPTH, MAX_LINKS};
use super::protected::{Access, Guard};
use super::{Area, Error, Root};

/// The open folders from below the root to a place, with their real names.
pub(super) type Trail = Vec<(OsString, Dir)>;

/// The result of a resolution, with all links followed.
pub(super) enum Place {
    Folder {
        folder: Dir,
        /// The folders on the way. The last is the folder itself. Empty for the root.
        trail: Trail,
    },
    File {
        folder: Dir,
        name: OsString,
        metadata: Metadata,
        self_starting: Vec<String>,
    },
    /// The name does not exist in the open folder.
    Missing {
        folder: Dir,
        name: OsString,
        self_starting: Vec<String>,
    },
}

/// The choice whether missing folders of the path are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parents {
    Required,
    Created,
}

/// Resolves a path part by part. Each folder is opened without following links and checked against the guard.
pub(super) fn walk(
    root: &Root,
    asked: &RequestedPath,
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
    asked: &'a RequestedPath,
    guard: &'a Guard,
    parents: Parents,
    /// The folders entered so far, with their real names.
    trail: Trail,
    todo: VecDeque<Part>,
    /// The links followed so far, as real paths.
    links: Vec<String>,
    /// The self-starting files that the path names: links on the way and the file at the end.
    self_starting: Vec<String>,
}

struct Part {
    name: OsString,
    origin: Origin,
}

/// The source of a part. Only a part that the caller named is made if it is missing, because a link without a
/// target is not a place.
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
        // Only the target of a link has such a part. It goes up over open folders, so that a rename cannot
        // mislead it.
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

    /// Refuses `name` and the parts after it, if a closed area is among them.
    ///
    /// The remaining parts are checked in advance, so that a path into a closed area leaves no new folder
    /// behind.
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
            // Another program may have made it meanwhile. Opening it decides what it is.
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
            self.self_starting.push(super::path::quote(&names.join("/")));
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
        super::path::quote(&names.map(OsStr::to_string_lossy).collect::<Vec<_>>().join("/"))
    }

    fn io(&self, action: &'static str, source: io::Error) -> Error {
        Error::Io { action, path: self.asked.text(), source }
    }
}

/// Returns the parts of a link's target, or `None` if the target is absolute.
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

/// Parses the path and makes the guard of an operation.
pub(super) fn prepare(
    root: &Root,
    path: &str,
    access: Access,
) -> Result<(RequestedPath, Guard), Error> {
    let asked = RequestedPath::parse(path)?;
    Ok((asked, Guard::new(root.dir(), access)))
}
