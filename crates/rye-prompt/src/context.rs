//! The context of an `extends` chain (SPEC 7.2).

mod compose;
mod references;

use rye_parse::ContextContent;

pub use self::compose::{ComposeError, compose};
pub use self::references::{ContextReference, context_references};

/// Everything that a chain puts around the directive prompt, in the order in which the model reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Entries of the system message.
    pub system: Vec<Piece>,
    /// Entries before the directive prompt.
    pub before: Vec<Piece>,
    /// Entries after the directive prompt.
    pub after: Vec<Piece>,
    /// The ids of knowledge and files that any directive of the chain suppresses. Hook context with these ids is left out, too.
    pub suppressed: Vec<Suppression>,
    /// Optional references that were not found. Callers should record them.
    pub skipped: Vec<ContextReference>,
    pub(crate) hooks: HookLayers,
}

/// The context that hooks add outside the chain's context, except that in the system message all of it comes before the
/// chain's (SPEC 8.4 and 8.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HookLayers {
    pub(crate) system: Vec<String>,
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

impl Context {
    /// Returns `true` if the chain suppresses this id. Base names do not match (SPEC 7.2).
    pub fn suppresses(&self, id: &str) -> bool {
        self.suppressed.iter().any(|suppression| suppression.removes(id))
    }
}

/// One entry of the context: its text and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The text as the model reads it.
    pub text: String,
    /// The source of the text.
    pub origin: Origin,
    /// The id of the directive that refers to the text.
    pub asked_by: String,
}

/// The source of the text of a [`Piece`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The directive itself.
    Inline,
    /// The knowledge item with this id, or the file of the project whose path follows `file:`.
    Knowledge(String),
}

/// An id of knowledge or a file that the chain leaves out of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suppression {
    /// The full id, or the path of a file.
    pub id: String,
    /// The id of the first directive that suppresses it, from the root on.
    pub declared_by: String,
}

impl Suppression {
    /// Returns `true` if the suppression takes away the reference with this id, which for a file is `file:` and its path. A file is
    /// suppressed by its path, too (SPEC 17.3).
    pub fn removes(&self, id: &str) -> bool {
        self.id == id || id.strip_prefix(ContextContent::FILE) == Some(&self.id)
    }
}
