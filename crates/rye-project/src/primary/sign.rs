//! Signing the item that an id means (SPEC 2.12).

use rye_caps::Primary;
use rye_resolve::{ItemId, Located, Space};
use rye_sign::{Digest, PublicKey, SigningKey};
use rye_types::{ItemKind, Timestamp};

use super::caller::Caller;
use super::error::PrimaryError;
use crate::project::Project;
use crate::signing::{SignFileError, SignOptions, SignedFile, sign_judged_file};

/// An item to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignRequest {
    /// The sort of item.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
    /// The SHA-256 of the text that the caller means. Without it, the text is the one in the file.
    pub sha256: Option<Digest>,
}

impl SignRequest {
    /// This item, whatever its text is.
    #[must_use]
    pub fn new(kind: ItemKind, id: ItemId) -> Self {
        Self { kind, id, sha256: None }
    }

    /// This text of it, and no other.
    #[must_use]
    pub fn with_sha256(self, sha256: Digest) -> Self {
        Self { sha256: Some(sha256), ..self }
    }
}

/// Signs the file of the id after a check, as `rye sign` does with the file's path. Only the operator replaces the signature
/// of another key.
///
/// # Errors
///
/// The function fails if the caller may not sign, if there is no such item, or if its space is read only. It
/// fails too if its text is not the one that the caller means, or if the file cannot be signed.
pub fn sign(
    project: &Project,
    request: &SignRequest,
    key: &SigningKey,
    at: Timestamp,
    caller: &Caller,
) -> Result<SignedFile, PrimaryError> {
    ToSign::of(project, request, caller)?.sign(key, at, |_| Ok(()))
}

/// The file that an item to sign was found to be. What is judged and what is signed is this one: the id is looked up once.
pub(crate) struct ToSign<'a> {
    project: &'a Project,
    request: &'a SignRequest,
    keeps_others: bool,
    pub(crate) located: Located,
}

impl<'a> ToSign<'a> {
    /// Finds the item for a caller that may have it signed.
    pub(crate) fn of(
        project: &'a Project,
        request: &'a SignRequest,
        caller: &Caller,
    ) -> Result<Self, PrimaryError> {
        caller.permit(Primary::Sign, request.kind, &request.id)?;
        let located = project.library.locate(request.kind, &request.id)?;
        Ok(Self { project, request, keeps_others: !caller.is_operator(), located })
    }

    /// The digest of what lies there now.
    pub(crate) fn sha256(&self) -> Result<Digest, PrimaryError> {
        let text = crate::signing::text(&self.located.winner.path)?;
        Ok(Digest::of(text.as_bytes()))
    }

    /// Refuses a text that another key than `own` signed, unless the operator asks.
    pub(crate) fn refuse_other(
        &self,
        text: &str,
        own: Option<&PublicKey>,
    ) -> Result<(), SignFileError> {
        match own.filter(|_| self.keeps_others) {
            Some(own) => self.project.refuse_other(&self.located.winner.path, text, own),
            None => Ok(()),
        }
    }

    /// Refuses a text that has what bars signing with the key `own`.
    pub(crate) fn judge(&self, text: &str, own: Option<&PublicKey>) -> Result<(), SignFileError> {
        self.project.checker().judge(&self.located.winner.path, text, own)
    }

    /// Signs it, unless its text is not the one that is meant or `judge` refuses that text.
    pub(crate) fn sign(
        &self,
        key: &SigningKey,
        at: Timestamp,
        judge: impl FnOnce(&str) -> Result<(), PrimaryError>,
    ) -> Result<SignedFile, PrimaryError> {
        let kind = self.request.kind;
        let id = &self.request.id;
        let place = &self.located.winner;
        if let space @ (Space::System | Space::Builtin) = place.space {
            return Err(SignFileError::ReadOnly { kind, id: id.clone(), space }.into());
        }
        sign_judged_file(&place.path, key, at, SignOptions::default(), |text| {
            let found = Digest::of(text.as_bytes());
            match &self.request.sha256 {
                Some(meant) if *meant != found => {
                    let id = id.clone();
                    let meant = *meant;
                    Err(PrimaryError::OtherText { kind, id, meant, found })
                }
                _ => {
                    judge(text)?;
                    self.refuse_other(text, Some(&key.public()))?;
                    self.judge(text, Some(&key.public()))?;
                    Ok(self.project.other_signature(&place.path, text, &key.public()))
                }
            }
        })
    }
}
