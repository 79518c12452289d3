//! One wildcard text, ready to match.
//!
//! Matching is the work of `fnmatch-regex`, behind the closed grammar: it is a part that others keep, and the regular
//! expressions that it gives match in linear time and join into one for a whole grant. The crate's own automaton decides
//! inclusion and meeting, which regular expressions do not answer. A matcher of our own would be a third meaning to keep;
//! that these two are one is held by the rows in `tests.rs`, by CPython's answers, by properties and by a fuzzer.

use std::{iter, sync::OnceLock};

use fnmatch_regex::{glob_to_regex, glob_to_regex_pattern};
use regex::Regex;

use super::syntax::{Scanned, Token};

/// A wildcard text that keeps to the grammar, with its meaning in two forms: a matcher that is fast, and the tokens
/// that inclusion is decided on.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    text: String,
    tokens: Vec<Token>,
    matcher: Matcher,
}

/// How a glob is matched. The first two are common and need no automaton; a property test holds all to one meaning.
#[derive(Debug, Clone)]
enum Matcher {
    /// No wildcard.
    Exact,
    /// A single wildcard, the `*` at the end: the length of what stands before it.
    Prefix(usize),
    /// All else: any of these, made when the glob is first asked alone; a grant compiles its globs together.
    Any(OnceLock<Vec<Regex>>),
}

/// What a glob asks of a text, for an index over many of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// The text is this one.
    Exact(&'a str),
    /// The text starts with this one, or, when this ends in `.`, is this without the `.`.
    Prefix(&'a str),
    /// It takes an automaton.
    Other,
}

impl Glob {
    pub(super) fn new(scanned: Scanned) -> Self {
        let Scanned { text, tokens } = scanned;
        let matcher = match text.find(['*', '?', '[']) {
            None => Matcher::Exact,
            Some(first) if text.ends_with('*') && first == text.len() - 1 => Matcher::Prefix(first),
            Some(_) => Matcher::Any(OnceLock::new()),
        };
        Self { text, tokens, matcher }
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Whether the glob ends in `.*`, and so also covers the name before it.
    pub(crate) fn covers_stem(&self) -> bool {
        self.text.ends_with(".*")
    }

    /// Whether `subject`, which is the text of a capability, is matched.
    pub(crate) fn matches(&self, subject: &str) -> bool {
        match (&self.matcher, self.shape()) {
            (Matcher::Any(regexes), _) => {
                let regexes =
                    regexes.get_or_init(|| alternatives(&self.text).map(compile).collect());
                regexes.iter().any(|regex| regex.is_match(subject))
            }
            (_, Shape::Prefix(prefix)) => starts_below(subject, prefix),
            (_, shape) => matches!(shape, Shape::Exact(text) if text == subject),
        }
    }

    /// What every text that is matched starts with.
    pub(crate) fn head(&self) -> &str {
        match self.shape() {
            Shape::Exact(text) => text,
            Shape::Prefix(prefix) => prefix.strip_suffix('.').unwrap_or(prefix),
            Shape::Other => self.text.split(['*', '?', '[']).next().unwrap_or_default(),
        }
    }

    /// Returns `true` if no text is matched by both, as far as their heads tell.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        let (own, others) = (self.head(), other.head());
        !own.starts_with(others) && !others.starts_with(own)
    }

    /// Returns `true` if everything that `other` matches is matched, as far as the head of `other` tells.
    pub(crate) fn covers_head_of(&self, other: &Self) -> bool {
        matches!(self.shape(), Shape::Prefix(prefix) if other.head().starts_with(prefix))
    }

    pub(crate) fn shape(&self) -> Shape<'_> {
        match self.matcher {
            Matcher::Exact => Shape::Exact(&self.text),
            Matcher::Prefix(length) => Shape::Prefix(self.text.get(..length).unwrap_or_default()),
            Matcher::Any(_) => Shape::Other,
        }
    }

    /// The sources of the regular expressions that together mean this glob.
    pub(crate) fn regex_sources(&self) -> impl Iterator<Item = String> {
        alternatives(&self.text).map(|text| {
            glob_to_regex_pattern(text)
                .expect("because the closed grammar is a part of what fnmatch-regex reads")
        })
    }
}

/// Whether `subject` starts with `prefix`, or is the name before the `.` that `prefix` ends in.
fn starts_below(subject: &str, prefix: &str) -> bool {
    subject.starts_with(prefix) || prefix.strip_suffix('.') == Some(subject)
}

/// The plain wildcard texts that a text with the rule for a final `.*` stands for.
fn alternatives(text: &str) -> impl Iterator<Item = &str> {
    iter::once(text).chain(text.strip_suffix(".*"))
}

fn compile(text: &str) -> Regex {
    glob_to_regex(text)
        .expect("because the closed grammar is a part of what fnmatch-regex reads, and is bounded")
}
