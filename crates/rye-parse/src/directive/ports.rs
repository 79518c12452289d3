//! `<inputs>` and `<outputs>`: the values that a run takes and returns.

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::{ParseNameError, Spanned};

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
#[derive(Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = unknown_name, parse_err_ty = ParseNameError)]
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
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name in files and JSON schemas.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

fn unknown_name(text: &str) -> ParseNameError {
    ParseNameError::new("type", text)
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
