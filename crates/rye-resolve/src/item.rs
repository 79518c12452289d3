//! A verified item, with what is needed to explain and to pin it.

use rye_sign::{Digest, Verified};

use crate::{ItemId, ItemKind, Location};

/// The verified content of one file, and which file that was.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Item<T> {
    /// The id that the item was asked for by.
    pub id: ItemId,
    /// The sort of item.
    pub kind: ItemKind,
    /// The file that won.
    pub location: Location,
    /// What the file says; the type is the proof that its signature was checked (SPEC 2.10).
    pub content: Verified<T>,
    /// The whole text of the file, signature line included, which the spans in `content` index.
    pub source: String,
    /// The SHA-256 of the file's bytes, in 64 lowercase hex digits.
    pub digest: String,
}

impl Item<String> {
    /// The item whose file at `location` holds the text in `content`.
    pub fn new(kind: ItemKind, id: ItemId, location: Location, content: Verified<String>) -> Self {
        let source = content.value().clone();
        let digest = Digest::of(source.as_bytes()).to_string();
        Self { id, kind, location, content, source, digest }
    }
}

impl<T> Item<T> {
    /// The same item with what `read` makes of its content.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> Item<U> {
        let Self { id, kind, location, content, source, digest } = self;
        Item { id, kind, location, content: content.map(read), source, digest }
    }

    /// The same item with what `read` makes of its content, unless that fails.
    pub fn try_map<U, E>(self, read: impl FnOnce(T) -> Result<U, E>) -> Result<Item<U>, E> {
        let Self { id, kind, location, content, source, digest } = self;
        let content = content.try_map(read)?;
        Ok(Item { id, kind, location, content, source, digest })
    }
}
