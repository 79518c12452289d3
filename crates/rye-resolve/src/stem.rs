//! Paths of items without their extension.

use crate::ItemKind;

/// Returns `path` without its extension, or `None` if the extension is not one of `kind`.
pub(crate) fn stem(kind: ItemKind, path: &str) -> Option<&str> {
    let (stem, extension) = path.rsplit_once('.')?;
    kind.extensions().contains(&extension).then_some(stem)
}
