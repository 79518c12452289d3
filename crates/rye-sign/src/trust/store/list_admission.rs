//! The decision on whether a revocation list counts.

use rye_types::Timestamp;

use crate::comment::CommentStyle;
use crate::error::Error;
use crate::key_id::KeyId;
use crate::origin::Origin;
use crate::policy::Policy;
use crate::provenance::Provenance;
use crate::trust::revocation_list::{RevocationError, RevocationList};
use crate::trust::store::admission::binding_note;
use crate::trust::store::{AdmissionNote, TrustStore, TrustedKey};
use crate::unverified::Unverified;

/// The result of accepting a revocation list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListAdmission {
    /// The key that signed the list, if any.
    pub signer: Option<KeyId>,
    /// The signature, or [`Provenance::Unsigned`] for a list that counts without one of a known key.
    pub provenance: Provenance,
    /// Warnings about the list.
    pub notes: Vec<AdmissionNote>,
}

impl ListAdmission {
    fn by_place(signer: Option<KeyId>, note: AdmissionNote) -> Self {
        Self { signer, provenance: Provenance::Unsigned, notes: vec![note] }
    }
}

/// Decides whether a list is accepted. A signature that fails is always refused. A list of a project must be signed by
/// a key of the operator.
pub(crate) fn check_list(
    text: &str,
    store: &TrustStore,
    origin: Origin,
    now: Timestamp,
) -> Result<ListAdmission, RevocationError> {
    let is_of_project = origin == Origin::Project;
    let unverified = |source| RevocationError::Unverified { source };
    let signed = match Unverified::locate(text, CommentStyle::Hash) {
        Ok(signed) => signed,
        Err(Error::Unsigned) if is_of_project => {
            return Err(RevocationError::NotVouched { signer: None });
        }
        Err(Error::Unsigned) => {
            return Ok(ListAdmission::by_place(None, AdmissionNote::Unsigned));
        }
        Err(source) => return Err(unverified(source)),
    };
    let key = store.find(signed.key_id());
    let signer = key.map_or(signed.key_id(), |key| key.key().key_id()).clone();
    let name = RevocationList::item_name();
    match signed.verify(&name, &store_of(key), &Policy::default(), now) {
        Ok(_) if is_of_project && key.is_some_and(|key| key.origin() != Origin::Operator) => {
            Err(RevocationError::NotVouched { signer: Some(signer) })
        }
        Ok(verified) => {
            let ended = key.filter(|key| key.check_standing(now).is_err()).map(|key| {
                AdmissionNote::SignerEnded { signer: signer.clone(), revoked: key.revoked() }
            });
            let provenance = verified.provenance().clone();
            let notes = binding_note(&provenance).into_iter().chain(ended).collect();
            Ok(ListAdmission { signer: Some(signer), provenance, notes })
        }
        Err(Error::UnknownKey { .. }) if is_of_project => {
            Err(RevocationError::NotVouched { signer: Some(signer) })
        }
        Err(Error::UnknownKey { key_id, .. }) => {
            let note = AdmissionNote::UnknownSigner { signer: key_id };
            Ok(ListAdmission::by_place(Some(signer), note))
        }
        Err(source) => Err(unverified(source)),
    }
}

/// Makes a store with the key alone, as if the trust in it had no end. If the end of the signer ended a list, the
/// revocation of one key would give back others.
fn store_of(key: Option<&TrustedKey>) -> TrustStore {
    let mut store = TrustStore::new();
    if let Some(key) = key {
        store.trust_key(key.owner().unwrap_or_default(), key.key().clone());
    }
    store
}
