//! The steps of a body that can be parsed.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value};

use crate::Spanned;

pub(crate) mod action;
mod call;
mod read;
mod token;

pub(crate) use read::read;

/// One step of a body (SPEC 3.9).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The name: the `name` attribute, or the heading or bold line above the step.
    pub name: Option<String>,
    /// The trimmed description; may be empty.
    pub description: String,
    /// The calls of the step, in order. A step without calls needs a model.
    pub actions: Vec<Spanned<Action>>,
}

/// One call of a primary operation as written, with its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Action {
    /// The operation.
    pub primary: Primary,
    /// `tool`, `directive` or `knowledge`.
    pub item_type: Option<String>,
    /// The id of the item.
    pub item_id: Option<String>,
    /// The text to search for.
    pub query: Option<String>,
    /// The kinds of items to search.
    pub scope: Option<String>,
    /// The arguments of the item, in order: texts from XML, or any JSON values from a call.
    pub parameters: Map<String, Value>,
    /// The other arguments of the operation, such as `destination`, in order.
    pub options: Map<String, Value>,
}

impl Action {
    /// Makes an action with only its operation.
    pub fn new(primary: Primary) -> Self {
        Self {
            primary,
            item_type: None,
            item_id: None,
            query: None,
            scope: None,
            parameters: Map::new(),
            options: Map::new(),
        }
    }
}

/// The operations that a step may call (SPEC D4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "SPEC D4 closes the list")]
pub enum Primary {
    /// Runs an item.
    Execute,
    /// Finds items.
    Search,
    /// Reads an item's file.
    Load,
    /// Signs an item.
    Sign,
    /// Loads an item if an id is given, and searches if a query is given.
    Fetch,
}

impl Primary {
    /// All operations.
    pub const ALL: [Self; 5] = [Self::Execute, Self::Search, Self::Load, Self::Sign, Self::Fetch];

    /// The name of the element, and of the call after `rye_`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Search => "search",
            Self::Load => "load",
            Self::Sign => "sign",
            Self::Fetch => "fetch",
        }
    }
}

impl fmt::Display for Primary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Primary {
    type Err = ParsePrimaryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|primary| primary.as_str() == text)
            .ok_or_else(|| ParsePrimaryError { text: text.to_owned() })
    }
}

/// A text that is not the name of a primary operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown primary operation `{text}`")]
#[non_exhaustive]
pub struct ParsePrimaryError {
    text: String,
}
