//! Ids of paths, and the project of a folder.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use rye_types::ItemKind;

use crate::reserved::is_reserved;
use crate::{ItemId, Space, Spaces, root::Root, stem::stem};

/// Returns the kind, id and space of the file at `path`, or `None` if it is not an item of `spaces`.
///
/// The path is first compared as written. If that finds nothing and the path is absolute, it is compared with
/// the links of its folder followed. The file need not exist, and a nearer space may shadow it:
/// [`Library::locate`](crate::Library::locate) returns the winner of an id.
pub fn item_at(spaces: &Spaces, path: &Path) -> Option<(ItemKind, ItemId, Space)> {
    let disks = || {
        spaces.roots().into_iter().filter_map(|root| match root {
            Root::Disk { space, ai } => Some((space, ai)),
            Root::Shipped(_) => None,
        })
    };
    let as_written = || disks().find_map(|(space, ai)| place(&ai, path, space));
    let resolved = || {
        let real = real(path)?;
        disks().find_map(|(space, ai)| place(&fs::canonicalize(ai).ok()?, &real, space))
    };
    as_written().or_else(resolved)
}

/// Returns the nearest folder from `start` upward that holds an `.ai` folder and is not `user` (SPEC 1.1).
pub fn project_root(start: &Path, user: Option<&Path>) -> Option<PathBuf> {
    let is_user = |folder: &Path| user.is_some_and(|user| same(folder, user));
    let is_project = |folder: &&Path| folder.join(".ai").is_dir() && !is_user(folder);
    start.ancestors().find(is_project).map(Path::to_owned)
}

fn place(ai: &Path, path: &Path, space: Space) -> Option<(ItemKind, ItemId, Space)> {
    let mut segments = Vec::new();
    for component in path.strip_prefix(ai).ok()?.components() {
        let Component::Normal(segment) = component else { return None };
        segments.push(segment.to_str()?);
    }
    let (folder, below) = segments.split_first()?;
    let kind = ItemKind::ALL.iter().copied().find(|kind| kind.folder() == *folder)?;
    let id: ItemId = stem(kind, &below.join("/"))?.parse().ok()?;
    (!is_reserved(kind, &id)).then_some((kind, id, space))
}

/// Follows the links of the folder of `path` and keeps its last segment.
fn real(path: &Path) -> Option<PathBuf> {
    // A relative path would depend on the working directory, which only the caller reads.
    let folder = path.parent().filter(|folder| folder.is_absolute())?;
    Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
}

fn same(left: &Path, right: &Path) -> bool {
    match (fs::canonicalize(left), fs::canonicalize(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}
