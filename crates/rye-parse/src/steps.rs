//! The steps of a body, where it has them in a form that can be read.

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
    /// Its name: the `name` attribute, or the heading or bold line above it.
    pub name: Option<String>,
    /// What to do, trimmed; may be empty.
    pub description: String,
    /// The calls it names, in order; none means that only a model can do it.
    pub actions: Vec<Spanned<Action>>,
}

/// One call of a primary operation, as written: placeholders are not filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Action {
    /// The operation.
    pub primary: Primary,
    /// `tool`, `directive` or `knowledge`.
    pub item_type: Option<String>,
    /// The item's id.
    pub item_id: Option<String>,
    /// What to search for.
    pub query: Option<String>,
    /// The kind or kinds to search.
    pub scope: Option<String>,
    /// The arguments of the item, in order: text from XML, any JSON value from a call.
    pub parameters: Map<String, Value>,
    /// Every other argument of the operation itself, such as `destination`, in order.
    pub options: Map<String, Value>,
}

impl Action {
    /// An action of a primary operation with nothing else set.
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
    /// Loads when given an id, searches when given a query.
    Fetch,
}

impl Primary {
    /// Every operation.
    pub const ALL: [Self; 5] = [Self::Execute, Self::Search, Self::Load, Self::Sign, Self::Fetch];

    /// The name of its element, and of its call after `rye_`.
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

/// A text that names no primary operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown primary operation `{text}`")]
#[non_exhaustive]
pub struct ParsePrimaryError {
    text: String,
}
