//! The decision on whether a trust document is accepted.

use rye_types::Timestamp;

use crate::comment::CommentStyle;
use crate::error::Error;
use crate::key_id::KeyId;
use crate::origin::Origin;
use crate::policy::Policy;
use crate::provenance::{Binding, Provenance};
use crate::trust::document::TrustDocument;
use crate::trust::error::TrustError;
use crate::trust::store::{TrustStore, TrustedKey};
use crate::unverified::Unverified;

/// The result of accepting a trust document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admission {
    /// The 16-digit id of the key.
    pub key_id: KeyId,
    /// The owner that the document states.
    pub owner: String,
    /// Warnings about the document.
    pub notes: Vec<AdmissionNote>,
}

/// A warning about a trust document, or a revocation list, that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionNote {
    /// An earlier document for this key decides on the owner. The limits of both apply.
    #[error(
        "another trust document for this key was read before: its owner stands, and the limits of both; `rye trust show {key_id}` shows them"
    )]
    AlreadyTrusted {
        /// The 16-digit id of the key.
        key_id: KeyId,
    },
    /// The document has a signature of the old form.
    #[error("its signature does not bind kind and id; sign it again with `rye sign`")]
    ContentOnly,
    /// The trust has ended, so signatures of the key are refused.
    #[error("the trust in the key expired at {at}")]
    Expired {
        /// The time at which it ended.
        at: Timestamp,
    },
    /// The key is revoked, so its signatures are refused.
    #[error("the key was revoked at {at}")]
    Revoked {
        /// The time of the revocation.
        at: Timestamp,
    },
    /// The trust in the key that signed a revocation list has ended.
    #[error(
        "it is signed by the key `{signer}`, which {}; it counts all the same, because the end of one key gives no trust back to another; sign it again with `rye sign` and its path",
        ended_text(.revoked)
    )]
    SignerEnded {
        /// The key that signed the list.
        signer: KeyId,
        /// The time at which it was revoked; `None` for an expired key.
        revoked: Option<Timestamp>,
    },
    /// The document is signed by an unknown key.
    #[error("it is signed by the unknown key `{signer}`; it counts because you put it here")]
    UnknownSigner {
        /// The key that signed the document.
        signer: KeyId,
    },
    /// The document is not signed.
    #[error("it is unsigned; it counts because you put it here")]
    Unsigned,
}

fn ended_text(revoked: &Option<Timestamp>) -> String {
    revoked.map_or_else(|| "has expired".to_owned(), |at| format!("was revoked at {at}"))
}

impl AdmissionNote {
    /// Returns `true` if the operator should be warned of the note at each run.
    ///
    /// The others tell how the documents stand: a list of them shows these, and what follows from them is an error of its own.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        match self {
            Self::ContentOnly
            | Self::SignerEnded { .. }
            | Self::UnknownSigner { .. }
            | Self::Unsigned => true,
            Self::AlreadyTrusted { .. } | Self::Expired { .. } | Self::Revoked { .. } => false,
        }
    }
}

/// The result of the check on the signer of a document.
pub(crate) struct SignerCheck<'s> {
    /// The trusted key that signed a project's document. Its limits apply to the new key.
    pub(crate) limiting_key: Option<&'s TrustedKey>,
    pub(crate) notes: Vec<AdmissionNote>,
}

/// Decides whether a document is accepted. A signature that fails is always refused. A document of a project must be
/// signed by a trusted key of the operator.
pub(crate) fn check_signer<'s>(
    document: &TrustDocument,
    text: &str,
    store: &'s TrustStore,
    origin: Origin,
    now: Timestamp,
) -> Result<SignerCheck<'s>, TrustError> {
    let key_id = document.key().key_id();
    let self_vouched = |signer| TrustError::SelfVouched { key_id: key_id.clone(), signer };
    let signer = match Unverified::locate(text, CommentStyle::Hash) {
        Ok(unverified) => Some(unverified.key_id().clone()),
        Err(Error::Unsigned) => None,
        Err(source) => return Err(TrustError::Unverified { key_id: key_id.clone(), source }),
    };
    let signing_key = signer.as_ref().and_then(|signer| store.find(signer));
    let is_own_key = signer.as_ref().is_some_and(|signer| document.key().is_named(signer));
    let notes = if is_own_key && origin != Origin::Project {
        verified_notes(document, text, &own_store(document), now)?
    } else {
        verified_notes(document, text, store, now)?
    };
    if origin == Origin::Project && signing_key.is_none_or(|key| key.origin() != Origin::Operator) {
        let signer = signer.map(|signer| if is_own_key { key_id.clone() } else { signer });
        return Err(self_vouched(signer));
    }
    let limiting_key = if origin == Origin::Project { signing_key } else { None };
    Ok(SignerCheck { limiting_key, notes })
}

/// Makes a store with only the key of the document. A signature by that key shows that its owner wrote the document,
/// which is enough for a document that the operator put in place.
fn own_store(document: &TrustDocument) -> TrustStore {
    let mut own = TrustStore::new();
    own.trust_key(document.owner(), document.key().clone());
    own
}

/// Verifies the signature if its key is known. An absent signature or an unknown key is a warning.
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

pub(crate) fn binding_note(provenance: &Provenance) -> Option<AdmissionNote> {
    let Provenance::Signed(signature) = provenance else { return None };
    (signature.binding() == Binding::ContentOnly).then_some(AdmissionNote::ContentOnly)
}

/// Warns if the document itself revokes its key or has expired.
pub(crate) fn standing_notes(document: &TrustDocument, now: Timestamp) -> Vec<AdmissionNote> {
    let revoked = document.revoked().map(|at| AdmissionNote::Revoked { at });
    let expired =
        document.expires().filter(|at| *at <= now).map(|at| AdmissionNote::Expired { at });
    revoked.into_iter().chain(expired).collect()
}
