//! Trust documents among the files that are verified: whether they count where they lie.

use std::path::{Path, PathBuf};

use rye_sign::{CommentStyle, Error, Origin, Provenance, TrustDocument, TrustError, Unverified};

use super::VerifyError;
use crate::Rye;

/// Whether a file that is no item is a document that vouches for a key: by its folder, or by what it says.
pub(super) fn is_one(path: &Path, text: &str) -> bool {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml && (is_among_keys(path) || TrustDocument::parse(text).is_ok())
}

pub(crate) fn is_among_keys(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with(Path::new(".ai").join(KEYS)))
}

impl Rye {
    /// What vouches for a trust document, by the rules of who may (SPEC 2.8); one outside of the operator's spaces
    /// needs a key that is trusted.
    pub(super) fn trust_document(
        &self,
        path: &Path,
        text: &str,
    ) -> Result<Provenance, VerifyError> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_among_keys(path));
        let origin = if self.is_operators(path) { Origin::Operator } else { Origin::Project };
        let mut trust = self.library.trust().clone();
        trust.admit(text, stem, origin, self.now).map_err(VerifyError::TrustDocument)?;
        let document = TrustDocument::parse(text).map_err(VerifyError::TrustDocument)?;
        let verified = Unverified::locate(text, CommentStyle::Hash).and_then(|unverified| {
            unverified.verify(&document.item_name(), &trust, &self.policy, self.now)
        });
        match verified {
            Ok(verified) => Ok(verified.provenance().clone()),
            // It was admitted without one.
            Err(Error::Unsigned | Error::UnknownKey { .. }) => Ok(Provenance::Unsigned),
            // Its own key may have ended, of which the document is the witness.
            Err(Error::Revoked { .. } | Error::Expired { .. }) => Ok(Provenance::Unsigned),
            Err(source) => {
                let key_id = document.key().key_id().clone();
                Err(VerifyError::TrustDocument(TrustError::Unverified { key_id, source }))
            }
        }
    }

    /// Whether the file is one of those that count because of where they lie. Its real place decides: what a link or a
    /// way through `..` leads to is not there.
    fn is_operators(&self, path: &Path) -> bool {
        let spaces = self.library.spaces();
        let Some(real) = Place::of(path) else { return false };
        let is_below = |root: &Path| real.is_among_keys_of(&root.join(".ai"));
        let is_project = spaces.project().is_some_and(is_below);
        let roots = spaces.user().into_iter().chain(spaces.system().iter().map(PathBuf::as_path));
        !is_project && roots.into_iter().any(is_below)
    }
}

/// Where a file really is, and the folder in which it is found.
struct Place {
    file: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        let (file, folder) = (path.canonicalize().ok()?, path.parent()?.canonicalize().ok()?);
        Some(Self { file, folder })
    }

    fn is_among_keys_of(&self, ai: &Path) -> bool {
        let (Ok(ai), Ok(keys)) = (ai.canonicalize(), ai.join(KEYS).canonicalize()) else {
            return false;
        };
        self.folder == keys && self.file.starts_with(ai)
    }
}

const KEYS: &str = "config/keys/trusted";
