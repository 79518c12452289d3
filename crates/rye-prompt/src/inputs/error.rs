//! The problems of given values.

use std::fmt;

use rye_parse::{Input, Spanned, did_you_mean, quoted};
use rye_types::ValueType;
use thiserror::Error;

/// All reasons why values were not accepted, with the valid names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct BindError {
    problems: Vec<BindProblem>,
    valid: Vec<String>,
}

impl BindError {
    pub(super) fn new(problems: Vec<BindProblem>, declared: &[Spanned<Input>]) -> Self {
        let valid = declared.iter().map(|input| input.value.name.value.clone()).collect();
        Self { problems, valid }
    }

    /// The problems: unknown names in their order, then the others by declared input. There is at least one.
    pub fn problems(&self) -> &[BindProblem] {
        &self.problems
    }

    /// The declared names, in their order.
    pub fn valid(&self) -> &[String] {
        &self.valid
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            write!(f, "{problem}; ")?;
        }
        match self.valid.as_slice() {
            [] => write!(f, "the directive accepts no inputs"),
            valid => write!(f, "valid inputs: {}", quoted(valid.iter().map(String::as_str))),
        }
    }
}

/// One reason why values were not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BindProblem {
    /// A value was given for a name that the directive does not declare.
    #[error("unknown input `{name}`{}", did_you_mean(suggestion.as_deref()))]
    Unknown {
        /// The given name.
        name: String,
        /// The declared name that is similar to it.
        suggestion: Option<String>,
    },
    /// A required input has no given value and no default.
    #[error("missing required input `{name}`")]
    Missing {
        /// The declared name.
        name: String,
    },
    /// A value does not have the declared type and cannot be converted to it.
    #[error("{origin}`{name}` must be of type {}{}, not {found}", expected.as_str(), example(*expected))]
    WrongType {
        /// The declared name.
        name: String,
        /// The source of the value.
        origin: ValueOrigin,
        /// The declared type.
        expected: ValueType,
        /// The type and the beginning of the value.
        found: String,
    },
    /// A value is not one of the declared `enum`.
    #[error("{origin}`{name}` must be one of {}, not {found}", quoted(choices.iter().map(String::as_str)))]
    NotAChoice {
        /// The declared name.
        name: String,
        /// The source of the value.
        origin: ValueOrigin,
        /// The declared choices, as written.
        choices: Vec<String>,
        /// The type and the beginning of the value.
        found: String,
    },
}

/// The source of a value that does not fit. It decides whether the caller or the directive's author must correct the
/// value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a value is given or it is the default")]
pub enum ValueOrigin {
    /// The caller gave it.
    Given,
    /// The directive declares it.
    Default,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given => Ok(()),
            Self::Default => write!(f, "the declared default of "),
        }
    }
}

/// Returns an example of the type, as a part of a sentence.
fn example(expected: ValueType) -> &'static str {
    match expected {
        ValueType::Integer => ", such as `3`",
        ValueType::Number => ", such as `1.5`",
        ValueType::Boolean => ", which is `true` or `false`",
        ValueType::Array => ", such as `[\"a\", \"b\"]`",
        ValueType::Object => ", such as `{\"key\": \"value\"}`",
        ValueType::String => "",
    }
}
