//! `<inputs>` and `<outputs>`: the values that a run takes and returns.

use rye_types::ValueType;

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
