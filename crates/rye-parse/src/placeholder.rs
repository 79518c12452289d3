//! The scanner for placeholders in bodies, action tags and permissions.

use memchr::{memchr, memrchr};

use crate::{Spanned, name::is_name_char};

/// A part of a text that is replaced by a value, at rendering or between two steps (SPEC 6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar is closed: a third form would change what existing text means"
)]
pub enum Placeholder {
    /// `{input:name}`, `{input:name?}`, `{input:name:default}`, `{input:name|default}` or `${inputs.name}`.
    Input {
        /// The name of the input.
        name: String,
        /// The replacement if the input has no value.
        fallback: Fallback,
    },
    /// `${steps.STEP.key.key}`: a part of the result of an earlier step, in action parameters only.
    Step {
        /// The name of the step.
        name: String,
        /// The keys of a part of the result; empty for the whole result.
        path: Vec<String>,
    },
}

/// The replacement of a placeholder whose input has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the grammar is closed")]
pub enum Fallback {
    /// No replacement is written: the declaration decides.
    None,
    /// `?`: the empty text.
    Empty,
    /// The text after `:` or `|`, as written.
    Default(String),
}

/// Finds every placeholder of a text, in order. Spans are byte ranges of `text`.
///
/// Text that only resembles a placeholder (an unclosed brace, a name with a space) is not reported.
///
/// ```
/// use rye_parse::{Fallback, Placeholder, placeholders};
///
/// let found = placeholders("Deploy {input:target|staging} now");
/// assert_eq!(found[0].span, 7..29);
/// assert_eq!(
///     found[0].value,
///     Placeholder::Input { name: "target".into(), fallback: Fallback::Default("staging".into()) },
/// );
/// ```
pub fn placeholders(text: &str) -> Vec<Spanned<Placeholder>> {
    // No placeholder ends after the last `}`. Without this limit, each `{` would search to the end of the text.
    let last = memrchr(b'}', text.as_bytes());
    let closable = last.and_then(|last| text.get(..=last)).unwrap_or("");
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(brace) = closable.get(at..).and_then(|rest| memchr(b'{', rest.as_bytes())) {
        let brace = at + brace;
        match read(closable, brace) {
            Some(placeholder) => {
                at = placeholder.span.end;
                found.push(placeholder);
            }
            None => at = brace + 1,
        }
    }
    found
}

/// Parses the placeholder whose `{` is at `brace`.
fn read(text: &str, brace: usize) -> Option<Spanned<Placeholder>> {
    let inside = text.get(brace + 1..)?;
    let dollar = text.get(..brace)?.ends_with('$');
    let (value, length) = match (dollar, inside) {
        (true, inside) if inside.starts_with("inputs.") => dotted_input(inside)?,
        (true, inside) if inside.starts_with("steps.") => step(inside)?,
        (_, inside) if inside.starts_with("input:") => input(inside)?,
        _ => return None,
    };
    let start = if inside.starts_with("input:") { brace } else { brace - 1 };
    Some(Spanned::new(value, start..brace + 1 + length))
}

/// Parses `input:name…}`. Returns its length with the closing brace.
fn input(inside: &str) -> Option<(Placeholder, usize)> {
    let rest = inside.strip_prefix("input:")?;
    let (name, rest) = take_name(rest)?;
    let (fallback, rest) = match rest.chars().next()? {
        '}' => (Fallback::None, rest),
        '?' => (Fallback::Empty, rest.get(1..)?),
        ':' | '|' => {
            let text = rest.get(1..)?;
            let end = text.find('}')?;
            (Fallback::Default(text.get(..end)?.to_owned()), text.get(end..)?)
        }
        _ => return None,
    };
    let rest = rest.strip_prefix('}')?;
    Some((Placeholder::Input { name: name.to_owned(), fallback }, inside.len() - rest.len()))
}

/// Parses `inputs.name}`. Returns its length with the closing brace.
fn dotted_input(inside: &str) -> Option<(Placeholder, usize)> {
    let (name, rest) = take_name(inside.strip_prefix("inputs.")?)?;
    let rest = rest.strip_prefix('}')?;
    let value = Placeholder::Input { name: name.to_owned(), fallback: Fallback::None };
    Some((value, inside.len() - rest.len()))
}

/// Parses `steps.STEP.key.key}`. Returns its length with the closing brace.
fn step(inside: &str) -> Option<(Placeholder, usize)> {
    let (name, mut rest) = take_title(inside.strip_prefix("steps.")?)?;
    let mut path = Vec::new();
    while let Some(after) = rest.strip_prefix('.') {
        let (key, left) = take_title(after)?;
        path.push(key.to_owned());
        rest = left;
    }
    let rest = rest.strip_prefix('}')?;
    Some((Placeholder::Step { name: name.to_owned(), path }, inside.len() - rest.len()))
}

/// Splits a name from the text after it.
/// Splits the name of a step, or a key of its result, off the front: letters and digits of any script, `_`, `-`, and single spaces
/// between them.
fn take_title(text: &str) -> Option<(&str, &str)> {
    let is_title = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
    let end = text.find(|c| !is_title(c)).unwrap_or(text.len());
    let is_spaced = |name: &str| !name.is_empty() && name.trim() == name && !name.contains("  ");
    text.split_at_checked(end).filter(|(name, _)| is_spaced(name))
}

fn take_name(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !is_name_char(char::from(byte))).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(name, _)| !name.is_empty())
}
