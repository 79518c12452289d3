//! The content of a trust document.

use toml::Value;

use rye_types::Timestamp;

use crate::item_name::ItemName;
use crate::key::PublicKey;

/// The statements of a trust document `.ai/config/keys/trusted/<key id>.toml` about a key (SPEC 2.7). They are not
/// verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustDocument {
    pub(crate) key: PublicKey,
    pub(crate) owner: String,
    pub(crate) attestation: String,
    pub(crate) grants: Option<Vec<String>>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) revoked: Option<Timestamp>,
}

impl TrustDocument {
    /// Makes a document that assigns the key to the owner, without a limit on grants.
    pub fn new(owner: &str, key: PublicKey) -> Self {
        let owner = owner.to_owned();
        let attestation = String::new();
        Self { key, owner, attestation, grants: None, expires: None, revoked: None }
    }

    /// Adds free text for people.
    pub fn with_attestation(self, attestation: &str) -> Self {
        Self { attestation: attestation.to_owned(), ..self }
    }

    /// Limits the grants of items that the key signed to capability patterns. An empty list allows nothing.
    pub fn with_grants(self, grants: impl IntoIterator<Item = String>) -> Self {
        Self { grants: Some(grants.into_iter().collect()), ..self }
    }

    /// Sets the time at which the trust ends.
    pub fn with_expires(self, at: Timestamp) -> Self {
        Self { expires: Some(at), ..self }
    }

    /// Revokes the key: no signature of the key is accepted, whatever time it states.
    pub fn with_revoked(self, at: Timestamp) -> Self {
        Self { revoked: Some(at), ..self }
    }

    /// Writes the TOML text, unsigned, with the fields in the order of SPEC 2.7.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "version = \"1.0.0\"\ncategory = \"keys/trusted\"\nfingerprint = \"{}\"\nowner = {}\nattestation = {}\n",
            self.key.key_id(),
            quote(&self.owner),
            quote(&self.attestation),
        );
        if let Some(grants) = &self.grants {
            let grants: Vec<String> = grants.iter().map(|grant| quote(grant)).collect();
            text += &format!("grants = [{}]\n", grants.join(", "));
        }
        for (field, time) in [("expires", self.expires), ("revoked", self.revoked)] {
            text += &time.map(|time| format!("{field} = {time}\n")).unwrap_or_default();
        }
        text + &format!("\n[public_key]\npem = \"\"\"\n{}\"\"\"\n", self.key.to_pem())
    }

    /// The name under which the document is signed: kind `trust`, and the 16-digit key id as its id.
    pub fn item_name(&self) -> ItemName {
        ItemName::new("trust", self.key.key_id().as_str())
            .expect("because a key id is one line of hex digits")
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Returns `true` if both documents give the same key to the same owner, with the same limits.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let limits =
            |document: &Self| (document.grants.clone(), document.expires, document.revoked);
        self.key == other.key && self.owner == other.owner && limits(self) == limits(other)
    }

    /// The stated owner of the key.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The free text for people; often empty.
    pub fn attestation(&self) -> &str {
        &self.attestation
    }

    /// The capability patterns that limit the grants of items that the key signed. `None` is no limit.
    pub fn grants(&self) -> Option<&[String]> {
        self.grants.as_deref()
    }

    /// The time at which the trust ends.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    /// The time at which the key was revoked.
    pub fn revoked(&self) -> Option<Timestamp> {
        self.revoked
    }
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}
