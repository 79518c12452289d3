//! Verification of files: the signature and the trusted key (SPEC 2.11).

mod many;
mod plain;
mod summary;
mod trust_document;

use std::io;
use std::path::{Path, PathBuf};

use rye_files::NotText;
use rye_resolve::{ItemId, ResolveError, Space, fault_of_place};
use rye_sign::{
    CommentStyle, Error, ItemName, Provenance, RevocationError, TrustError, TrustStore, Unverified,
};
use rye_types::{ItemKind, Timestamp};

pub use self::plain::is_plain_file;
pub use self::summary::VerificationSummary;
pub(crate) use self::trust_document::is_among_keys;
use crate::place::{kind_of, place};
use crate::project::Project;

/// The result of verifying one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// The file, as it was named.
    pub path: PathBuf,
    /// The subject, by its place or, outside an `.ai` folder, by its text.
    pub subject: Subject,
    /// The item's id; unknown outside an `.ai` folder.
    pub id: Option<ItemId>,
    /// The provenance of the file, or the reason why it has none. An unsigned trust document of the
    /// operator's is [`Provenance::Unsigned`]: it counts because of its place.
    pub result: Result<Provenance, VerifyError>,
}

/// The sort of a verified file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// An item of this kind.
    Item(ItemKind),
    /// A list that revokes keys.
    RevocationList,
    /// A document that vouches for a key (SPEC 2.7).
    TrustDocument,
}

/// The reason why nothing vouches for a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file lies among items and can be none there: by its name, its type or a link.
    #[error(transparent)]
    Misplaced(ResolveError),
    /// The file is not UTF-8 text, so that nothing can be signed in it.
    #[error("it {_0}")]
    NotText(NotText),
    /// The signature fails, or there is none.
    #[error(transparent)]
    Signature(#[from] Error),
    /// The revocation list does not count.
    #[error(transparent)]
    RevocationList(RevocationError),
    /// The trust document does not count.
    #[error(transparent)]
    TrustDocument(TrustError),
    /// The file cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
}

impl Subject {
    /// The name of the kind, as in `directive`; `trust` for trust documents, and `revocations` for a revocation list.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Item(kind) => kind.as_str(),
            Self::RevocationList => "revocations",
            Self::TrustDocument => "trust",
        }
    }
}

impl VerifyError {
    /// The outcome in one word that stays the same from version to version, for programs and for counting.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Misplaced(error) => error.code_of_place().unwrap_or("no-item"),
            Self::NotText(_) => "not-text",
            Self::Signature(error) => error.code(),
            Self::RevocationList(RevocationError::Unverified { source })
            | Self::TrustDocument(TrustError::Unverified { source, .. }) => source.code(),
            Self::RevocationList(RevocationError::NotVouched { .. })
            | Self::TrustDocument(TrustError::SelfVouched { .. }) => "self-vouched",
            Self::RevocationList(_) => "no-revocation-list",
            Self::TrustDocument(_) => "no-trust-document",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

impl Project {
    /// Verifies the text of the file at `path`, which must be absolute for its place to be recognised.
    #[must_use]
    pub fn verify(&self, path: &Path, text: &str) -> Verification {
        let placed = place(path);
        if placed.is_none()
            && let Some(subject) = trust_document::subject(path, text)
        {
            let result = match subject {
                Subject::RevocationList => self.revocation_list(path, text),
                _ => self.trust_document(path, text),
            };
            return Verification { path: path.to_owned(), subject, id: None, result };
        }
        if let Some(file) = self.signed_file_at(path) {
            let subject = Subject::Item(ItemKind::Knowledge);
            let result = self.file_provenance(&file);
            let id = Some(ItemId::of_file(&file));
            return Verification { path: path.to_owned(), subject, id, result };
        }
        let kind = placed.as_ref().map_or_else(|| kind_of(path, text), |(kind, _)| *kind);
        if let Some(fault) = fault_of_place(path) {
            let subject = Subject::Item(kind);
            let result = Err(VerifyError::Misplaced(fault));
            return Verification { path: path.to_owned(), subject, id: None, result };
        }
        let id = placed.map(|(_, id)| id);
        let result = self.provenance(path, text, kind, id.as_ref()).map_err(VerifyError::Signature);
        Verification { path: path.to_owned(), subject: Subject::Item(kind), id, result }
    }

    /// Returns the time at which the operator signed the former content of an item that is a draft now; `None` for other texts
    /// (SPEC D20).
    pub(crate) fn changed_since(
        &self,
        path: &Path,
        text: &str,
        kind: ItemKind,
        id: &ItemId,
    ) -> Option<Timestamp> {
        let own = self.own_key.as_ref()?;
        let style = CommentStyle::of_extension(path.extension()?.to_str()?)?;
        let unverified = Unverified::locate(text, style).ok()?;
        let draft = unverified.draft(&item_name(kind, id), own, self.trust_for(path), self.now)?;
        Some(draft.signature().at())
    }

    /// Returns the provenance of the text of an item, by the policy and the keys of this value.
    pub(crate) fn provenance(
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
        let trust = self.trust_for(path);
        let policy = &self.policy;
        let now = self.now;
        let verified = match id {
            Some(id) => unverified.verify(&item_name(kind, id), trust, policy, now)?,
            None => unverified.verify_detached_name(kind.as_str(), trust, policy, now)?,
        };
        Ok(verified.provenance().clone())
    }
}

impl Project {
    /// Returns the keys that the signature of the file at `path` is checked against. The project's revocation list
    /// concerns the files of the project alone, and none of another project.
    pub(crate) fn trust_for(&self, path: &Path) -> &TrustStore {
        let space = if self.is_of_project(path) { Space::Project } else { Space::User };
        self.library.trust_in(space)
    }

    /// Returns `true` for a file in the project's `.ai` folder, or in no such folder and below the project.
    fn is_of_project(&self, path: &Path) -> bool {
        let Some(project) = self.library.spaces().project() else { return false };
        let is_ai = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match path.ancestors().skip(1).find(is_ai) {
            Some(ai) => {
                let own = project.join(".ai");
                ai == own || real(ai) == real(&own)
            }
            None => real(path).starts_with(real(project)),
        }
    }
}

/// The name that a signature binds an item to.
pub(crate) fn item_name(kind: ItemKind, id: &ItemId) -> ItemName {
    ItemName::new(kind.as_str(), id.as_str()).expect("because an item id is one line of plain text")
}
