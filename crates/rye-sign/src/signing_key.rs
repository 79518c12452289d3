//! Private keys, which are zeroed when dropped and never displayed.

use std::fmt;

use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, KeypairBytes};
use zeroize::Zeroizing;

use crate::key::{KeyError, PublicKey};
use crate::signature_bytes::SignatureBytes;

/// An Ed25519 private key. Dropping it zeroes its bytes.
pub struct SigningKey {
    secret: ed25519_dalek::SigningKey,
    public: PublicKey,
}

/// The PEM text of a private key. Dropping it zeroes the text, and `Debug` does not show it.
pub struct SecretPem(Zeroizing<String>);

impl SigningKey {
    /// Generates a new key from the random bytes of the operating system.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoRandomness`] if the operating system gives no random bytes.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(|_| KeyError::NoRandomness)?;
        Ok(Self::new(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// Reads PKCS#8 PEM, version 1 or 2, with either line end.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotPrivateKey`] if the text is not such a key, or contains a public key that does not belong to it.
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self, KeyError> {
        let secret = ed25519_dalek::SigningKey::from_pkcs8_pem(pem.trim())
            .map_err(|_| KeyError::NotPrivateKey)?;
        Ok(Self::new(secret))
    }

    pub(crate) fn new(secret: ed25519_dalek::SigningKey) -> Self {
        let public = PublicKey::new(secret.verifying_key());
        Self { secret, public }
    }

    /// PKCS#8 PEM in version 1, which every common tool reads.
    pub fn to_pkcs8_pem(&self) -> SecretPem {
        let pair = KeypairBytes { secret_key: self.secret.to_bytes(), public_key: None };
        SecretPem(pair.to_pkcs8_pem(LineEnding::LF).expect("because 32 bytes always encode"))
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        self.public.clone()
    }

    pub(crate) fn sign(&self, message: &[u8]) -> SignatureBytes {
        SignatureBytes::from_bytes(self.secret.sign(message).to_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SecretPem {
    /// The text, for writing to the key file. The caller must zero its own copies.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretPem").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::SigningKey;
    use crate::key::KeyError;

    /// The secret of RFC 8032, section 7.1, test 1, in the version 1 form that `openssl genpkey` writes.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

    #[test]
    fn reads_and_writes_version_1() {
        let key = SigningKey::from_pkcs8_pem(PEM).expect("a good key");
        assert_eq!(key.to_pkcs8_pem().as_str(), PEM);
        let crlf = SigningKey::from_pkcs8_pem(&PEM.replace('\n', "\r\n")).expect("a good key");
        assert_eq!(crlf.public(), key.public());
    }

    #[test]
    fn a_generated_key_survives_the_round_trip() {
        let key = SigningKey::generate().expect("random bytes");
        let read = SigningKey::from_pkcs8_pem(key.to_pkcs8_pem().as_str()).expect("a good key");
        assert_eq!(read.public(), key.public());
        assert_ne!(SigningKey::generate().expect("random bytes").public(), key.public());
    }

    #[test]
    fn says_what_is_wrong_with_a_pem() {
        for pem in ["", "secret", &PEM.replace("MC4C", "MC4D"), &PEM.replace("PRIVATE", "PUBLIC")] {
            assert_eq!(
                SigningKey::from_pkcs8_pem(pem).map(|key| key.public()),
                Err(KeyError::NotPrivateKey)
            );
        }
        assert_eq!(
            KeyError::NotPrivateKey.to_string(),
            "not an Ed25519 private key in PKCS#8 PEM, which begins with `-----BEGIN PRIVATE KEY-----`; make one with `rye keys generate`"
        );
    }

    #[test]
    fn debug_shows_no_secret() {
        let key = SigningKey::from_pkcs8_pem(PEM).expect("a good key");
        let public = key.public();
        assert_eq!(format!("{key:?}"), format!("SigningKey {{ public: {public:?}, .. }}"));
        assert_eq!(format!("{:?}", key.to_pkcs8_pem()), "SecretPem { .. }");
    }
}
