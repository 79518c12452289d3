//! Entities, character references and characters that XML does not allow.

use std::{borrow::Cow, ops::Range};

use crate::{Problem, ProblemKind, problem::Report};

/// The longest text between `&` and `;` that counts as an entity.
const LONGEST_NAME: usize = 32;

/// The treatment of white space in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// In text: a carriage return before a line feed is dropped.
    Text,
    /// In an attribute: every line end and tab becomes a space.
    Attribute,
}

/// Returns the value of the text or attribute at `span`.
///
/// Nearly all text is unchanged and not copied.
pub(super) fn unescape<'s>(
    report: &mut Report<'s>,
    span: Range<usize>,
    space: Space,
) -> Cow<'s, str> {
    let raw = report.text(&span);
    // Every byte is examined: a search with an early exit would examine them one by one, which is slower.
    if raw.bytes().fold(true, |plain, byte| plain & is_plain(byte, space)) {
        return Cow::Borrowed(raw);
    }
    let mut value = String::with_capacity(raw.len());
    let mut at = 0;
    loop {
        let rest = raw.get(at..).unwrap_or("");
        let plain = rest.bytes().position(|byte| !is_plain(byte, space)).unwrap_or(rest.len());
        let (plain, rest) = rest.split_at(plain);
        value.push_str(plain);
        at += plain.len();
        let Some(c) = rest.chars().next() else { return Cow::Owned(value) };
        let place = span.start + at;
        if c == '&' {
            at += entity(report, place, raw.get(at..).unwrap_or(""), &mut value);
            continue;
        }
        at += c.len_utf8();
        match c {
            '\r' if raw.get(at..).is_some_and(|rest| rest.starts_with('\n')) => {}
            '\n' | '\t' | '\r' if space == Space::Attribute => value.push(' '),
            c if is_allowed(c) => value.push(c),
            c => forbidden(report, c, place..place + c.len_utf8()),
        }
    }
}

/// Returns `true` if a byte is unchanged in the value. Any other byte is the first byte of a character.
fn is_plain(byte: u8, space: Space) -> bool {
    let is_space = (byte == b'\n') | (byte == b'\t');
    // The characters that are not allowed are control characters, and two that begin with 0xEF.
    let is_special = (byte < b' ') | (byte == b'&') | (byte == 0xef);
    !is_special | (is_space & (space == Space::Text))
}

/// Reports characters that are not allowed even in CDATA and opaque text.
pub(super) fn check_characters(report: &mut Report<'_>, span: Range<usize>) {
    for (at, c) in report.text(&span).char_indices().filter(|(_, c)| !is_allowed(*c)) {
        forbidden(report, c, span.start + at..span.start + at + c.len_utf8());
    }
}

/// Appends the character of the entity at the start of `rest`. Returns the number of bytes of the entity.
fn entity(report: &mut Report<'_>, place: usize, rest: &str, value: &mut String) -> usize {
    let name_length = rest
        .char_indices()
        .skip(1)
        .take(LONGEST_NAME + 1)
        .find(|(_, c)| !(c.is_ascii_alphanumeric() || matches!(c, '#' | '_' | '-' | '.' | ':')))
        .filter(|(at, c)| *c == ';' && 1 < *at)
        .map(|(at, _)| at);
    let Some(end) = name_length else {
        let problem = Problem::new(ProblemKind::BareAmpersand, place..place + 1, "not an entity");
        report.error(problem.help("write `&amp;`, or put the text in CDATA"));
        value.push('&');
        return 1;
    };
    let name = rest.get(1..end).unwrap_or("");
    match resolve(name) {
        Some(c) => value.push(c),
        None => {
            let kind = ProblemKind::UnknownEntity { name: name.to_owned() };
            let problem = Problem::new(kind, place..place + end + 1, "not an entity of XML");
            report.error(problem.help("valid: `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;`, `&#…;`; write a plain `&` as `&amp;`"));
        }
    }
    end + 1
}

/// Returns the character of one of the five entities or of a character reference.
fn resolve(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(hex) if hex.chars().all(|c| c.is_ascii_hexdigit()) => {
                    u32::from_str_radix(hex, 16).ok()?
                }
                None if digits.chars().all(|c| c.is_ascii_digit()) => digits.parse().ok()?,
                Some(_) | None => return None,
            };
            char::from_u32(code).filter(|c| is_allowed(*c))
        }
    }
}

/// Returns `true` if XML 1.0 allows the character in a document.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn forbidden(report: &mut Report<'_>, c: char, span: Range<usize>) {
    let kind = ProblemKind::ForbiddenCharacter { code: u32::from(c) };
    report.error(Problem::new(kind, span, "not allowed in XML").help("remove it"));
}
