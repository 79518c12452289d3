//! A trusted key with its limits.

use rye_types::Timestamp;

use crate::error::Error;
use crate::key::PublicKey;
use crate::origin::Origin;
use crate::revocation::Revocation;
use crate::trust::document::TrustDocument;

/// A trusted key with its origin and its limits.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    document: TrustDocument,
    origin: Origin,
    /// The patterns of each document for the key. If a trusted key signed the document, also the patterns of that key.
    grants: Vec<Vec<String>>,
    /// The limits in time of the key that signed the document.
    inherited: Standing,
    /// The entries of revocation lists for the key.
    listed: Vec<Revocation>,
    /// The key without the project's documents for it, if the operator has documents for it, too.
    outside_project: Option<Box<TrustedKey>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    expires: Option<Timestamp>,
    revoked: Option<Timestamp>,
}

impl TrustedKey {
    /// Makes a trusted key. If `signer`, a trusted key, signed the document, its limits apply to the new key as well.
    pub(crate) fn new(
        document: TrustDocument,
        origin: Origin,
        signer: Option<&TrustedKey>,
    ) -> Self {
        let inherited_grants = signer.into_iter().flat_map(|signer| signer.grants.clone());
        let grants = inherited_grants.chain(document.grants.clone()).collect();
        let standing =
            |signer: &TrustedKey| Standing { expires: signer.expires(), revoked: signer.revoked() };
        let inherited = signer.map(standing).unwrap_or_default();
        Self { document, origin, grants, inherited, listed: Vec::new(), outside_project: None }
    }

    /// Revokes the key by the entry of a list.
    pub(crate) fn list(&mut self, revocation: Revocation) {
        self.listed.push(revocation);
    }

    /// Replaces the entries of revocation lists for the key.
    pub(crate) fn set_lists(&mut self, listed: Vec<Revocation>) {
        self.listed = listed;
    }

    /// Merges a later document for the same key: the limits of both apply. A document of the operator decides on the owner.
    pub(crate) fn merge(self, new: Self) -> Self {
        let is_of_project = |key: &Self| key.origin == Origin::Project;
        match (is_of_project(&self), is_of_project(&new)) {
            (true, false) => {
                Self { outside_project: Some(Box::new(new.clone())), ..new.with_limits_of(&self) }
            }
            (false, true) => {
                let outside =
                    self.outside_project.clone().unwrap_or_else(|| Box::new(self.clone()));
                Self { outside_project: Some(outside), ..self.with_limits_of(&new) }
            }
            (true, true) => self.with_limits_of(&new),
            (false, false) => {
                let outside = self.outside_project.as_deref();
                let outside = outside.map(|outside| Box::new(outside.clone().with_limits_of(&new)));
                Self { outside_project: outside, ..self.with_limits_of(&new) }
            }
        }
    }

    /// Returns `true` if a document of the project limits a key of the operator.
    pub(crate) fn is_limited_by_project(&self) -> bool {
        self.outside_project.is_some()
    }

    /// Returns the key without the limits of the project's documents, if the operator has documents for it.
    pub(crate) fn without_project(mut self) -> Self {
        self.outside_project.take().map_or(self, |outside| *outside)
    }

    /// Adds the limits of another document for the same key: its patterns, an earlier expiry, a revocation. Without
    /// this, the order of file names would decide how much the key may grant.
    fn with_limits_of(mut self, other: &Self) -> Self {
        let new = other.document.grants.clone().filter(|patterns| !self.grants.contains(patterns));
        self.grants.extend(new);
        self.document.expires = earlier(self.document.expires, other.document.expires);
        self.document.revoked = earlier(self.document.revoked, other.document.revoked);
        let listed = other.listed.iter().filter(|entry| !self.listed.contains(entry));
        let listed: Vec<Revocation> = listed.cloned().collect();
        self.listed.extend(listed);
        self
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.document.key
    }

    /// The owner that the trust document states, if any.
    pub fn owner(&self) -> Option<&str> {
        Some(self.document.owner.as_str()).filter(|owner| !owner.is_empty())
    }

    /// The origin of the trust document that states the owner.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The patterns that limit the grants of items that the key signed. A capability is within the limit if every list
    /// allows it; without a list there is no limit.
    pub fn grants(&self) -> &[Vec<String>] {
        &self.grants
    }

    /// The time at which the trust ends.
    pub fn expires(&self) -> Option<Timestamp> {
        earlier(self.document.expires, self.inherited.expires)
    }

    /// The time at which the key was revoked, by a document or by a list.
    pub fn revoked(&self) -> Option<Timestamp> {
        self.revocation().map(|revocation| revocation.at)
    }

    /// The earliest revocation of the key.
    pub fn revocation(&self) -> Option<Revocation> {
        let stated = earlier(self.document.revoked, self.inherited.revoked);
        let stated = stated.map(|at| Revocation { at, by: None });
        stated.into_iter().chain(self.listed.iter().cloned()).min_by_key(|it| it.at)
    }

    /// The entries of revocation lists for the key.
    pub(crate) fn list_entries(&self) -> &[Revocation] {
        &self.listed
    }

    pub(crate) fn check_standing(&self, now: Timestamp) -> Result<(), Error> {
        let key_id = self.key().key_id().clone();
        match (self.revocation(), self.expires()) {
            (Some(revocation), _) => Err(Error::Revoked { key_id, revocation }),
            (None, Some(at)) if at <= now => Err(Error::Expired { key_id, at }),
            _ => Ok(()),
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}
