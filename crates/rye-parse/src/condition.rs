//! Conditions: requirements on an event before a hook acts (SPEC 10.3).

use rye_types::UnknownWord;
use serde_json::Value;
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

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
#[derive(Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = unknown_name, parse_err_ty = UnknownWord)]
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
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// The name in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

fn unknown_name(text: &str) -> UnknownWord {
    UnknownWord::new("operator", text, Operator::NAMES)
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
