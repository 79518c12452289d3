//! Paths of items without their extension.

use rye_types::ItemKind;

/// Returns `path` without its extension, or `None` if the extension is not one of `kind`.
pub(crate) fn stem(kind: ItemKind, path: &str) -> Option<&str> {
    let (stem, extension) = path.rsplit_once('.')?;
    kind.extensions().contains(&extension).then_some(stem)
}

/// Returns `true` for another spelling of the name of a folder, by case alone.
pub(crate) fn is_in_other_case(name: &str, folder: &str) -> bool {
    name != folder && name.eq_ignore_ascii_case(folder)
}
