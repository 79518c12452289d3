//! The trusted keys.

mod admission;
mod list_admission;
mod trusted_key;

use std::collections::BTreeMap;

pub use admission::{Admission, AdmissionNote};
pub use list_admission::ListAdmission;
pub use trusted_key::TrustedKey;

use rye_types::Timestamp;

use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::origin::Origin;
use crate::revocation::{Revocation, RevokingList};
use crate::trust::document::TrustDocument;
use crate::trust::error::TrustError;
use crate::trust::revocation_list::{RevocationError, RevocationList};

/// The trusted keys. An empty store trusts no key.
#[derive(Debug, Clone, Default)]
pub struct TrustStore {
    /// The keys by their fingerprint, because the short ids of two keys could collide.
    keys: BTreeMap<KeyId, TrustedKey>,
    /// The entries of all revocation lists. They hold for keys that are added later, too.
    listed: Vec<(KeyId, Revocation)>,
    /// The keys of the project's documents that do not count because nobody vouches for them.
    carried: Vec<PublicKey>,
}

impl TrustStore {
    /// Makes a store without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts a trust document and adds its key to the store. Admit the operator's documents before those of a
    /// project, which are accepted only if a trusted key of the operator signed them (SPEC 2.8).
    ///
    /// If two documents have the same key, the first decides on the owner, except that a document of the operator takes
    /// precedence over one of a project. The limits of both apply: every list of grants, the earlier expiry and a
    /// revocation. A key from a project also has the limits of the key that signed its document.
    ///
    /// # Errors
    ///
    /// The document cannot be parsed. The file name (`file_stem`, if the document has one), the fingerprint and the key
    /// disagree. The document is signed and the signature fails. Or the document comes from a project and no trusted
    /// key of the operator signed it.
    pub fn admit(
        &mut self,
        text: &str,
        file_stem: Option<&str>,
        origin: Origin,
        now: Timestamp,
    ) -> Result<Admission, TrustError> {
        let document = TrustDocument::parse(text)?;
        check_file_name(&document, file_stem)?;
        let check = match admission::check_signer(&document, text, self, origin, now) {
            Ok(check) => check,
            Err(error) => {
                if matches!(error, TrustError::SelfVouched { .. }) {
                    self.carried.push(document.key().clone());
                }
                return Err(error);
            }
        };
        let key_id = document.key().key_id().clone();
        let owner = document.owner().to_owned();
        let mut notes = check.notes;
        notes.extend(admission::standing_notes(&document, now));
        if self.insert(TrustedKey::new(document, origin, check.limiting_key)) {
            notes.push(AdmissionNote::AlreadyTrusted { key_id: key_id.clone() });
        }
        Ok(Admission { key_id, owner, notes })
    }

    /// Accepts a revocation list and revokes its keys, those included whose documents are admitted later. `file` names
    /// the list in the messages about its keys.
    ///
    /// Admit a list after the operator's documents and before those of the project. A list of a project revokes keys
    /// for the project's items alone, see [`outside_project`](Self::outside_project), and it counts only if a key of
    /// the operator signed it. A revocation grants nothing, so the `grants` of that key do not bound it, and neither
    /// does the end of that key: otherwise, revoking one key would give back another.
    ///
    /// # Errors
    ///
    /// The list cannot be parsed, or it is signed and the signature fails. Or the list comes from a project and no
    /// trusted key of the operator signed it.
    pub fn admit_list(
        &mut self,
        text: &str,
        file: &str,
        origin: Origin,
        now: Timestamp,
    ) -> Result<ListAdmission, RevocationError> {
        let list = RevocationList::parse(text)?;
        let admission = list_admission::check_list(text, self, origin, now)?;
        for entry in list.entries() {
            let by = RevokingList {
                file: file.to_owned(),
                signer: admission.signer.clone(),
                reason: entry.reason.clone(),
                origin,
            };
            let revocation = Revocation { at: entry.at, by: Some(Box::new(by)) };
            let of_entry = |key: &&mut TrustedKey| key.key().is_named(&entry.key_id);
            for key in self.keys.values_mut().filter(of_entry) {
                key.list(revocation.clone());
            }
            self.listed.push((entry.key_id.clone(), revocation));
        }
        Ok(admission)
    }

    /// Returns the keys as they count outside of the project: without what the project's own list revokes, and without
    /// the limits that its documents set to a key of the operator. `None` if there is no difference.
    ///
    /// A project decides about its own files and not about those of the operator. A key that only the project's
    /// documents make count stays revoked, because the project takes back what it gave.
    #[must_use]
    pub fn outside_project(&self) -> Option<Self> {
        let is_elsewhere = |revocation: &Revocation| !revocation.is_of_project();
        let has_limits = self.keys.values().any(TrustedKey::is_limited_by_project);
        if !has_limits && self.listed.iter().all(|(_, revocation)| is_elsewhere(revocation)) {
            return None;
        }
        let mut outside = self.clone();
        outside.listed.retain(|(_, revocation)| is_elsewhere(revocation));
        let keys = std::mem::take(&mut outside.keys).into_iter();
        outside.keys = keys.map(|(id, key)| (id, key.without_project())).collect();
        for key in outside.keys.values_mut().filter(|key| key.origin() != Origin::Project) {
            // Whatever was admitted first, the lists that are left hold for the key.
            let lists = outside.listed.iter().filter(|(key_id, _)| key.key().is_named(key_id));
            let lists = lists.map(|(_, revocation)| revocation.clone()).collect();
            key.set_lists(lists);
        }
        Some(outside)
    }

    /// Trusts the operator's own key, which needs no document.
    pub fn trust_key(&mut self, owner: &str, key: PublicKey) {
        self.insert(TrustedKey::new(TrustDocument::new(owner, key), Origin::Operator, None));
    }

    /// Finds the key with this id, in either notation. Revoked and expired keys are found, too.
    pub fn find(&self, key_id: &KeyId) -> Option<&TrustedKey> {
        self.keys
            .get(key_id)
            .or_else(|| self.keys.values().find(|trusted| trusted.key().is_named(key_id)))
    }

    /// Returns `true` if a document of the project has the key, and does not count because nobody vouches for it.
    #[must_use]
    pub fn is_carried(&self, key_id: &KeyId) -> bool {
        self.carried.iter().any(|key| key.is_named(key_id))
    }

    /// The 16-digit ids of all keys, sorted.
    pub fn key_ids(&self) -> Vec<KeyId> {
        let mut key_ids: Vec<KeyId> =
            self.keys.values().map(|trusted| trusted.key().key_id().clone()).collect();
        key_ids.sort_unstable();
        key_ids
    }

    /// All keys, sorted by fingerprint.
    pub fn keys(&self) -> impl Iterator<Item = &TrustedKey> {
        self.keys.values()
    }

    /// Adds a key, or merges it with its earlier document. Returns `true` if the store had the key before.
    fn insert(&mut self, mut new: TrustedKey) -> bool {
        let listed = self.listed.iter().filter(|(key_id, _)| new.key().is_named(key_id));
        let listed: Vec<Revocation> = listed.map(|(_, revocation)| revocation.clone()).collect();
        let fingerprint = new.key().fingerprint().clone();
        let Some(old) = self.keys.remove(&fingerprint) else {
            // The key of an earlier document has them already.
            listed.into_iter().for_each(|revocation| new.list(revocation));
            self.keys.insert(fingerprint, new);
            return false;
        };
        self.keys.insert(fingerprint, old.merge(new));
        true
    }
}

fn check_file_name(document: &TrustDocument, file_stem: Option<&str>) -> Result<(), TrustError> {
    let key = document.key();
    match file_stem {
        Some(stem) if !stem.parse().is_ok_and(|stated| key.is_named(&stated)) => {
            Err(TrustError::Disagree {
                part: "file name",
                stated: stem.to_owned(),
                key_id: key.key_id().clone(),
            })
        }
        _ => Ok(()),
    }
}
