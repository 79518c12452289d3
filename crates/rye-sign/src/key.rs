//! Ed25519 public keys and the strict checks on them.

use std::fmt;

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePublicKey as _, EncodePublicKey as _, PublicKeyBytes};

use crate::digest::Digest;
use crate::key_id::KeyId;
use crate::signature_bytes::SignatureBytes;

/// An Ed25519 public key in its canonical encoding and not of small order.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    verifying: VerifyingKey,
    key_id: KeyId,
    fingerprint: KeyId,
}

/// A reason why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The operating system gave no random bytes.
    #[error("the operating system gives no random bytes; no key was made")]
    NoRandomness,
    /// The 32 bytes are not the canonical encoding of a point.
    #[error(
        "the Ed25519 public key is not canonically encoded; ask its owner for a newly generated key"
    )]
    NotCanonical,
    /// The text is not a private key in PKCS#8 PEM.
    #[error(
        "not an Ed25519 private key in PKCS#8 PEM, which begins with `-----BEGIN PRIVATE KEY-----`; make one with `rye keys generate`"
    )]
    NotPrivateKey,
    /// The text is not a public key in SubjectPublicKeyInfo PEM.
    #[error("not an Ed25519 public key in PEM, which begins with `-----BEGIN PUBLIC KEY-----`")]
    NotPublicKey,
    /// The text is a private key where a public key is needed.
    #[error(
        "this is a private key where a public key belongs; give the `public_key.pem` beside it, and share no private key"
    )]
    PrivateKeyGiven,
    /// The key has small order: signatures under it can be forged without a private key.
    #[error(
        "the Ed25519 public key is weak: it would accept forged signatures; ask its owner for a newly generated key"
    )]
    Weak,
}

impl PublicKey {
    /// Reads SubjectPublicKeyInfo PEM, with either line end.
    ///
    /// # Errors
    ///
    /// The text is not such a key or is a private key, or the key is weak or not canonically encoded.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        if pem.contains("PRIVATE KEY-----") {
            return Err(KeyError::PrivateKeyGiven);
        }
        let bytes =
            PublicKeyBytes::from_public_key_pem(pem.trim()).map_err(|_| KeyError::NotPublicKey)?;
        Self::from_bytes(&bytes.to_bytes())
    }

    /// Reads the 32 bytes of RFC 8032, section 5.1.5.
    ///
    /// # Errors
    ///
    /// The bytes are not the canonical encoding of a point, or the point has small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        if !is_canonical(bytes) {
            return Err(KeyError::NotCanonical);
        }
        let verifying = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::NotCanonical)?;
        if verifying.is_weak() { Err(KeyError::Weak) } else { Ok(Self::new(verifying)) }
    }

    pub(crate) fn new(verifying: VerifyingKey) -> Self {
        let key_id = short_id(&pem_of(&verifying));
        let fingerprint = KeyId::of_digits(&Digest::of(verifying.as_bytes()).to_string());
        Self { verifying, key_id, fingerprint }
    }

    /// SubjectPublicKeyInfo PEM with LF line ends, the last one included. [`Self::key_id`] is a digest of this text.
    pub fn to_pem(&self) -> String {
        pem_of(&self.verifying)
    }

    /// The 32 bytes of RFC 8032, section 5.1.5.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.verifying.as_bytes()
    }

    /// The 16-digit id of the key, as in signature lines.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// The 64-digit id of the key: SHA-256 of its 32 bytes. Operators compare it to identify a key.
    pub fn fingerprint(&self) -> &KeyId {
        &self.fingerprint
    }

    /// Returns `true` if the id, in either notation, names this key.
    pub fn is_named(&self, key_id: &KeyId) -> bool {
        *key_id == self.key_id || *key_id == self.fingerprint
    }

    /// Returns `true` if this key signed the message, by the strict rules of SPEC 2.5.
    pub(crate) fn verifies(&self, message: &[u8], signature: &SignatureBytes) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature.as_bytes());
        self.verifying.verify_strict(message, &signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.key_id)
    }
}

/// Returns `true` if the y coordinate is below 2^255 - 19, which the curve's decoder does not check.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    let [first, middle @ .., last] = bytes;
    let is_top = last & 0x7f == 0x7f && middle.iter().all(|byte| *byte == 0xff);
    !is_top || *first < 0xed
}

fn pem_of(verifying: &VerifyingKey) -> String {
    verifying.to_public_key_pem(LineEnding::LF).expect("because 32 bytes always encode")
}

fn short_id(pem: &str) -> KeyId {
    let digits: String = Digest::of(pem.as_bytes()).to_string().chars().take(16).collect();
    KeyId::of_digits(&digits)
}

#[cfg(test)]
mod tests;
