//! The ways in which a verification fails.

use rye_types::Timestamp;

use crate::digest::Digest;
use crate::envelope::MalformedReason;
use crate::item_name::ItemName;
use crate::key_id::KeyId;
use crate::revocation::Revocation;

/// A reason why a text is not verified (SPEC 2.5). Each message ends with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The digest agrees with the text, but the signature does not.
    #[error(
        "bad signature: the key `{key_id}` did not sign this text as {item} at the time stated; restore the file, or review it and sign it again with `rye sign`"
    )]
    BadSignature {
        /// The key that the signature line names.
        key_id: KeyId,
        /// The name under which the text was verified.
        item: ItemName,
    },
    /// The signature is valid, but for another id or kind.
    #[error(
        "bound to another item: signed as {signed_as}, found as {item}; move it back, or review it and sign it again with `rye sign`"
    )]
    BoundElsewhere {
        /// The name under which the text was verified.
        item: ItemName,
        /// The name that was signed.
        signed_as: ItemName,
    },
    /// The policy refuses signatures that do not bind kind and id, or that leave out the `#!` line.
    #[error(
        "the signature of the key `{key_id}` is of the old form that does not bind the item's kind and id, which the policy refuses; review the file and sign it again with `rye sign`, or allow it with `trust.content_only: allow` and without `--strict`"
    )]
    ContentOnlyDenied {
        /// The key that signed.
        key_id: KeyId,
    },
    /// The trust in the key has ended.
    #[error(
        "the trust in the key `{key_id}` expired at {at}; ask its owner for a new trust document, or review the file and sign it again with `rye sign`"
    )]
    Expired {
        /// The key that signed.
        key_id: KeyId,
        /// The time at which its trust document expired.
        at: Timestamp,
    },
    /// The file is outside an `.ai` folder, and its signature binds an id that cannot be checked there (SPEC 2.11).
    #[error(
        "the id cannot be checked: the text agrees with its digest, but the signature of the key `{key_id}` binds an id, which a file outside an `.ai` folder does not have; verify it at its place in an `.ai` folder"
    )]
    IdUnchecked {
        /// The key that the signature line names.
        key_id: KeyId,
    },
    /// The kind that the caller gave for a file outside an `.ai` folder is not one that can be signed.
    #[error("unknown kind `{kind}`; valid are `config`, `directive`, `knowledge`, `tool`, `trust`")]
    UnknownKind {
        /// The given kind.
        kind: String,
    },
    /// The text has a signature line that cannot be parsed.
    #[error(
        "malformed signature line: on line {line}, {reason}; review the file and sign it again with `rye sign`"
    )]
    Malformed {
        /// The 1-based number of the line.
        line: usize,
        /// The fault of the signature line.
        reason: MalformedReason,
    },
    /// The signature leaves out the body of the directive (SPEC 2.3).
    #[error(
        "not covered: the signature of the key `{key_id}` covers only the `<directive>` element, not the text around it that the model follows; review the file and sign it again with `rye sign`, or set `trust.metadata_only: allow`"
    )]
    NotCovered {
        /// The key that signed.
        key_id: KeyId,
    },
    /// The key was revoked. The time that the signature states does not matter.
    #[error(
        "the key `{key_id}` was {revocation}; review the file and sign it again with another key and `rye sign`"
    )]
    Revoked {
        /// The key that signed.
        key_id: KeyId,
        /// The time at which it was revoked, and the list that says so.
        revocation: Revocation,
    },
    /// The text differs from the text that was signed.
    #[error(
        "tampered: the signature line states the digest `{}`, the text has `{}`; restore the file, or review the change and sign it again with `rye sign`",
        .expected.shortened(),
        .actual.shortened()
    )]
    Tampered {
        /// The digest in the signature line.
        expected: Digest,
        /// The digest of the whole text without its signature line (SPEC 2.3).
        actual: Digest,
    },
    /// No accepted trust document has the key.
    #[error(
        "signed by the unknown key `{key_id}`; {}; if you know its owner, `rye trust add FILE` accepts its trust document or public key, {}and `--trust FILE` a document for one command",
        trusted_text(.trusted),
        carried_text(key_id, *.is_carried)
    )]
    UnknownKey {
        /// The key that the signature line names.
        key_id: KeyId,
        /// The 16-digit ids of the trusted keys.
        trusted: Vec<KeyId>,
        /// `true` if the project has a trust document for the key, for which nobody vouches.
        is_carried: bool,
    },
    /// The text has no signature line, or only a placeholder.
    #[error("unsigned: there is no signature; review the file and sign it with `rye sign`")]
    Unsigned,
}

impl Error {
    /// Returns the outcome as one word for programs and statistics. The words do not change between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadSignature { .. } => "bad-signature",
            Self::BoundElsewhere { .. } => "bound-elsewhere",
            Self::ContentOnlyDenied { .. } => "content-only-denied",
            Self::Expired { .. } => "expired-key",
            Self::IdUnchecked { .. } => "id-unchecked",
            Self::UnknownKind { .. } => "unknown-kind",
            Self::Malformed { .. } => "malformed",
            Self::NotCovered { .. } => "not-covered",
            Self::Revoked { .. } => "revoked-key",
            Self::Tampered { .. } => "tampered",
            Self::UnknownKey { .. } => "unknown-key",
            Self::Unsigned => "unsigned",
        }
    }
}

fn carried_text(key_id: &KeyId, is_carried: bool) -> String {
    if is_carried {
        format!("`rye trust add {key_id}` the document that the project carries, ")
    } else {
        String::new()
    }
}

fn trusted_text(trusted: &[KeyId]) -> String {
    let ids: Vec<String> = trusted.iter().map(|key_id| format!("`{key_id}`")).collect();
    if ids.is_empty() {
        "no key is trusted".to_owned()
    } else {
        format!("trusted are {}", ids.join(", "))
    }
}
