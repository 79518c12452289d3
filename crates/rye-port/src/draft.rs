//! A file that an import would write.

use rye_resolve::ItemId;
use rye_types::ItemKind;

/// An unsigned file for a space.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedDraft {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The id of the item.
    pub id: ItemId,
    /// The path below `.ai`, with `/`.
    pub path: String,
    /// The text.
    pub text: String,
    /// The file of the source that it was made of.
    pub from: String,
}

impl ImportedDraft {
    pub(crate) fn new(
        kind: ItemKind,
        id: ItemId,
        extension: &str,
        text: String,
        from: &str,
    ) -> Self {
        let path = format!("{}/{id}.{extension}", kind.folder());
        Self { kind, id, path, text, from: from.to_owned() }
    }
}
