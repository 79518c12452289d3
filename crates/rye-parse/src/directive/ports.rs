//! `<inputs>` and `<outputs>`: the values that a run takes and returns.

use std::{fmt, str::FromStr};

use crate::Spanned;

mod read;

pub(super) use read::{inputs, outputs};

/// One declared input (SPEC 3.4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// The name: letters, digits, `_` and `-`.
    pub name: Spanned<String>,
    /// The type; `String` if none is written.
    pub value_type: ValueType,
    /// `true` if a run without this input is refused; `false` if not written.
    pub required: bool,
    /// The text in place of an absent value, not yet converted to the type.
    pub default: Option<Spanned<String>>,
    /// The allowed values as text. If empty, all values are allowed.
    pub choices: Vec<String>,
    /// The purpose of the input; may be empty.
    pub description: String,
}

/// The type of an input or output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "these are the types of JSON, except null")]
pub enum ValueType {
    /// Text.
    #[default]
    String,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

impl ValueType {
    /// All types.
    pub const ALL: [Self; 6] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Object];

    /// The name in files and JSON schemas.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ValueType {
    type Err = ParseValueTypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|value_type| value_type.as_str() == text)
            .ok_or_else(|| ParseValueTypeError { text: text.to_owned() })
    }
}

/// A text that is not the name of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown type `{text}`")]
#[non_exhaustive]
pub struct ParseValueTypeError {
    text: String,
}

/// The declared outputs of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 3.4 has these two forms")]
pub enum Outputs {
    /// Nothing is declared.
    #[default]
    None,
    /// `<output>` elements, in document order.
    List(Vec<Spanned<Output>>),
    /// Elements of any other name, in document order.
    Dict(Vec<Spanned<DictOutput>>),
}

/// One declared output of the list form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The name: letters, digits, `_` and `-`.
    pub name: Spanned<String>,
    /// The type; `String` if none is written.
    pub value_type: ValueType,
    /// `true` if a run without this output fails; `false` if not written.
    pub required: bool,
    /// The meaning of the output; may be empty.
    pub description: String,
}

/// One declared output of the dict form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DictOutput {
    /// The name of the element.
    pub name: String,
    /// The trimmed text of the element; may be empty.
    pub text: String,
}
