//! One wildcard text that can be matched.
//!
//! `fnmatch-regex` does the matching, restricted to the closed grammar. It is maintained elsewhere, and its regular
//! expressions match in linear time and can be joined for a whole grant. The crate's own automaton decides inclusion
//! and meeting, which regular expressions cannot do. An own matcher would be a third implementation of the same
//! meaning. The rows in `tests.rs`, CPython's answers, properties and a fuzzer check that the existing two agree.

use std::{iter, sync::OnceLock};

use fnmatch_regex::{glob_to_regex, glob_to_regex_pattern};
use regex::Regex;

use super::syntax::{Scanned, Token};

/// A wildcard text of the grammar in two forms: a fast matcher, and the tokens on which inclusion is decided.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    text: String,
    tokens: Vec<Token>,
    matcher: Matcher,
}

/// The way to match a glob. The first two are common and need no automaton. A property test checks that all have the
/// same meaning.
#[derive(Debug, Clone)]
enum Matcher {
    /// The glob has no wildcard.
    Exact,
    /// The only wildcard is a `*` at the end. The number is the length of the text before it.
    Prefix(usize),
    /// Any other glob: any of these expressions must match. They are compiled when the glob is first matched alone; a
    /// grant compiles its globs together.
    Any(OnceLock<Vec<Regex>>),
}

/// The condition of a glob on a text, for an index over many globs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// The text is equal to this one.
    Exact(&'a str),
    /// The text starts with this one. If this one ends in `.`, the text may also be equal to it without the `.`.
    Prefix(&'a str),
    /// The condition needs an automaton.
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

    /// Returns `true` if the glob ends in `.*`, and so also covers the name before it.
    pub(crate) fn covers_stem(&self) -> bool {
        self.text.ends_with(".*")
    }

    /// Returns `true` if the glob matches `subject`, the text of a capability.
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

    /// The text with which every matched text starts.
    pub(crate) fn head(&self) -> &str {
        match self.shape() {
            Shape::Exact(text) => text,
            Shape::Prefix(prefix) => prefix.strip_suffix('.').unwrap_or(prefix),
            Shape::Other => self.text.split(['*', '?', '[']).next().unwrap_or_default(),
        }
    }

    /// Returns `true` if the heads show that no text matches both globs.
    pub(crate) fn is_apart_from(&self, other: &Self) -> bool {
        let own_head = self.head();
        let other_head = other.head();
        !own_head.starts_with(other_head) && !other_head.starts_with(own_head)
    }

    /// Returns `true` if the head of `other` shows that this glob matches everything that `other` matches.
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

/// Returns `true` if `subject` starts with `prefix`, or is the name before the `.` in which `prefix` ends.
fn starts_below(subject: &str, prefix: &str) -> bool {
    subject.starts_with(prefix) || prefix.strip_suffix('.') == Some(subject)
}

/// The plain wildcard texts for a text in which a final `.*` also covers the name before it.
fn alternatives(text: &str) -> impl Iterator<Item = &str> {
    iter::once(text).chain(text.strip_suffix(".*"))
}

fn compile(text: &str) -> Regex {
    glob_to_regex(text)
        .expect("because the closed grammar is a part of what fnmatch-regex reads, and is bounded")
}
