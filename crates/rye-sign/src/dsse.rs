//! Signed envelopes for documents that other programs verify: DSSE, version 1.
//!
//! An envelope holds a payload, the media type of the payload, and a signature over both. One spelling of an envelope
//! is read: the one that [`Envelope::to_text`] writes. So every changed byte of it is an error.
//!
//! ```
//! use rye_sign::SigningKey;
//! use rye_sign::dsse::Envelope;
//!
//! let key = SigningKey::generate()?;
//! let text = Envelope::sign("application/json", b"{}", &key).to_text();
//! let envelope = Envelope::parse(&text)?;
//! assert_eq!(envelope.verify("application/json", &[key.public()])?, b"{}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::signature_bytes::SignatureBytes;
use crate::signing_key::SigningKey;

/// A payload with the signature of one key. The payload can only be had from [`Envelope::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    payload_type: String,
    payload: Vec<u8>,
    key_id: KeyId,
    signature: SignatureBytes,
}

/// A reason why an envelope was not parsed or not verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The key did not sign this payload with this type.
    #[error(
        "bad signature: the key `{key_id}` did not sign this payload; get the file again from where it was made"
    )]
    BadSignature {
        /// The key that the envelope names.
        key_id: KeyId,
    },
    /// The text is not an envelope.
    #[error("not a signed envelope: {problem}; get the file again from where it was made")]
    Malformed {
        /// The fault of the text.
        problem: String,
    },
    /// The text is an envelope in another spelling than the one that is written.
    #[error(
        "the envelope is not spelled as it was written: white space, order or padding differ; get the file again from where it was made"
    )]
    OtherSpelling,
    /// The payload is of another type.
    #[error("the envelope holds `{payload_type}`, and not `{expected}`; give a file of that type")]
    OtherType {
        /// The type that the envelope states.
        payload_type: String,
        /// The type that is needed.
        expected: String,
    },
    /// None of the given keys has the id in the envelope.
    #[error("signed by the unknown key `{key_id}`; trust its document with `--trust FILE`")]
    UnknownKey {
        /// The key that the envelope names.
        key_id: KeyId,
    },
}

impl Envelope {
    /// Signs a payload together with its media type.
    pub fn sign(payload_type: &str, payload: &[u8], key: &SigningKey) -> Self {
        let signature = key.sign(&message(payload_type, payload));
        let key_id = key.public().key_id().clone();
        Self {
            payload_type: payload_type.to_owned(),
            payload: payload.to_owned(),
            key_id,
            signature,
        }
    }

    /// Parses the output of [`to_text`](Self::to_text) without verifying it.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError::Malformed`] if the text is no envelope with one signature. [`EnvelopeError::OtherSpelling`] if it is
    /// one that is written in another way.
    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        let malformed = |problem: &str| EnvelopeError::Malformed { problem: problem.to_owned() };
        let wire: EnvelopeWire =
            serde_json::from_str(text).map_err(|error| malformed(&error.to_string()))?;
        let [signature] = wire.signatures.as_slice() else {
            return Err(malformed("it does not have exactly one signature"));
        };
        let envelope = Self {
            payload_type: wire.payload_type,
            payload: STANDARD
                .decode(&wire.payload)
                .map_err(|_| malformed("its payload is not base64"))?,
            key_id: signature.keyid.parse().map_err(|_| malformed("its `keyid` is no key id"))?,
            signature: SignatureBytes::decode(&signature.sig)
                .ok_or_else(|| malformed("its `sig` is not 64 bytes of base64"))?,
        };
        if envelope.to_text() == text { Ok(envelope) } else { Err(EnvelopeError::OtherSpelling) }
    }

    /// Returns the envelope as one line of JSON with a line feed.
    pub fn to_text(&self) -> String {
        let wire = EnvelopeWire {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.payload_type.clone(),
            signatures: vec![SignatureWire {
                keyid: self.key_id.to_string(),
                sig: STANDARD.encode(self.signature.as_bytes()),
            }],
        };
        let json = serde_json::to_string(&wire).expect("because it holds texts alone");
        format!("{json}\n")
    }

    /// The id of the key that the envelope names.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// Verifies that one of the keys signed the payload with this type, and returns the payload.
    ///
    /// # Errors
    ///
    /// The payload has another type, none of `keys` has the stated id, or the signature is bad.
    pub fn verify(&self, payload_type: &str, keys: &[PublicKey]) -> Result<&[u8], EnvelopeError> {
        if self.payload_type != payload_type {
            return Err(EnvelopeError::OtherType {
                payload_type: self.payload_type.clone(),
                expected: payload_type.to_owned(),
            });
        }
        let key_id = self.key_id.clone();
        let Some(key) = keys.iter().find(|key| key.is_named(&key_id)) else {
            return Err(EnvelopeError::UnknownKey { key_id });
        };
        if key.verifies(&message(&self.payload_type, &self.payload), &self.signature) {
            Ok(&self.payload)
        } else {
            Err(EnvelopeError::BadSignature { key_id })
        }
    }
}

/// The bytes that are signed: the pre-authentication encoding of DSSE.
fn message(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct EnvelopeWire {
    payload: String,
    payload_type: String,
    signatures: Vec<SignatureWire>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureWire {
    keyid: String,
    sig: String,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The secret of RFC 8032, section 7.1, test 1.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    const TYPE: &str = "application/vnd.in-toto+json";

    fn key() -> SigningKey {
        SigningKey::from_pkcs8_pem(PEM).expect("a good key")
    }

    fn payload(text: &str) -> Result<Vec<u8>, EnvelopeError> {
        let envelope = Envelope::parse(text)?;
        envelope.verify(TYPE, &[key().public()]).map(<[u8]>::to_vec)
    }

    /// The example of the DSSE specification, section "Protocol".
    #[test]
    fn the_signed_bytes_are_those_of_the_specification() {
        let message = message("http://example.com/HelloWorld", b"hello world");
        assert_eq!(message, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn each_changed_byte_of_an_envelope_is_refused() {
        let text = Envelope::sign(TYPE, br#"{"a":1}"#, &key()).to_text();
        assert_eq!(payload(&text), Ok(br#"{"a":1}"#.to_vec()));
        for place in 0..text.len() {
            for byte in [b' ', b'\n', b'A', b'"', b'=', b'0', b'_', b'}'] {
                let mut changed = text.clone().into_bytes();
                if std::mem::replace(&mut changed[place], byte) != byte {
                    let changed = String::from_utf8(changed).expect("ASCII");
                    assert!(payload(&changed).is_err(), "byte {place} as {:?}", char::from(byte));
                }
            }
            let shorter = [&text[..place], &text[place + 1..]].concat();
            assert!(payload(&shorter).is_err(), "without byte {place}");
        }
    }

    #[test]
    fn each_fault_has_its_own_message() {
        let text = Envelope::sign(TYPE, b"{}", &key()).to_text();
        let other = SigningKey::generate().expect("random bytes");
        let two = text.replace("]}", r#",{"keyid":"7f2d9ed0b71b8e5a","sig":""}]}"#);
        for (text, message) in [
            (
                String::new(),
                "not a signed envelope: EOF while parsing a value at line 1 column 0; get the file again from where it was made",
            ),
            (
                text.replace("\"e30=\"", "\"!\""),
                "not a signed envelope: its payload is not base64; get the file again from where it was made",
            ),
            (
                text.replace(TYPE, "text/plain"),
                "the envelope holds `text/plain`, and not `application/vnd.in-toto+json`; give a file of that type",
            ),
            (
                text.replace("e30=", "e30K"),
                "bad signature: the key `7f2d9ed0b71b8e5a` did not sign this payload; get the file again from where it was made",
            ),
            (
                two,
                "not a signed envelope: it does not have exactly one signature; get the file again from where it was made",
            ),
            (
                text.replace(',', ", "),
                "the envelope is not spelled as it was written: white space, order or padding differ; get the file again from where it was made",
            ),
        ] {
            assert_eq!(payload(&text).expect_err("it was changed").to_string(), message);
        }
        let unknown = Envelope::sign(TYPE, b"{}", &other);
        assert_eq!(
            unknown.verify(TYPE, &[key().public()]),
            Err(EnvelopeError::UnknownKey { key_id: other.public().key_id().clone() })
        );
    }

    proptest! {
        #[test]
        fn every_payload_survives_the_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(payload(&Envelope::sign(TYPE, &bytes, &key()).to_text()), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,80}") {
            drop(Envelope::parse(&text));
        }
    }
}
