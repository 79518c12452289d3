//! Who may vouch for a trust document.

use crate::comment::CommentStyle;
use crate::error::Error;
use crate::key_id::KeyId;
use crate::policy::Policy;
use crate::provenance::{Binding, Provenance};
use crate::timestamp::Timestamp;
use crate::trust::document::TrustDocument;
use crate::trust::error::TrustError;
use crate::trust::store::{TrustStore, TrustedKey};
use crate::unverified::Unverified;

/// Where a trust document comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// User or system space: the operator put it there.
    Operator,
    /// Project space: whoever wrote the project put it there.
    Project,
    /// `--trust FILE`: the operator named it, for this run.
    Run,
}

/// A trust document that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admission {
    /// The 16-digit id of the key.
    pub key_id: KeyId,
    /// Who is said to hold it.
    pub owner: String,
    /// What a person should know.
    pub notes: Vec<AdmissionNote>,
}

/// What a person should know of a trust document that counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionNote {
    /// An earlier document decides on the owner; the limits of both count.
    #[error(
        "another trust document for this key was read before: its owner stands, and the limits of both; remove one of them"
    )]
    AlreadyTrusted,
    /// Its signature is of the old form.
    #[error("its signature does not bind kind and id; sign it again with `rye sign`")]
    ContentOnly,
    /// The trust has ended, so what the key signed is refused.
    #[error("the trust in the key expired at {at}")]
    Expired {
        /// When.
        at: Timestamp,
    },
    /// The key is revoked, so what it signed is refused.
    #[error("the key was revoked at {at}")]
    Revoked {
        /// When.
        at: Timestamp,
    },
    /// It is signed by a key that no document has.
    #[error("it is signed by the unknown key `{signer}`; it counts because you put it here")]
    UnknownSigner {
        /// The key that signed it.
        signer: KeyId,
    },
    /// It is not signed.
    #[error("it is unsigned; it counts because you put it here")]
    Unsigned,
}

/// That a document counts, and through which other key.
pub(crate) struct Vouching<'s> {
    pub(crate) by: Option<&'s TrustedKey>,
    pub(crate) notes: Vec<AdmissionNote>,
}

/// Decides whether a document counts. Signatures that fail never do; for a project, those that are missing neither.
pub(crate) fn vouch<'s>(
    document: &TrustDocument,
    text: &str,
    store: &'s TrustStore,
    origin: Origin,
    now: Timestamp,
) -> Result<Vouching<'s>, TrustError> {
    let key_id = document.key().key_id();
    let self_vouched = |signer| TrustError::SelfVouched { key_id: key_id.clone(), signer };
    let signer = match Unverified::locate(text, CommentStyle::Hash) {
        Ok(unverified) => Some(unverified.key_id().clone()),
        Err(Error::Unsigned) => None,
        Err(source) => return Err(TrustError::Unverified { key_id: key_id.clone(), source }),
    };
    let by = signer.as_ref().and_then(|signer| store.find(signer));
    let by_itself = signer.as_ref().is_some_and(|signer| document.key().is_named(signer));
    let notes = if by_itself && origin != Origin::Project {
        verified_notes(document, text, &of_its_own(document), now)?
    } else {
        verified_notes(document, text, store, now)?
    };
    if origin == Origin::Project && by.is_none_or(|by| by.origin() == Origin::Project) {
        let signer = signer.map(|signer| if by_itself { key_id.clone() } else { signer });
        return Err(self_vouched(signer));
    }
    let by = if origin == Origin::Project { by } else { None };
    Ok(Vouching { by, notes })
}

/// A signature of the key in the document shows that its holder wrote it, which is enough where the operator put it.
fn of_its_own(document: &TrustDocument) -> TrustStore {
    let mut own = TrustStore::new();
    own.trust_key(document.owner(), document.key().clone());
    own
}

/// Verifies a signature as far as its key is known.
fn verified_notes(
    document: &TrustDocument,
    text: &str,
    known: &TrustStore,
    now: Timestamp,
) -> Result<Vec<AdmissionNote>, TrustError> {
    let verified = Unverified::locate(text, CommentStyle::Hash).and_then(|unverified| {
        unverified.verify(&document.item_name(), known, &Policy::default(), now)
    });
    match verified {
        Ok(verified) => Ok(binding_note(verified.provenance()).into_iter().collect()),
        Err(Error::Unsigned) => Ok(vec![AdmissionNote::Unsigned]),
        Err(Error::UnknownKey { key_id, .. }) => {
            Ok(vec![AdmissionNote::UnknownSigner { signer: key_id }])
        }
        Err(source) => {
            Err(TrustError::Unverified { key_id: document.key().key_id().clone(), source })
        }
    }
}

fn binding_note(provenance: &Provenance) -> Option<AdmissionNote> {
    let Provenance::Signed(signature) = provenance else { return None };
    (signature.binding() == Binding::ContentOnly).then_some(AdmissionNote::ContentOnly)
}

/// What the document itself says against its key.
pub(crate) fn standing(document: &TrustDocument, now: Timestamp) -> Vec<AdmissionNote> {
    let revoked = document.revoked().map(|at| AdmissionNote::Revoked { at });
    let expired =
        document.expires().filter(|at| *at <= now).map(|at| AdmissionNote::Expired { at });
    revoked.into_iter().chain(expired).collect()
}
