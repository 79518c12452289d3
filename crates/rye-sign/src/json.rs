//! Signatures inside JSON objects.

use rye_types::Timestamp;
use serde_json::Value;

use crate::canonical::canonical_json;
use crate::digest::Digest;
use crate::envelope::{Envelope, MalformedReason};
use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::signing_key::SigningKey;

/// The facts of a verified `_signature` member.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonSignature {
    /// The 16-digit id of the key.
    pub key_id: KeyId,
    /// The time of signing, which the signature covers.
    pub at: Timestamp,
}

/// A reason why a JSON value is not signed or not verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The digest agrees with the record, but the signature does not.
    #[error(
        "bad signature: the key `{key_id}` did not sign this record at the time stated; restore the record"
    )]
    BadSignature {
        /// The key that the member names.
        key_id: KeyId,
    },
    /// The `_signature` member cannot be parsed.
    #[error("malformed `_signature`: {reason}; restore the record")]
    Malformed {
        /// The fault of the member.
        reason: MalformedReason,
    },
    /// The value is not an object, so it cannot hold a `_signature`.
    #[error("only a JSON object can be signed; wrap the value in one")]
    NotAnObject,
    /// The record differs from the record that was signed.
    #[error(
        "tampered: `_signature` states the digest `{}`, the record has `{}`; restore the record",
        .expected.shortened(),
        .actual.shortened()
    )]
    Tampered {
        /// The digest in the member.
        expected: Digest,
        /// The digest of the record.
        actual: Digest,
    },
    /// None of the given keys has the id in the member.
    #[error(
        "signed by the key `{key_id}`, which may not sign records here; verify with the key that wrote the record"
    )]
    UnknownKey {
        /// The key that the member names.
        key_id: KeyId,
    },
    /// The record has no `_signature` text.
    #[error("unsigned: the record has no `_signature`; it was not written by a signed run")]
    Unsigned,
}

/// Returns the object with a `_signature` member, which replaces an existing one. The signature covers the time and the
/// canonical JSON of the other members.
///
/// The signature does not say what the record is for. Put its purpose and id into the record, and check them when
/// reading.
///
/// # Errors
///
/// [`JsonError::NotAnObject`] if the value is not an object.
pub fn sign_json(value: &Value, key: &SigningKey, at: Timestamp) -> Result<Value, JsonError> {
    let mut members = value.as_object().ok_or(JsonError::NotAnObject)?.clone();
    members.shift_remove(MEMBER);
    let digest = Digest::of(canonical_json(&Value::Object(members.clone())).as_bytes());
    let signature = key.sign(message(at, &digest).as_bytes());
    let key_id = key.public().key_id().clone();
    let envelope = Envelope { at, digest, signature, key_id, claimed_owner: None };
    members.insert(MEMBER.to_owned(), Value::from(envelope.to_string()));
    Ok(Value::Object(members))
}

/// Verifies the `_signature` member of an object against the keys that may sign such records.
///
/// # Errors
///
/// The value is not an object or not signed, the member is malformed, the record was tampered with, none of `keys` has
/// the stated id, or the signature is bad.
pub fn verify_json(value: &Value, keys: &[PublicKey]) -> Result<JsonSignature, JsonError> {
    let mut members = value.as_object().ok_or(JsonError::NotAnObject)?.clone();
    let Some(Value::String(text)) = members.shift_remove(MEMBER) else {
        return Err(JsonError::Unsigned);
    };
    let envelope = Envelope::parse(&text).map_err(|reason| JsonError::Malformed { reason })?;
    let Envelope { at, digest: expected, signature, key_id, claimed_owner } = envelope;
    if let Some(text) = claimed_owner {
        return Err(JsonError::Malformed { reason: MalformedReason::Owner { text } });
    }
    let actual = Digest::of(canonical_json(&Value::Object(members)).as_bytes());
    if expected != actual {
        return Err(JsonError::Tampered { expected, actual });
    }
    let Some(key) = keys.iter().find(|key| key.is_named(&key_id)) else {
        return Err(JsonError::UnknownKey { key_id });
    };
    if !key.verifies(message(at, &expected).as_bytes(), &signature) {
        return Err(JsonError::BadSignature { key_id });
    }
    Ok(JsonSignature { key_id: key.key_id().clone(), at })
}

fn message(at: Timestamp, digest: &Digest) -> String {
    format!("rye-json-v1\n{at}\n{digest}")
}

const MEMBER: &str = "_signature";
