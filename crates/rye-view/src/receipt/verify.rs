//! Verification of receipts with trusted keys, and with the transcript and the outputs where they are at hand.

use rye_sign::dsse::{Envelope, EnvelopeError};
use rye_sign::{Digest, KeyId, PublicKey, Revocation, TrustStore, TrustedKey};
use rye_transcript::{Damage, Reading, ThreadId, named_keys_in, read};
use rye_types::{Moment, Timestamp};
use serde_json::Value;

use super::{PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE, TRANSCRIPT, member, predicate};
use crate::unread::UnreadError;

/// A verified receipt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Receipt {
    /// The verified in-toto statement.
    pub statement: Value,
    /// The key that signed the receipt.
    pub key_id: KeyId,
    /// The owner that the trust document of the key names.
    pub owner: Option<String>,
    /// The time of the receipt, as its signer states it.
    pub at: Moment,
}

/// A reason why a receipt, a transcript or an output was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// The transcript has the digest of the subject, and is damaged all the same.
    #[error("the transcript of the receipt does not verify")]
    Damaged(#[source] Damage),
    /// The envelope does not verify.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The receipt was signed after the trust in its key ended.
    #[error(
        "the trust in the key `{key_id}` expired at {at}, before the receipt was made; ask its owner for a new receipt"
    )]
    Expired {
        /// The key.
        key_id: KeyId,
        /// The end of the trust.
        at: Timestamp,
    },
    /// The payload is signed, and is no receipt of this version.
    #[error("the signed payload is no receipt that this version reads: {problem}")]
    Malformed {
        /// The fault of the payload.
        problem: String,
    },
    /// The receipt has no such output.
    #[error("the receipt has no output `{name}`; it has {}", list_names(.known))]
    NoOutput {
        /// The given name.
        name: String,
        /// The outputs of the receipt.
        known: Vec<String>,
    },
    /// A member of the predicate does not follow from the transcript.
    #[error(
        "`{member}` of the receipt does not follow from the transcript; do not rely on its signer"
    )]
    OtherFacts {
        /// The member.
        member: String,
    },
    /// A file is not the subject.
    #[error("the file is not `{subject}` of the receipt: it has the digest `{}`, and not `{}`", .actual.shortened(), .expected.shortened())]
    OtherSubject {
        /// The name of the subject.
        subject: String,
        /// The digest in the receipt.
        expected: Digest,
        /// The digest of the file.
        actual: Digest,
    },
    /// The key was revoked.
    #[error("the key `{key_id}` was {revocation}; ask its owner for a receipt by another key")]
    Revoked {
        /// The key.
        key_id: KeyId,
        /// The time of the revocation, and the list that says so.
        revocation: Revocation,
    },
    /// This version cannot read a record of the transcript, so that it does not know what follows from it.
    #[error(transparent)]
    Unread(#[from] UnreadError),
}

fn list_names(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        }
    }
}

impl Receipt {
    /// Verifies the text of a receipt with the trusted keys. Neither a project nor a network is needed.
    ///
    /// A key that expired vouches for receipts from before; a revoked one for none.
    ///
    /// # Errors
    ///
    /// The envelope is not exactly as it was written, its key is not trusted, or its payload is no receipt of this version.
    pub fn verify(text: &str, trust: &TrustStore) -> Result<Self, ReceiptError> {
        let envelope = Envelope::parse(text)?;
        let keys: Vec<PublicKey> = trust.keys().map(|key| key.key().clone()).collect();
        let payload = envelope.verify(PAYLOAD_TYPE, &keys)?;
        let statement: Value = serde_json::from_slice(payload)
            .map_err(|error| describe_problem(&error.to_string()))?;
        for (name, expected) in [("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)] {
            if statement[name] != expected {
                return Err(describe_problem(&format!(
                    "its `{name}` is {}, not `{expected}`",
                    statement[name]
                )));
            }
        }
        let at = member(&statement, &["predicate", "attestation", "at"]).as_str();
        let at: Moment = at
            .and_then(|at| at.parse().ok())
            .ok_or_else(|| describe_problem("it has no time in `attestation`"))?;
        let receipt = Self { key_id: envelope.key_id().clone(), owner: None, at, statement };
        digest_of(&receipt.statement, TRANSCRIPT)?;
        let key = trust
            .find(envelope.key_id())
            .ok_or_else(|| EnvelopeError::UnknownKey { key_id: envelope.key_id().clone() })?;
        check_standing(key, at)?;
        Ok(Self { owner: key.owner().map(str::to_owned), ..receipt })
    }

    /// Verifies that a file is the transcript of the receipt, and that the predicate follows from it.
    ///
    /// # Errors
    ///
    /// The file is another one, its chain is broken, this version cannot read a record of it, or the receipt states something that
    /// the transcript does not say.
    pub fn verify_transcript(&self, transcript: &[u8]) -> Result<Reading, ReceiptError> {
        self.check_subject(TRANSCRIPT, transcript)?;
        let predicate = &self.statement["predicate"];
        let thread: ThreadId = member(predicate, &["thread", "id"])
            .as_str()
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| describe_problem("it names no thread"))?;
        let reading =
            read(transcript, &thread, &named_keys(transcript)).map_err(ReceiptError::Damaged)?;
        let other = |member: &str| ReceiptError::OtherFacts { member: member.to_owned() };
        let derived = predicate::derive(&reading)?.ok_or_else(|| other("outcome"))?;
        if let Some(member) = predicate::first_difference(predicate, &derived) {
            return Err(other(&member));
        }
        if self.statement["subject"] != predicate::subjects(&reading, transcript) {
            return Err(other("subject"));
        }
        Ok(reading)
    }

    /// Verifies that a file is an output of the receipt: the text itself, or the canonical JSON of another value.
    ///
    /// # Errors
    ///
    /// The receipt has no such output, or the file is another one.
    pub fn verify_output(&self, name: &str, bytes: &[u8]) -> Result<(), ReceiptError> {
        let known = self.outputs();
        if !known.iter().any(|output| output == name) {
            return Err(ReceiptError::NoOutput { name: name.to_owned(), known });
        }
        self.check_subject(&predicate::output_name(name), bytes)
    }

    /// The names of the outputs.
    #[must_use]
    pub fn outputs(&self) -> Vec<String> {
        let prefix = predicate::output_name("");
        let names = subjects(&self.statement).filter_map(|subject| subject["name"].as_str());
        names.filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    fn check_subject(&self, name: &str, bytes: &[u8]) -> Result<(), ReceiptError> {
        let expected = digest_of(&self.statement, name)?;
        let actual = Digest::of(bytes);
        if expected == actual {
            return Ok(());
        }
        Err(ReceiptError::OtherSubject { subject: name.to_owned(), expected, actual })
    }
}

fn check_standing(key: &TrustedKey, at: Moment) -> Result<(), ReceiptError> {
    let key_id = key.key().key_id().clone();
    if let Some(revocation) = key.revocation() {
        return Err(ReceiptError::Revoked { key_id, revocation });
    }
    match key.expires() {
        Some(expires) if expires <= at.timestamp() => {
            Err(ReceiptError::Expired { key_id, at: expires })
        }
        _ => Ok(()),
    }
}

fn describe_problem(problem: &str) -> ReceiptError {
    ReceiptError::Malformed { problem: problem.to_owned() }
}

fn subjects(statement: &Value) -> impl Iterator<Item = &Value> {
    statement["subject"].as_array().into_iter().flatten()
}

fn digest_of(statement: &Value, name: &str) -> Result<Digest, ReceiptError> {
    let subject = subjects(statement).find(|subject| subject["name"] == name);
    let digest = subject.and_then(|subject| member(subject, &["digest", "sha256"]).as_str());
    digest
        .and_then(|digest| digest.parse().ok())
        .ok_or_else(|| describe_problem(&format!("it has no digest of `{name}`")))
}

/// The keys that the openings of a transcript name. The digest in the receipt vouches for them.
fn named_keys(transcript: &[u8]) -> Vec<PublicKey> {
    let named = named_keys_in(transcript);
    named.iter().filter_map(|pem| PublicKey::from_pem(pem).ok()).collect()
}
