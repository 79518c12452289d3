//! The closed grammar of patterns, which turns text into tokens or reports every problem.

use std::{ops::Range, str::FromStr};

use super::error::{PatternError, PatternProblem, PatternProblemKind};
use crate::{
    capability::{Kind, Primary},
    letters::{self, Letters},
};

/// The longest pattern in bytes, not counting a leading `rye.<primary>.<kind>.`.
///
/// The head is not counted, so that every item id, however long, can be granted by its own name.
const MAX_BYTES: usize = 256;

/// The most `*` in one pattern.
const MAX_STARS: usize = 8;

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// One byte of a set. If the set is empty, the pattern matches nothing.
    One(Letters),
    /// Any run of bytes. Two of these are never adjacent.
    Star,
}

/// A pattern that follows the grammar.
#[derive(Debug)]
pub(super) struct Scanned {
    /// The text with `.` for each `/` and one `*` for each run of `*`.
    pub(super) text: String,
    pub(super) tokens: Vec<Token>,
}

/// Checks `pattern` against the grammar and the bounds.
pub(super) fn scan(pattern: &str) -> Result<Scanned, PatternError> {
    if let Some(kind) = size_problem(pattern) {
        let problem = PatternProblem { kind, span: 0..pattern.len() };
        return Err(PatternError::new(pattern, vec![problem]));
    }
    let mut scanner = Scanner::new(pattern);
    scanner.run();
    scanner.finish()
}

fn size_problem(pattern: &str) -> Option<PatternProblemKind> {
    if pattern.is_empty() {
        return Some(PatternProblemKind::Empty);
    }
    let bytes = pattern.len() - head_len(pattern);
    (bytes > MAX_BYTES).then_some(PatternProblemKind::TooLong { bytes, limit: MAX_BYTES })
}

/// Returns the length of a leading `rye.<primary>.<kind>.`, or 0 if the pattern does not start with one.
fn head_len(pattern: &str) -> usize {
    let mut parts = pattern.splitn(4, ['.', '/']);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("rye"), Some(primary), Some(kind), Some(rest))
            if is_grantable(primary) && Kind::from_str(kind).is_ok() =>
        {
            pattern.len() - rest.len()
        }
        _ => 0,
    }
}

/// Returns `true` if `primary` is the name of an action, or `fetch`.
pub(super) fn is_grantable(primary: &str) -> bool {
    primary == "fetch" || Primary::from_str(primary).is_ok()
}

struct Scanner<'a> {
    pattern: &'a str,
    position: usize,
    scanned: Scanned,
    stars: usize,
    problems: Vec<PatternProblem>,
}

impl<'a> Scanner<'a> {
    fn new(pattern: &'a str) -> Self {
        let scanned = Scanned {
            text: String::with_capacity(pattern.len()),
            tokens: Vec::with_capacity(pattern.len()),
        };
        Self { pattern, position: 0, scanned, stars: 0, problems: Vec::new() }
    }

    fn run(&mut self) {
        while let Some(character) = self.rest().chars().next() {
            match character {
                '*' => self.star(),
                '?' => self.one('?', letters::SUBJECT),
                '[' => self.class(),
                '/' => self.one('.', letters::one(b'.')),
                _ => self.literal(character),
            }
        }
    }

    fn finish(mut self) -> Result<Scanned, PatternError> {
        if self.stars > MAX_STARS {
            let kind = PatternProblemKind::TooManyStars { found: self.stars, limit: MAX_STARS };
            self.report(kind, 0..self.pattern.len());
        }
        if self.problems.is_empty() {
            Ok(self.scanned)
        } else {
            Err(PatternError::new(self.pattern, self.problems))
        }
    }

    fn rest(&self) -> &'a str {
        self.pattern.get(self.position..).unwrap_or_default()
    }

    fn report(&mut self, kind: PatternProblemKind, span: Range<usize>) {
        self.problems.push(PatternProblem { kind, span });
    }

    fn star(&mut self) {
        self.position += 1;
        if self.scanned.tokens.last() != Some(&Token::Star) {
            self.scanned.text.push('*');
            self.scanned.tokens.push(Token::Star);
            self.stars += 1;
        }
    }

    /// Consumes one ASCII character, which the normal form writes as `as_text`.
    fn one(&mut self, as_text: char, letters: Letters) {
        self.position += 1;
        self.scanned.text.push(as_text);
        self.scanned.tokens.push(Token::One(letters));
    }

    fn literal(&mut self, character: char) {
        match u8::try_from(character) {
            Ok(byte) if letters::holds(letters::SUBJECT, [byte]) => {
                self.one(character, letters::one(byte))
            }
            _ => {
                let kind = match character {
                    ']' => PatternProblemKind::UnopenedClass,
                    _ => PatternProblemKind::Forbidden(character),
                };
                let end = self.position + character.len_utf8();
                self.report(kind, self.position..end);
                self.position = end;
            }
        }
    }

    fn class(&mut self) {
        let Some(length) = self.rest().find(']') else {
            self.report(PatternProblemKind::UnclosedClass, self.position..self.pattern.len());
            self.position = self.pattern.len();
            return;
        };
        let whole = self.rest().get(..=length).unwrap_or_default();
        let letters = self.class_letters(whole);
        self.scanned.text.push_str(whole);
        self.scanned.tokens.push(Token::One(letters));
        self.position += whole.len();
    }

    /// Reads the letters of `whole`, which starts with `[` and ends with its only `]`.
    fn class_letters(&mut self, whole: &str) -> Letters {
        let inside =
            whole.strip_prefix('[').and_then(|whole| whole.strip_suffix(']')).unwrap_or_default();
        let (negated, items) = match inside.strip_prefix('!') {
            Some(items) => (true, items),
            None => (false, inside),
        };
        let start = self.position + whole.len() - 1 - items.len();
        if items.is_empty() {
            self.report(PatternProblemKind::EmptyClass, self.position..self.position + whole.len());
        }
        let included = self.items(items, start);
        letters::SUBJECT & if negated { !included } else { included }
    }

    /// Reads the letters between the brackets. `items` starts at the byte `start` of the pattern.
    fn items(&mut self, items: &str, start: usize) -> Letters {
        let mut letters = 0;
        let mut rest = items;
        while let Some(first) = rest.chars().next() {
            let at = start + items.len() - rest.len();
            let mut following = rest.chars().skip(1);
            match (following.next(), following.next()) {
                (Some('-'), Some(last)) => {
                    letters |= self.range(first, last, at);
                    rest = after(rest, 3);
                }
                (following, _) => {
                    let at_edge = at == start || following.is_none();
                    letters |= self.item(first, at, at_edge);
                    rest = after(rest, 1);
                }
            }
        }
        letters
    }

    /// Reads the letters of `first-last`, which starts at the byte `at` of the pattern.
    fn range(&mut self, first: char, last: char, at: usize) -> Letters {
        let span = at..at + first.len_utf8() + 1 + last.len_utf8();
        let sort = [char::is_ascii_lowercase, char::is_ascii_uppercase, char::is_ascii_digit]
            .into_iter()
            .find(|sort| sort(&first) && sort(&last));
        let (Some(_), Ok(low), Ok(high)) = (sort, u8::try_from(first), u8::try_from(last)) else {
            return self.broken_range(first, last, span);
        };
        if low > high {
            self.report(PatternProblemKind::ReversedRange { first, last }, span);
        }
        letters::range(low, high)
    }

    /// Reports the ends of a range that are not allowed in a class or, if both are, that they do not form a range.
    fn broken_range(&mut self, first: char, last: char, span: Range<usize>) -> Letters {
        let before = self.problems.len();
        self.item(first, span.start, true);
        self.item(last, span.end - last.len_utf8(), true);
        if self.problems.len() == before {
            let kind = if first == '-' {
                PatternProblemKind::MisplacedDash
            } else {
                PatternProblemKind::MixedRange { first, last }
            };
            self.report(kind, span);
        }
        0
    }

    /// Reads the letter of a single character in a class. `at_edge` is `true` if a `-` is allowed there.
    fn item(&mut self, character: char, at: usize, at_edge: bool) -> Letters {
        let kind = match u8::try_from(character) {
            Ok(b'-') if !at_edge => PatternProblemKind::MisplacedDash,
            Ok(byte) if letters::holds(letters::SUBJECT, [byte]) => return letters::one(byte),
            Ok(b'^') if self.pattern.get(..at).is_some_and(|before| before.ends_with('[')) => {
                PatternProblemKind::CaretNegation
            }
            _ => PatternProblemKind::ForbiddenInClass(character),
        };
        self.report(kind, at..at + character.len_utf8());
        0
    }
}

/// Returns the text after the first `count` characters of `text`.
fn after(text: &str, count: usize) -> &str {
    let mut characters = text.chars();
    characters.by_ref().take(count).for_each(drop);
    characters.as_str()
}

#[cfg(test)]
mod tests;
