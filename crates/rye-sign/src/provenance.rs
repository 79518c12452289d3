//! The reason why a text is accepted.

use std::fmt;

use rye_types::Timestamp;

use crate::item_name::ItemName;
use crate::key_id::KeyId;

/// The reason why a [`Verified`](crate::Verified) value is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provenance {
    /// The text is compiled into the program and trusted like the program itself (SPEC 2.9).
    Builtin,
    /// The operator's present key signed another text under this name, and this one took its place. A person may be shown it. No
    /// [`Verified`](crate::Verified) has this provenance (SPEC D20).
    Draft(Signature),
    /// A trusted key signed the text.
    Signed(Signature),
    /// The text has no signature, and the operator allowed unsigned text. The run must be marked as unverified
    /// (SPEC 2.10).
    Unsigned,
}

/// The facts of a signature that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub(crate) key_id: KeyId,
    pub(crate) owner: Option<String>,
    pub(crate) grants: Vec<Vec<String>>,
    pub(crate) at: Timestamp,
    pub(crate) coverage: Coverage,
    pub(crate) binding: Binding,
    pub(crate) item: Option<ItemName>,
    pub(crate) notes: Vec<Note>,
}

/// The part of a text that a signature covers (SPEC 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 2.3 closes the list; policy must decide on each")]
pub enum Coverage {
    /// Everything below the signature line of a script, but not the `#!` line above it.
    AfterShebang,
    /// The text from the first `<directive` to the last `</directive>`, but not the body.
    MetadataOnly,
    /// Every byte except the signature line. The kind of the line ends is not covered.
    Whole,
}

/// The facts that a signature binds besides the text (SPEC 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 2.4 closes the list; policy must decide on each")]
pub enum Binding {
    /// Kind, id and time are signed.
    Bound,
    /// Only the text is signed: it verifies under every name, and the time is an unsigned claim.
    ContentOnly,
}

/// A warning about a signature that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The signature does not cover the `#!` line.
    #[error("the signature does not cover the `#!` line; sign again with `rye sign`")]
    AfterShebang,
    /// The signature does not bind kind, id and time.
    #[error("the signature does not bind the item's kind, id and time; sign again with `rye sign`")]
    ContentOnly,
    /// The time that the signature line states is later than now.
    #[error(
        "the signature is dated in the future; check the clock of this machine and of the signer's"
    )]
    FromTheFuture,
    /// The signature does not cover the body, which the policy allows.
    #[error("the signature covers only the `<directive>` element; sign again with `rye sign`")]
    MetadataOnly,
}

impl Signature {
    /// The 16-digit id of the key, even if the signature line has the 64-digit id.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// The owner that the trust document names, if any.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// The patterns that limit the grants of the item. A capability is within the limit if every list allows it;
    /// without a list there is no limit.
    pub fn grants(&self) -> &[Vec<String>] {
        &self.grants
    }

    /// The time that the signature line states. Only a [`Binding::Bound`] signature covers it.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The part of the text that the signature covers.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// The facts that the signature binds besides the text.
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// The name that a bound signature is for; `None` for an old signature.
    pub fn item(&self) -> Option<&ItemName> {
        self.item.as_ref()
    }

    /// Warnings about the ways in which this signature is weaker than a new one.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AfterShebang => "after-shebang",
            Self::MetadataOnly => "metadata-only",
            Self::Whole => "whole",
        })
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bound => "bound",
            Self::ContentOnly => "content-only",
        })
    }
}
