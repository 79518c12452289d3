//! Items with their location, source and digest.

use rye_sign::{Digest, Provenance, Shown};
use rye_types::ItemKind;

use crate::{ItemId, Location};

/// The content of a file, with its location, source and digest. It is verified, unless the library shows drafts.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Item<T> {
    /// The id that was asked for.
    pub id: ItemId,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The file that won.
    pub location: Location,
    /// The content of the file. Its type proves that the signature was checked (SPEC 2.10). A draft is there only from a library
    /// that [shows drafts](crate::Library::showing_drafts), and gives no verified value.
    pub content: Shown<T>,
    /// The whole text of the file, signature line included, which the spans in `content` index.
    pub source: String,
    /// The SHA-256 of the file's bytes, in 64 lowercase hex digits.
    pub digest: String,
}

impl Item<String> {
    /// Makes the item of the file at `location`, whose text is `content`.
    pub fn new(kind: ItemKind, id: ItemId, location: Location, content: Shown<String>) -> Self {
        let source = content.value().clone();
        let digest = Digest::of(source.as_bytes()).to_string();
        Self { id, kind, location, content, source, digest }
    }
}

impl<T> Item<T> {
    /// Returns `true` if the operator changed the file since they signed it (SPEC D20).
    pub fn is_draft(&self) -> bool {
        matches!(self.content.provenance(), Provenance::Draft(_))
    }

    /// The SHA-256 of what a signature of the item covers: the text without its signature line, and all of a plain file, whose
    /// signature is kept beside it.
    pub fn content_digest(&self) -> Digest {
        match self.id.file() {
            Some(_) => Digest::of_text(&self.source),
            None => Digest::of_content(&self.source),
        }
    }

    /// Applies `read` to the content.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> Item<U> {
        let Self { id, kind, location, content, source, digest } = self;
        Item { id, kind, location, content: content.map(read), source, digest }
    }

    /// Applies `read` to the content, or returns its error.
    pub fn try_map<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<Item<U>, E> {
        let Self { id, kind, location, content, source, digest } = self;
        let content = content.try_map(read)?;
        Ok(Item { id, kind, location, content, source, digest })
    }
}
