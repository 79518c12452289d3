//! Roots that hold files, on disk or inside the program.

use std::path::{Path, PathBuf};

use rye_types::ItemKind;

use crate::reserved::is_reserved;
use crate::{ItemId, Location, ResolveError, ShippedFile, Space, Spaces, disk};

/// One root in precedence order: an `.ai` folder, or the shipped files.
#[derive(Clone, Debug)]
pub(crate) enum Root {
    Disk { space: Space, ai: PathBuf },
    Shipped(&'static [ShippedFile]),
}

/// The text of a file, on disk or shipped; only text on disk needs a signature.
#[derive(Debug)]
pub(crate) enum Text {
    Disk(String),
    Shipped(&'static str),
}

impl Spaces {
    /// Every root, nearest first.
    pub(crate) fn roots(&self) -> Vec<Root> {
        let disk = |space, root: &Path| Root::Disk { space, ai: root.join(".ai") };
        let mut roots: Vec<Root> = Vec::new();
        roots.extend(self.project().map(|root| disk(Space::Project, root)));
        roots.extend(self.user().map(|root| disk(Space::User, root)));
        roots.extend(self.system().iter().map(|root| disk(Space::System, root)));
        roots.push(Root::Shipped(self.shipped()));
        roots
    }
}

impl Root {
    pub(crate) fn space(&self) -> Space {
        match self {
            Self::Disk { space, .. } => *space,
            Self::Shipped(_) => Space::Builtin,
        }
    }

    /// The location of the file at `relative`, a path below `.ai`, whether or not it exists.
    pub(crate) fn location(&self, relative: &str) -> Location {
        match self {
            Self::Disk { space, ai } => Location::new(*space, ai.join(relative)),
            Self::Shipped(_) => Location::new(Space::Builtin, relative),
        }
    }

    /// The files of this root that `id` could mean, in the order of the kind's extensions.
    pub(crate) fn candidates(
        &self,
        kind: ItemKind,
        id: &ItemId,
    ) -> Result<Vec<Location>, ResolveError> {
        let mut found = Vec::new();
        let mut path = format!("{}/{id}.", kind.folder());
        if id.file().is_some() || is_reserved(kind, id) || self.lacks_folder_of(&path, kind) {
            return Ok(found);
        }
        let stem = path.len();
        for extension in kind.extensions() {
            path.truncate(stem);
            path.push_str(extension);
            if self.holds(&path)? {
                found.push(self.location(&path));
            }
        }
        Ok(found)
    }

    /// The whole text at `location`, which this root holds.
    pub(crate) fn read(&self, location: &Location) -> Result<Text, ResolveError> {
        match self {
            Self::Disk { ai, .. } => disk::read(ai, &location.path).map(Text::Disk),
            Self::Shipped(files) => {
                let file = find_shipped(files, location)
                    .expect("because only locations that the root holds are read from it");
                Ok(Text::Shipped(file.text))
            }
        }
    }

    /// Returns `true` if the folder of `path` is missing, so that no extension needs to be tried.
    ///
    /// For a kind with one extension this would save nothing, and the answer is `false`.
    fn lacks_folder_of(&self, path: &str, kind: ItemKind) -> bool {
        match (self, Path::new(path).parent()) {
            (Self::Disk { ai, .. }, Some(folder)) if kind.extensions().len() > 1 => {
                disk::is_missing(&ai.join(folder))
            }
            _ => false,
        }
    }

    /// Returns `true` if anything is at `relative`, a path below `.ai`.
    pub(crate) fn holds(&self, relative: &str) -> Result<bool, ResolveError> {
        match self {
            Self::Disk { ai, .. } => disk::is_occupied(&ai.join(relative)),
            Self::Shipped(files) => Ok(files.iter().any(|file| file.path == relative)),
        }
    }
}

fn find_shipped<'a>(files: &'a [ShippedFile], location: &Location) -> Option<&'a ShippedFile> {
    files.iter().find(|file| location.path.as_os_str() == file.path)
}
