//! Places of items: the item that a file on disk is, by its path.

use std::path::Path;

use rye_resolve::{ItemId, Spaces, item_at};
use rye_types::ItemKind;

/// The most bytes that are read of a file: four times the longest item, so that the parser says what is too long.
pub(crate) const LONGEST_FILE: u64 = 16 * 1024 * 1024;

/// Returns the kind and the id of a file inside an `.ai` folder, in any space. It is `None` outside of one,
/// and for files that are no items.
///
/// `path` must be absolute.
#[must_use]
pub fn place(path: &Path) -> Option<(ItemKind, ItemId)> {
    let holds_item = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
    let root = path.ancestors().skip(1).find(holds_item)?.parent()?;
    let (kind, id, _) = item_at(&Spaces::new().with_project(root), path)?;
    Some((kind, id))
}

/// Returns the kind of a file by its text alone (SPEC 2.11).
#[must_use]
pub fn kind_of(path: &Path, text: &str) -> ItemKind {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension {
        "md" if text.lines().any(|line| line.trim_start().starts_with("<directive")) => {
            ItemKind::Directive
        }
        "md" => ItemKind::Knowledge,
        "toml" | "json" => ItemKind::Config,
        "yaml" | "yml" if rye_parse::tool(text, extension).is_err() => ItemKind::Knowledge,
        _ => ItemKind::Tool,
    }
}
