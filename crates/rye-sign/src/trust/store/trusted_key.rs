//! A trusted key with its limits.

use crate::error::Error;
use crate::key::PublicKey;
use crate::timestamp::Timestamp;
use crate::trust::document::TrustDocument;

/// The source of a trust document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// User or system space: the operator put the document there.
    Operator,
    /// Project space: the authors of the project put the document there.
    Project,
    /// `--trust FILE`: the operator named the document for this run.
    Run,
}

/// A trusted key with its origin and its limits.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    document: TrustDocument,
    origin: Origin,
    /// The patterns of each document for the key. If a trusted key signed the document, also the patterns of that key.
    grants: Vec<Vec<String>>,
    /// The limits in time of the key that signed the document.
    inherited: Standing,
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
        Self { document, origin, grants, inherited: signer.map(standing).unwrap_or_default() }
    }

    /// Adds the limits of another document for the same key: its patterns, an earlier expiry, a revocation. Without
    /// this, the order of file names would decide how much the key may grant.
    pub(crate) fn tighten(&mut self, other: &Self) {
        let new = other.document.grants.clone().filter(|patterns| !self.grants.contains(patterns));
        self.grants.extend(new);
        self.document.expires = earlier(self.document.expires, other.document.expires);
        self.document.revoked = earlier(self.document.revoked, other.document.revoked);
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

    /// The time at which the key was revoked.
    pub fn revoked(&self) -> Option<Timestamp> {
        earlier(self.document.revoked, self.inherited.revoked)
    }

    pub(crate) fn check_standing(&self, now: Timestamp) -> Result<(), Error> {
        let key_id = self.key().key_id().clone();
        match (self.revoked(), self.expires()) {
            (Some(at), _) => Err(Error::Revoked { key_id, at }),
            (None, Some(at)) if at <= now => Err(Error::Expired { key_id, at }),
            _ => Ok(()),
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}
