//! A key that counts, with its limits.

use crate::error::Error;
use crate::key::PublicKey;
use crate::timestamp::Timestamp;
use crate::trust::document::TrustDocument;
use crate::trust::store::Origin;

/// A key that counts, where it comes from and how far it reaches.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    document: TrustDocument,
    origin: Origin,
    /// The patterns of each document for the key and, for a key that another one vouches for, that one's.
    grants: Vec<Vec<String>>,
    /// The limits in time of the key that vouches.
    inherited: Standing,
}

#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    expires: Option<Timestamp>,
    revoked: Option<Timestamp>,
}

impl TrustedKey {
    /// A key that another one vouches for reaches no further than that one does.
    pub(crate) fn new(
        document: TrustDocument,
        origin: Origin,
        voucher: Option<&TrustedKey>,
    ) -> Self {
        let inherited_grants = voucher.into_iter().flat_map(|voucher| voucher.grants.clone());
        let grants = inherited_grants.chain(document.grants.clone()).collect();
        let standing = |voucher: &TrustedKey| Standing {
            expires: voucher.expires(),
            revoked: voucher.revoked(),
        };
        Self { document, origin, grants, inherited: voucher.map(standing).unwrap_or_default() }
    }

    /// Takes over what another document for the same key takes away: patterns, an earlier expiry, a revocation. Were
    /// patterns left to one document, the order of file names would say how far a key reaches.
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

    /// Who is said to hold the key.
    pub fn owner(&self) -> Option<&str> {
        Some(self.document.owner.as_str()).filter(|owner| !owner.is_empty())
    }

    /// Where the document was that decided.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The most that items signed by the key may be granted: every list of patterns must allow. No list is no limit.
    pub fn grants(&self) -> &[Vec<String>] {
        &self.grants
    }

    /// When the trust ends.
    pub fn expires(&self) -> Option<Timestamp> {
        earlier(self.document.expires, self.inherited.expires)
    }

    /// When the key was revoked.
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
