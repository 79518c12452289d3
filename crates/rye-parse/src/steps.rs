//! The steps of a body that can be parsed.

use rye_types::UnknownWord;
use serde_json::{Map, Value};
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::Spanned;

pub(crate) mod action;
mod call;
mod read;
mod stray;
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
#[derive(Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = unknown_name, parse_err_ty = UnknownWord)]
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
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name of the element, and of the call after `rye_`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

fn unknown_name(text: &str) -> UnknownWord {
    UnknownWord::new("primary operation", text, Primary::NAMES)
}
