//! The tokens of an expression.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::condition::{Operator, operand::of_symbol};

/// One token of an expression, with its place in it.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    /// Letters, digits, `_`, `-`, `+` and dots: a path, a number or a word.
    Word(&'t str),
    /// A symbol such as `==` or `>=`.
    Symbol,
    /// A text in double quotes, with the escapes of JSON, or a list.
    Json(&'t str),
    /// The content of a text in single quotes, which has no escapes.
    Quoted(&'t str),
    /// A text or list that has no end or is not JSON.
    Broken(&'static str),
    /// A character that is not part of the language.
    Foreign,
}

impl Token<'_> {
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.kind, Kind::Word(text) if text == word)
    }

    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.kind, Kind::Broken(_) | Kind::Foreign)
    }
}

/// Splits an expression into its tokens.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let white = rest.len() - rest.trim_start().len();
        if white == 0 {
            let (kind, length) = next(rest);
            tokens.push(Token { kind, span: at..at + length });
            at += length;
        }
        at += white;
    }
    tokens
}

/// Returns the operator of a word or symbol.
pub(super) fn operator(text: &str) -> Option<Operator> {
    of_symbol(text).or_else(|| text.parse().ok())
}

/// Returns the value of a token, if it has one. Null is not a value, because nothing is equal to it.
pub(super) fn literal(token: &Token<'_>) -> Option<Value> {
    match token.kind {
        Kind::Quoted(text) => Some(text.into()),
        Kind::Word(text) | Kind::Json(text) => {
            serde_json::from_str(text).ok().filter(|value: &Value| !value.is_null())
        }
        Kind::Symbol | Kind::Broken(_) | Kind::Foreign => None,
    }
}

/// Returns the first token of a text that does not begin with white space, and its length.
fn next(rest: &str) -> (Kind<'_>, usize) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let run = |fits: &dyn Fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
    let of = |length: usize| rest.get(..length).unwrap_or("");
    match rest.chars().next() {
        Some('"') => json(rest, "text"),
        Some('[') => json(rest, "list"),
        Some('\'') => match rest.get(1..).and_then(|inside| inside.find('\'')) {
            Some(end) => (Kind::Quoted(rest.get(1..=end).unwrap_or("")), end + 2),
            None => (Kind::Broken("text"), rest.len()),
        },
        Some('=' | '!' | '<' | '>') => (Kind::Symbol, run(&|c| matches!(c, '=' | '!' | '<' | '>'))),
        Some(c) if is_word(c) => {
            let length = run(&is_word);
            (Kind::Word(of(length)), length)
        }
        Some(c) => (Kind::Foreign, c.len_utf8()),
        None => (Kind::Foreign, rest.len()),
    }
}

/// Returns the JSON value at the start of a text. If it cannot be parsed, the token extends to the end of the text.
fn json<'t>(rest: &'t str, what: &'static str) -> (Kind<'t>, usize) {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
    match (values.next(), values.byte_offset()) {
        (Some(Ok(_)), length) => (Kind::Json(rest.get(..length).unwrap_or("")), length),
        _ => (Kind::Broken(what), rest.len()),
    }
}
