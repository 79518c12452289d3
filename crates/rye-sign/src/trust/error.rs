//! The errors of trust documents.

use crate::error::Error;
use crate::key::KeyError;
use crate::key_id::KeyId;

/// The most bytes of a trust document.
pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// A reason why a trust document is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file name or the `fingerprint` names another key.
    #[error(
        "the {part} says `{stated}`, the key in the document is `{key_id}`; all three must agree"
    )]
    Disagree {
        /// The part that disagrees: the file name or the `fingerprint`.
        part: &'static str,
        /// The key id in that part.
        stated: String,
        /// The 16-digit id of the key in the document.
        key_id: KeyId,
    },
    /// Fields are missing, unknown or wrong.
    #[error("the trust document has {}", problem_list(.problems))]
    Invalid {
        /// All wrong fields.
        problems: Vec<TrustProblem>,
    },
    /// The document is not TOML.
    #[error("the trust document is not TOML")]
    NotToml {
        /// The line and the fault.
        source: TomlError,
    },
    /// The document comes from a project, and no trusted key of the operator signed it (SPEC 2.8).
    #[error(
        "a project cannot vouch for itself: its trust document for the key `{key_id}` is {}, and counts only when a key that you trust signed it; compare its fingerprint with the owner, then accept it with `rye trust add {key_id}`, or name a copy outside of the project with `--trust FILE`",
        signer_text(.signer, .key_id)
    )]
    SelfVouched {
        /// The key that the document is for.
        key_id: KeyId,
        /// The key that signed the document, if any.
        signer: Option<KeyId>,
    },
    /// The document is longer than is read.
    #[error("the trust document has {bytes} bytes; at most {MAX_BYTES} are read")]
    TooLong {
        /// The length of the document.
        bytes: usize,
    },
    /// The signature of the document fails verification.
    #[error("the trust document for the key `{key_id}` fails verification")]
    Unverified {
        /// The key that the document is for.
        key_id: KeyId,
        /// The failure.
        source: Error,
    },
}

/// One wrong field of a trust document or a revocation list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustProblem {
    /// The `category` is that of another file.
    #[error("the category `{text}` instead of `{expected}`")]
    Category {
        /// The category of such a file.
        expected: &'static str,
        /// The value as written.
        text: String,
    },
    /// A required field is empty.
    #[error("an empty `{field}`")]
    Empty {
        /// The field.
        field: &'static str,
    },
    /// The fingerprint is not a key id.
    #[error("the `fingerprint` `{text}`, which is not 16 or 64 lowercase hex digits")]
    Fingerprint {
        /// The value as written.
        text: String,
    },
    /// The key cannot be used.
    #[error("an unusable `public_key.pem`: {error}")]
    Key {
        /// The fault of the key.
        error: KeyError,
    },
    /// A required field is absent.
    #[error("no `{field}`")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A time is not written in the one accepted spelling.
    #[error("the `{field}` `{text}`, which is not a UTC time such as `2026-11-20T18:00:00Z`")]
    Time {
        /// The field.
        field: &'static str,
        /// The value as written.
        text: String,
    },
    /// The file has a field that such files do not have.
    #[error("the unknown field `{field}`; valid are {valid}")]
    Unknown {
        /// The field.
        field: String,
        /// The fields of such a file.
        valid: &'static str,
    },
    /// The major version of the format is not `1`.
    #[error("the version `{text}`, of which this program reads `1`; update the program")]
    Version {
        /// The value as written.
        text: String,
    },
    /// An entry of a revocation list names no key.
    #[error("the `key_id` `{text}`, which is not 16 or 64 lowercase hex digits")]
    KeyId {
        /// The value as written.
        text: String,
    },
    /// A field has the wrong type.
    #[error("a `{field}` that is not {expected}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// The correct type.
        expected: &'static str,
    },
}

/// The place and the fault of a text that is not TOML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
#[non_exhaustive]
pub struct TomlError {
    /// The 1-based number of the line.
    pub line: usize,
    /// The message of the TOML parser.
    pub message: String,
}

pub(crate) fn problem_list(problems: &[TrustProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and ")
}

fn signer_text(signer: &Option<KeyId>, key_id: &KeyId) -> String {
    match signer {
        None => "unsigned".to_owned(),
        Some(signer) if signer == key_id => "signed by that key itself".to_owned(),
        Some(signer) => format!("signed by `{signer}`"),
    }
}
