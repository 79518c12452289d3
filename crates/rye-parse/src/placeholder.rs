//! The scanner for placeholders in bodies, action tags and permissions.

use memchr::{memchr, memrchr};

use crate::{Spanned, name::is_name_char};

/// A part of a text that is replaced by a value, at rendering or between two steps (SPEC 6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar is closed: another form would change what existing text means"
)]
pub enum Placeholder {
    /// `{input:name}`, `{input:name?}`, `{input:name:default}`, `{input:name|default}` or `${inputs.name}`.
    Input {
        /// The name of the input.
        name: String,
        /// The replacement if the input has no value.
        fallback: Fallback,
    },
    /// `\\{input:name}` or `\\${inputs.name}`: a placeholder that is written as it is, without the backslash (SPEC 17.2).
    Escaped {
        /// The text after the backslash.
        text: String,
    },
    /// `${steps.STEP.key.key}`: a part of the result of an earlier step. The results exist when a step is followed without a
    /// model.
    Step(StepReference),
}

/// A reference to the result of an earlier step (SPEC 10.13).
///
/// A step may have any name. Its name and the keys end at a `.`, and hold neither braces nor line ends. A part may be empty, so that
/// a reference with a slip is an error and not text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the grammar is closed")]
pub struct StepReference {
    /// The name of the step.
    pub name: String,
    /// The keys of a part of the result; empty for the whole result.
    pub path: Vec<String>,
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
    scan(text, read)
}

/// Finds every reference to the result of a step, in order. Text that only resembles one, such as an unclosed brace, is not reported.
pub fn step_references(text: &str) -> Vec<Spanned<StepReference>> {
    scan(text, |text, brace| {
        let start = brace
            .checked_sub(1)
            .filter(|_| text.get(..brace).is_some_and(|it| it.ends_with('$')))?;
        let (reference, length) = step(text.get(brace + 1..)?)?;
        Some(Spanned::new(reference, start..brace + 1 + length))
    })
}

/// Finds what `read` reads at the braces of a text, without overlaps.
fn scan<T>(text: &str, read: impl Fn(&str, usize) -> Option<Spanned<T>>) -> Vec<Spanned<T>> {
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
        (true, inside) if inside.starts_with("steps.") => {
            let (reference, length) = step(inside)?;
            (Placeholder::Step(reference), length)
        }
        (_, inside) if inside.starts_with("input:") => input(inside)?,
        _ => return None,
    };
    let start = if inside.starts_with("input:") { brace } else { brace - 1 };
    let end = brace + 1 + length;
    let is_escaped = text.get(..start)?.ends_with('\\');
    match value {
        Placeholder::Input { .. } if is_escaped => {
            let text = text.get(start..end)?.to_owned();
            Some(Spanned::new(Placeholder::Escaped { text }, start - 1..end))
        }
        value => Some(Spanned::new(value, start..end)),
    }
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
fn step(inside: &str) -> Option<(StepReference, usize)> {
    let rest = inside.strip_prefix("steps.")?;
    let end = rest.find(|c: char| matches!(c, '{' | '}') || c.is_control())?;
    let (names, rest) = rest.split_at_checked(end)?;
    let rest = rest.strip_prefix('}')?;
    let mut names = names.split('.').map(str::to_owned);
    let reference = StepReference { name: names.next()?, path: names.collect() };
    Some((reference, inside.len() - rest.len()))
}

/// Splits a name from the text after it.
fn take_name(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !is_name_char(char::from(byte))).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(name, _)| !name.is_empty())
}
