//! Signing the item that an id means (SPEC 2.12).

use rye_caps::Primary;
use rye_resolve::{ItemId, ItemKind, Space};
use rye_sign::{SigningKey, Timestamp};

use super::caller::Caller;
use super::error::PrimaryError;
use crate::rye::Rye;
use crate::signing::{SignFileError, SignedFile, sign_judged_file};

/// An item to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignRequest {
    /// The sort of item.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
}

impl SignRequest {
    /// This item.
    #[must_use]
    pub fn new(kind: ItemKind, id: ItemId) -> Self {
        Self { kind, id }
    }
}

/// Signs the file that the id means, after a check, as `rye sign` does with the file's path.
///
/// # Errors
///
/// When the caller may not, there is no such item, its space is read only, or the file cannot be signed.
pub fn sign(
    rye: &Rye,
    request: &SignRequest,
    key: &SigningKey,
    at: Timestamp,
    caller: &Caller,
) -> Result<SignedFile, PrimaryError> {
    sign_checked(rye, request, key, at, caller, |_| Ok(()))
}

/// The same, where `judge` has something to say about the very text that is signed.
pub(crate) fn sign_checked(
    rye: &Rye,
    request: &SignRequest,
    key: &SigningKey,
    at: Timestamp,
    caller: &Caller,
    judge: impl FnOnce(&str) -> Result<(), PrimaryError>,
) -> Result<SignedFile, PrimaryError> {
    let SignRequest { kind, id } = request;
    caller.permit(Primary::Sign, *kind, id)?;
    let place = rye.library.locate(*kind, id)?.winner;
    match place.space {
        Space::Project | Space::User => sign_judged_file(&place.path, key, at, judge),
        Space::System | Space::Builtin => {
            let (kind, id) = (*kind, id.clone());
            Err(SignFileError::ReadOnly { kind, id, space: place.space }.into())
        }
    }
}
