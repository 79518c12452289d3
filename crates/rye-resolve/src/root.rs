//! One root as a thing that holds files, whether on disk or inside the program.

use std::path::PathBuf;

use crate::{ItemId, ItemKind, Location, ResolveError, ShippedFile, Space, disk};

/// One root in precedence order: an `.ai` folder, or the shipped files.
#[derive(Clone, Debug)]
pub(crate) enum Root {
    Disk { space: Space, ai: PathBuf },
    Shipped(&'static [ShippedFile]),
}

/// The text of a file together with what is known of its origin before any signature is read.
#[derive(Debug)]
pub(crate) enum Text {
    Disk(String),
    Shipped(&'static str),
}

impl Root {
    pub(crate) fn space(&self) -> Space {
        match self {
            Self::Disk { space, .. } => *space,
            Self::Shipped(_) => Space::Builtin,
        }
    }

    /// Where the file at `relative`, a path below `.ai`, is or would be.
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
        if kind.reserves(id) {
            return Ok(found);
        }
        for extension in kind.extensions() {
            let location = self.location(&format!("{}/{id}.{extension}", kind.folder()));
            if self.holds(&location)? {
                found.push(location);
            }
        }
        Ok(found)
    }

    /// The whole text at `location`, which this root holds.
    pub(crate) fn read(&self, location: &Location) -> Result<Text, ResolveError> {
        match self {
            Self::Disk { ai, .. } => disk::read(ai, &location.path).map(Text::Disk),
            Self::Shipped(files) => {
                let file = shipped(files, location)
                    .expect("because only locations that the root holds are read from it");
                Ok(Text::Shipped(file.text))
            }
        }
    }

    fn holds(&self, location: &Location) -> Result<bool, ResolveError> {
        match self {
            Self::Disk { .. } => disk::occupied(&location.path),
            Self::Shipped(files) => Ok(shipped(files, location).is_some()),
        }
    }
}

fn shipped<'a>(files: &'a [ShippedFile], location: &Location) -> Option<&'a ShippedFile> {
    files.iter().find(|file| location.path.as_os_str() == file.path)
}
