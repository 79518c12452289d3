//! The content of a trust document.

use toml::Value;

use crate::item_name::ItemName;
use crate::key::PublicKey;
use crate::timestamp::Timestamp;
use crate::trust::error::TrustError;
use crate::trust::parse::parse;

/// What a TOML file at `.ai/config/keys/trusted/<key id>.toml` states of a key (SPEC 2.7); nothing is verified.
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
    /// States that the key belongs to the owner, without a limit on what it may grant.
    pub fn new(owner: &str, key: PublicKey) -> Self {
        let (owner, attestation) = (owner.to_owned(), String::new());
        Self { key, owner, attestation, grants: None, expires: None, revoked: None }
    }

    /// Reads the TOML text, signature line included; of at most 64 KiB.
    ///
    /// # Errors
    ///
    /// The text is no TOML, or fields are missing, unknown or wrong, all of which are reported; or the fingerprint is
    /// not the one of the key.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        parse(text)
    }

    /// Adds free text for people.
    pub fn with_attestation(self, attestation: &str) -> Self {
        Self { attestation: attestation.to_owned(), ..self }
    }

    /// Limits what items signed by the key may be granted to capability patterns; an empty list allows nothing.
    pub fn with_grants(self, grants: impl IntoIterator<Item = String>) -> Self {
        Self { grants: Some(grants.into_iter().collect()), ..self }
    }

    /// Ends the trust at a time.
    pub fn with_expires(self, at: Timestamp) -> Self {
        Self { expires: Some(at), ..self }
    }

    /// Revokes the key: nothing that it signed counts, whatever time the signature states.
    pub fn with_revoked(self, at: Timestamp) -> Self {
        Self { revoked: Some(at), ..self }
    }

    /// Writes the TOML text, unsigned, in the order of the fields in SPEC 2.7.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "version = \"1.0.0\"\ncategory = \"keys/trusted\"\nfingerprint = \"{}\"\nowner = {}\nattestation = {}\n",
            self.key.key_id(),
            quoted(&self.owner),
            quoted(&self.attestation),
        );
        if let Some(grants) = &self.grants {
            let grants: Vec<String> = grants.iter().map(|grant| quoted(grant)).collect();
            text += &format!("grants = [{}]\n", grants.join(", "));
        }
        for (field, time) in [("expires", self.expires), ("revoked", self.revoked)] {
            text += &time.map(|time| format!("{field} = {time}\n")).unwrap_or_default();
        }
        text + &format!("\n[public_key]\npem = \"\"\"\n{}\"\"\"\n", self.key.to_pem())
    }

    /// The name under which the document is signed: kind `trust`, id the 16-digit key id.
    pub fn item_name(&self) -> ItemName {
        ItemName::new("trust", self.key.key_id().as_str())
            .expect("because a key id is one line of hex digits")
    }

    /// The key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// Who is said to hold the key.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Free text for people; often empty.
    pub fn attestation(&self) -> &str {
        &self.attestation
    }

    /// The capability patterns that items signed by the key may be granted at most; none is no limit.
    pub fn grants(&self) -> Option<&[String]> {
        self.grants.as_deref()
    }

    /// When the trust ends.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    /// When the key was revoked.
    pub fn revoked(&self) -> Option<Timestamp> {
        self.revoked
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
