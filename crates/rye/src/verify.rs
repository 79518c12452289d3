//! Whether a file is signed by somebody who is trusted (SPEC 2.11).

use std::path::{Path, PathBuf};

use rye_resolve::{ItemId, ItemKind};
use rye_sign::{CommentStyle, Error, ItemName, Provenance, Unverified};

use crate::Rye;
use crate::place::{kind_of, place};

/// What verifying one file came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// The file, as it was named.
    pub path: PathBuf,
    /// What sort of item it is, by its place or, outside an `.ai` folder, by its text.
    pub kind: ItemKind,
    /// Its id; outside an `.ai` folder nobody knows it.
    pub id: Option<ItemId>,
    /// What vouches for the file, or why nothing does.
    pub result: Result<Provenance, Error>,
}

impl Rye {
    /// Verifies the text of the file at `path`, which must be absolute for its place to be recognised.
    #[must_use]
    pub fn verify(&self, path: &Path, text: &str) -> Verification {
        let placed = place(path);
        let kind = placed.as_ref().map_or_else(|| kind_of(path, text), |(kind, _)| *kind);
        let id = placed.map(|(_, id)| id);
        let result = self.provenance(path, text, kind, id.as_ref());
        Verification { path: path.to_owned(), kind, id, result }
    }

    fn provenance(
        &self,
        path: &Path,
        text: &str,
        kind: ItemKind,
        id: Option<&ItemId>,
    ) -> Result<Provenance, Error> {
        let extension =
            path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let style = CommentStyle::of_extension(extension).ok_or(Error::Unsigned)?;
        let unverified = Unverified::locate(text, style)?;
        let (trust, policy, now) = (self.library.trust(), &self.policy, self.now);
        let verified = match id {
            Some(id) => unverified.verify(&item_name(kind, id), trust, policy, now)?,
            None => unverified.verify_detached_name(kind.as_str(), trust, policy, now)?,
        };
        Ok(verified.provenance().clone())
    }
}

/// The name that a signature binds an item to.
pub(crate) fn item_name(kind: ItemKind, id: &ItemId) -> ItemName {
    ItemName::new(kind.as_str(), id.as_str()).expect("because an item id is one line of plain text")
}
