//! Context composed over an `extends` chain (SPEC 7.2).

mod compose;
mod wanted;

use std::fmt;

use rye_parse::ContextPosition;

pub use self::compose::{ComposeError, compose};
pub use self::wanted::{Wanted, wanted};

/// Everything that a chain puts around the directive prompt, in the order in which the model reads
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Entries of the system message.
    pub system: Vec<Piece>,
    /// Entries before the directive prompt.
    pub before: Vec<Piece>,
    /// Entries after the directive prompt.
    pub after: Vec<Piece>,
    /// What the chain suppresses, wherever it is declared; hook context of these ids is left out
    /// too.
    pub suppressed: Vec<Suppression>,
    /// Optional references that were not found. They are to be recorded, not hidden.
    pub skipped: Vec<Wanted>,
    pub(crate) hooks: HookLayers,
}

/// What hooks put around the chain's context: outside of it, but in the system message before it
/// (SPEC 8.4 and 8.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HookLayers {
    pub(crate) system: Vec<String>,
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

impl Context {
    /// Whether the chain suppresses this knowledge id. Base names do not match (SPEC 7.2).
    pub fn suppresses(&self, id: &str) -> bool {
        self.suppressed.iter().any(|suppression| suppression.id == id)
    }
}

/// One entry of the context: its text, and who put it there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The text as the model reads it.
    pub text: String,
    /// Where the text was written.
    pub origin: Origin,
    /// The id of the directive that asked for it.
    pub asked_by: String,
}

/// Where the text of a [`Piece`] was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// In the directive itself.
    Inline,
    /// In the knowledge item of this id.
    Knowledge(String),
}

/// A knowledge id that the chain keeps out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suppression {
    /// The full id.
    pub id: String,
    /// The id of the directive that first declares it, from the root on.
    pub declared_by: String,
}

/// Where context stands. `<suppress>` is no place, hence not one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "the positions of SPEC 8.4 and 8.5")]
pub enum Slot {
    /// In the system message.
    System,
    /// In the first user message, before the directive prompt.
    Before,
    /// In the first user message, after the directive prompt.
    After,
}

impl Slot {
    /// The element's name in `<context>`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Before => "before",
            Self::After => "after",
        }
    }

    pub(crate) fn of(position: ContextPosition) -> Option<Self> {
        match position {
            ContextPosition::System => Some(Self::System),
            ContextPosition::Before => Some(Self::Before),
            ContextPosition::After => Some(Self::After),
            ContextPosition::Suppress => None,
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
