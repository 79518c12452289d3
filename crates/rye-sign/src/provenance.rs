//! Why a text is believed.

use std::fmt;

use crate::item_name::ItemName;
use crate::key_id::KeyId;
use crate::timestamp::Timestamp;

/// What vouches for a [`Verified`](crate::Verified) value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provenance {
    /// The text is compiled into the program and trusted as the program is (SPEC 2.9).
    Builtin,
    /// A trusted key signed it.
    Signed(Signature),
    /// Nothing does: the operator allowed unsigned text, and the run is to be marked as unverified (SPEC 2.10).
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

/// Which bytes a signature covers (SPEC 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 2.3 closes the list; policy must decide on each")]
pub enum Coverage {
    /// Everything below the signature line of a script, without the `#!` line above it.
    AfterShebang,
    /// From the first `<directive` to the last `</directive>`; not the body.
    MetadataOnly,
    /// Every byte but the signature line, line ends aside.
    Whole,
}

/// What a signature binds besides the text (SPEC 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 2.4 closes the list; policy must decide on each")]
pub enum Binding {
    /// Kind, id and time.
    Bound,
    /// Nothing: the text verifies under every name, and the time is a claim.
    ContentOnly,
}

/// What a person should know of a signature that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The `#!` line is not covered.
    #[error("the signature does not cover the `#!` line; sign again with `rye sign`")]
    AfterShebang,
    /// Kind, id and time are not bound.
    #[error("the signature does not bind the item's kind, id and time; sign again with `rye sign`")]
    ContentOnly,
    /// The stated time is later than now.
    #[error(
        "the signature is dated in the future; check the clock of this machine and of the signer's"
    )]
    FromTheFuture,
    /// The body is not covered, which the policy allowed.
    #[error("the signature covers only the `<directive>` element; sign again with `rye sign`")]
    MetadataOnly,
}

impl Signature {
    /// The 16-digit id of the key, whichever notation the line used.
    pub fn key_id(&self) -> &KeyId {
        &self.key_id
    }

    /// The owner that the trust document names, when the key came with one.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// The most that the item may be granted: every list, of capability patterns, must allow. No list is no limit.
    pub fn grants(&self) -> &[Vec<String>] {
        &self.grants
    }

    /// When it was signed; a claim without proof unless the binding is [`Binding::Bound`].
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Which bytes are covered.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// Whether kind, id and time are bound.
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// The name that a bound signature is for.
    pub fn item(&self) -> Option<&ItemName> {
        self.item.as_ref()
    }

    /// What was accepted though it is weaker than a new signature.
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
