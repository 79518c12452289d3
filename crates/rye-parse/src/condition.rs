//! Conditions: requirements on an event before a hook acts (SPEC 10.3).

use std::{fmt, str::FromStr};

use serde_json::Value;

use crate::Spanned;

mod evaluation;
pub(crate) mod operand;
pub(crate) mod pattern;
pub(crate) mod when;

/// A requirement on the event of a hook.
///
/// A `<when>` is parsed into the same tree, so that evaluation and explanation are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// One comparison: `<condition path op value/>`, or `path op literal` in a `<when>`.
    #[non_exhaustive]
    Compare {
        /// A dotted path into the event's data; a number is an index into a list.
        path: String,
        /// The comparison.
        operator: Operator,
        /// The operand: a number for the four orders, a list for `in`, a pattern as text for `regex`, otherwise text, a
        /// number or a boolean. Absent only for `exists`.
        value: Option<Value>,
    },
    /// At least one condition holds.
    Any(Vec<Spanned<Condition>>),
    /// All conditions hold.
    All(Vec<Spanned<Condition>>),
    /// The condition does not hold.
    Not(Box<Spanned<Condition>>),
}

/// The comparison of a condition (SPEC 10.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an operator that is not handled would make a hook silently false"
)]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// One of a list.
    In,
    /// Contains the value.
    Contains,
    /// Matches a regular expression.
    Regex,
    /// Exists.
    Exists,
}

impl Operator {
    /// All operators, in the order of SPEC 10.3.
    pub const ALL: [Self; 10] = [
        Self::Eq,
        Self::Ne,
        Self::Gt,
        Self::Gte,
        Self::Lt,
        Self::Lte,
        Self::In,
        Self::Contains,
        Self::Regex,
        Self::Exists,
    ];

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::In => "in",
            Self::Contains => "contains",
            Self::Regex => "regex",
            Self::Exists => "exists",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Operator {
    type Err = ParseOperatorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|operator| operator.as_str() == text)
            .ok_or_else(|| ParseOperatorError { text: text.to_owned() })
    }
}

/// A text that is not the name of an operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown operator `{text}`")]
#[non_exhaustive]
pub struct ParseOperatorError {
    text: String,
}

/// Returns `true` if a text is a dotted path: names of letters, digits, `_` and `-`, joined by dots.
pub(crate) fn is_path(text: &str) -> bool {
    text.split('.').all(crate::name::is_name)
}

/// Combines several conditions into one `All`, and returns a single one unchanged.
pub(crate) fn all(mut conditions: Vec<Spanned<Condition>>) -> Option<Spanned<Condition>> {
    let last = conditions.pop()?;
    let Some(first) = conditions.first() else { return Some(last) };
    let span = first.span.start.min(last.span.start)..last.span.end.max(first.span.end);
    conditions.push(last);
    Some(Spanned::new(Condition::All(conditions), span))
}
