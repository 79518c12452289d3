//! Copying an item into a space where it can be changed (SPEC D12).

use std::io;
use std::path::{Path, PathBuf};

use rye_resolve::{Item, Space};
use strum::{EnumString, IntoStaticStr};

use crate::project::Project;
use crate::signing::{create, leads_out};

/// A space that items can be copied into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC D12 names these two")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_fn = DestinationError::new, parse_err_ty = DestinationError)]
pub enum Destination {
    /// The project's `.ai`.
    Project,
    /// The operator's own `.ai`.
    User,
}

impl Destination {
    /// The space's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn space(self) -> Space {
        match self {
            Self::Project => Space::Project,
            Self::User => Space::User,
        }
    }
}

/// A word that names no space to copy to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no destination; write `project` or `user`")]
#[non_exhaustive]
pub struct DestinationError {
    /// The word.
    pub name: String,
}

impl DestinationError {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
}

/// The reason why an item cannot be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It is in that space already.
    #[error("it is in the {} space already", .space)]
    AtHome {
        /// The space.
        space: Space,
    },
    /// A file of that id is in the way.
    #[error("`{}` exists and is not replaced; move it away first", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A link would take the copy out of the space.
    #[error("a link leads out of the space, to `{}`", .target.display())]
    LeavesSpace {
        /// The target of the link.
        target: PathBuf,
    },
    /// There is no such space.
    #[error("there is no {} space here", .destination.as_str())]
    NoSpace {
        /// The space that was asked for.
        destination: Destination,
    },
    /// The system refused.
    #[error("cannot write `{}`", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Copies an item into the space, and returns the path of the copy. The copy of an item that comes with the program is
/// unsigned, as its text is, and counts once it is signed.
pub(super) fn copy(
    project: &Project,
    item: &Item<String>,
    destination: Destination,
) -> Result<PathBuf, CopyError> {
    let spaces = project.library.spaces();
    let root = match destination {
        Destination::Project => spaces.project(),
        Destination::User => spaces.user(),
    };
    let root = root.ok_or(CopyError::NoSpace { destination })?;
    if item.location.space == destination.space() {
        return Err(CopyError::AtHome { space: item.location.space });
    }
    let folder = root.join(".ai").join(item.kind.folder());
    let file = |extension: &str| folder.join(format!("{}.{extension}", item.id));
    let path = file(item.location.extension());
    // A copy that is there is the one that was asked for: a call that was cut off may be made again.
    if is_copy(&path, &item.source) {
        return Ok(path);
    }
    // Another extension would be a second file of the id, which Rye refuses (SPEC 1.4).
    let twins = item.kind.extensions().iter().map(|extension| file(extension));
    if let Some(path) = twins.into_iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(CopyError::Exists { path });
    }
    write_copy(&path, &item.source).map(|()| path)
}

/// Returns `true` if the file has this text and lies in the space itself.
fn is_copy(path: &Path, text: &str) -> bool {
    let is_plain = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let is_there = is_plain && leads_out(path).is_none();
    is_there && crate::signing::text(path).is_ok_and(|there| there == text)
}

fn write_copy(path: &Path, text: &str) -> Result<(), CopyError> {
    let failed = |source: io::Error| CopyError::Io { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    // Before a folder is made as well: none is made where a link leads.
    let nearest = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    if let Some(target) = leads_out(&nearest.join("item")) {
        return Err(CopyError::LeavesSpace { target });
    }
    std::fs::create_dir_all(folder).and_then(|()| create(path, text)).map_err(failed)
}
