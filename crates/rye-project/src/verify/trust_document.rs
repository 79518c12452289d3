//! Trust documents and revocation lists among the files that are verified: whether they count where they lie.

use std::path::{Path, PathBuf};

use rye_resolve::{REVOCATION_LIST, TRUST_DOCUMENTS, is_revocation_list};
use rye_sign::{
    CommentStyle, Error, Origin, Provenance, RevocationError, RevocationList, TrustDocument,
    TrustError, Unverified,
};

use super::{Subject, VerifyError};
use crate::project::Project;

/// Returns the sort of a file that is no item, if it is about keys: by its place or by its text.
pub(super) fn subject(path: &Path, text: &str) -> Option<Subject> {
    if path.extension().is_none_or(|extension| extension != "toml") {
        return None;
    }
    if is_among_keys(path) || TrustDocument::parse(text).is_ok() {
        return Some(Subject::TrustDocument);
    }
    let is_list = is_revocation_list(path) || RevocationList::parse(text).is_ok();
    is_list.then_some(Subject::RevocationList)
}

pub(crate) fn is_among_keys(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with(Path::new(".ai").join(TRUST_DOCUMENTS)))
}

impl Project {
    /// Returns the provenance of a trust document, by the rules of SPEC 2.8. A document outside of the
    /// operator's spaces needs a trusted key.
    pub(super) fn trust_document(
        &self,
        path: &Path,
        text: &str,
    ) -> Result<Provenance, VerifyError> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_among_keys(path));
        let origin = if self.is_operators(path) { Origin::Operator } else { Origin::Project };
        let mut trust = self.trust_for(path).clone();
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

    /// Returns the provenance of a revocation list. One outside of the operator's spaces needs a trusted key, which may
    /// have ended since.
    pub(super) fn revocation_list(
        &self,
        path: &Path,
        text: &str,
    ) -> Result<Provenance, VerifyError> {
        let is_ai = |folder: &Path| folder.file_name().is_some_and(|name| name == ".ai");
        if path.ancestors().skip(1).any(is_ai) && !is_revocation_list(path) {
            return Err(VerifyError::RevocationList(RevocationError::Misplaced));
        }
        let origin = if self.is_operators(path) { Origin::Operator } else { Origin::Project };
        let file = path.display().to_string();
        let mut trust = self.trust_for(path).clone();
        let admitted = trust.admit_list(text, &file, origin, self.now);
        admitted.map(|list| list.provenance).map_err(VerifyError::RevocationList)
    }

    /// Returns `true` for a file that counts because of its place. The real path decides. The target of a
    /// link or of a path through `..` is elsewhere.
    fn is_operators(&self, path: &Path) -> bool {
        let spaces = self.library.spaces();
        let Some(real) = Place::of(path) else { return false };
        let is_below = |root: &Path| real.is_about_keys_of(&root.join(".ai"));
        let is_project = spaces.project().is_some_and(is_below);
        let roots = spaces.user().into_iter().chain(spaces.system().iter().map(PathBuf::as_path));
        !is_project && roots.into_iter().any(is_below)
    }
}

/// The real path of a file, and that of its folder.
struct Place {
    file: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        let file = path.canonicalize().ok()?;
        let folder = path.parent()?.canonicalize().ok()?;
        Some(Self { file, folder })
    }

    /// Returns `true` for a trust document of the `.ai` folder, and for its revocation list.
    fn is_about_keys_of(&self, ai: &Path) -> bool {
        let Ok(ai) = ai.canonicalize() else { return false };
        let is_among_keys =
            ai.join(TRUST_DOCUMENTS).canonicalize().is_ok_and(|keys| keys == self.folder);
        let is_list = self.file == ai.join(REVOCATION_LIST);
        (is_among_keys || is_list) && self.file.starts_with(ai)
    }
}
