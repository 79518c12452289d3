//! The fields of a signature, as written in a comment or in a `_signature` member.

use std::fmt;

use rye_types::Timestamp;

use crate::comment::CommentStyle;
use crate::digest::Digest;
use crate::key_id::KeyId;
use crate::signature_bytes::SignatureBytes;

/// The fields `rye:signed:<time>:<digest>:<signature>:<key id>[|<provider@user>]`, parsed but not verified.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) at: Timestamp,
    pub(crate) digest: Digest,
    pub(crate) signature: SignatureBytes,
    pub(crate) key_id: KeyId,
    /// An unverified claim, because the signature does not cover it.
    pub(crate) claimed_owner: Option<String>,
}

/// The fault of a signature line (SPEC 2.5).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedReason {
    /// The signature line is above the `#!` line.
    #[error("it stands above the `#!` line and belongs below it")]
    AboveShebang,
    /// The digest is not 64 lowercase hex digits.
    #[error("its digest `{text}` is not 64 lowercase hex digits")]
    Digest {
        /// The field as written.
        text: String,
    },
    /// The file of a signature that is kept beside a text has more than the signature line.
    #[error("it is alone in its file, and there is other text")]
    FurtherText,
    /// The key id is neither 16 nor 64 lowercase hex digits.
    #[error("its key id `{text}` is not 16 or 64 lowercase hex digits")]
    KeyId {
        /// The field as written.
        text: String,
    },
    /// An HTML comment is not closed on the line.
    #[error("its closing `-->` is missing")]
    MissingClose,
    /// The part after `|` is not `provider@user`.
    #[error("the part after `|`, `{text}`, is not `provider@user`")]
    Owner {
        /// The part as written.
        text: String,
    },
    /// The signature is not 64 bytes of base64.
    #[error("its signature is not 64 bytes of base64")]
    Signature,
    /// The line has other text or white space around its fields.
    #[error("it has other text or white space around its fields; the whole line is `{expected}`")]
    Surroundings {
        /// The shape of the line in its comment style.
        expected: String,
    },
    /// The time is not a UTC time in whole seconds.
    #[error("its time `{text}` is not a UTC time such as `2026-11-20T18:00:00Z`")]
    Time {
        /// The field as written.
        text: String,
    },
    /// Time, digest, signature or key id is missing.
    #[error("it lacks fields; they are time, digest, signature and key id")]
    TooFewFields,
    /// The line is written in the comment syntax of another file type.
    #[error("it is in a `{found}` comment; this file type uses `{expected}`")]
    WrongComment {
        /// The opener of comments in this file type.
        expected: &'static str,
        /// The opener of the comment in the line.
        found: &'static str,
    },
}

impl Envelope {
    /// Parses the text from `rye:signed:` to the last field.
    pub(crate) fn parse(text: &str) -> Result<Self, MalformedReason> {
        let fields = text.strip_prefix(SIGNED).ok_or(MalformedReason::TooFewFields)?;
        let (fields, claimed_owner) = match fields.split_once('|') {
            Some((fields, claim)) => (fields, Some(owner(claim)?)),
            None => (fields, None),
        };
        let mut fields = fields.rsplitn(4, ':');
        let mut next = || fields.next().ok_or(MalformedReason::TooFewFields);
        let key_id = next()?;
        let signature = next()?;
        let digest = next()?;
        let at = next()?;
        Ok(Self {
            at: at.parse().map_err(|_| MalformedReason::Time { text: at.to_owned() })?,
            digest: digest
                .parse()
                .map_err(|_| MalformedReason::Digest { text: digest.to_owned() })?,
            signature: SignatureBytes::decode(signature).ok_or(MalformedReason::Signature)?,
            key_id: key_id
                .parse()
                .map_err(|_| MalformedReason::KeyId { text: key_id.to_owned() })?,
            claimed_owner,
        })
    }

    /// Parses a whole line without its line end. Only the exact form is accepted, so that every byte of the line has a
    /// meaning.
    pub(crate) fn parse_line(line: &str, style: CommentStyle) -> Result<Self, MalformedReason> {
        if let Some(found) = CommentStyle::ALL
            .into_iter()
            .find(|other| line.trim_start().starts_with(other.opener()))
            && found != style
        {
            return Err(MalformedReason::WrongComment {
                expected: style.opener(),
                found: found.opener(),
            });
        }
        if style == CommentStyle::Html && !line.contains("-->") {
            return Err(MalformedReason::MissingClose);
        }
        let (before, after) = style.frame();
        let inner = line.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        match inner {
            Some(inner) if !inner.contains(char::is_whitespace) => Self::parse(inner),
            _ => Err(MalformedReason::Surroundings { expected: style.wrap(SHAPE) }),
        }
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, digest, signature, key_id, claimed_owner } = self;
        write!(f, "{SIGNED}{at}:{digest}:{}:{key_id}", signature.encode())?;
        claimed_owner.iter().try_for_each(|claim| write!(f, "|{claim}"))
    }
}

/// Returns `true` if the fields are the placeholder that templates carry until they are signed (SPEC 2.2).
pub(crate) fn is_placeholder(text: &str) -> bool {
    let Some(fields) = text.strip_prefix(SIGNED) else { return false };
    fields.strip_suffix(PLACEHOLDER).is_some_and(|time| time.is_empty() || time.ends_with(':'))
}

/// Checks the `provider@user` claim. Its letters and length are limited, because it is displayed with the file but not
/// signed.
fn owner(claim: &str) -> Result<String, MalformedReason> {
    let refused = || MalformedReason::Owner { text: claim.to_owned() };
    let (provider, user) = claim.split_once('@').ok_or_else(refused)?;
    let is_name = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
        (1..=64).contains(&name.len()) && name.chars().all(plain)
    };
    if is_name(provider) && is_name(user) { Ok(claim.to_owned()) } else { Err(refused()) }
}

pub(crate) const SIGNED: &str = "rye:signed:";
const SHAPE: &str = "rye:signed:<time>:<digest>:<signature>:<key id>";
const PLACEHOLDER: &str = "placeholder:unsigned:unsigned";
