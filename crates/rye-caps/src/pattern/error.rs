//! The problems of a pattern, with what to write instead.

use std::{error, fmt, ops::Range};

use thiserror::Error;

use crate::untrusted_text::sanitize;

/// A text that is not a pattern, with all its problems.
///
/// ```
/// let error = "rye.{load,sign}.tool.*".parse::<rye_caps::Pattern>().unwrap_err();
/// assert_eq!(error.problems().len(), 3);
/// assert_eq!(error.problems()[0].span, 4..5);
/// assert_eq!(
///     error.problems()[0].to_string(),
///     "`{` is not allowed; write one pattern for each alternative",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    pattern: String,
    problems: Vec<PatternProblem>,
}

impl PatternError {
    /// Invariant: `problems` is not empty.
    pub(crate) fn new(pattern: &str, problems: Vec<PatternProblem>) -> Self {
        Self { pattern: sanitize(pattern), problems }
    }

    /// The refused text, shortened if it is long, with control characters escaped.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The problems in the order of the text. There is at least one.
    pub fn problems(&self) -> &[PatternProblem] {
        &self.problems
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a capability pattern: ", self.pattern)?;
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl error::Error for PatternError {}

/// One problem of a pattern. Its `Display` is the whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatternProblem {
    /// The problem.
    pub kind: PatternProblemKind,
    /// The place, in bytes of the parsed text.
    pub span: Range<usize>,
}

impl fmt::Display for PatternProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// The ways in which a text breaks the grammar of patterns (`SPEC 9.1`).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatternProblemKind {
    /// The text is empty.
    #[error("it is empty; write `*` to mean everything, or leave the grant out")]
    Empty,
    /// The text is longer than the limit that bounds matching.
    #[error(
        "it has {bytes} bytes; at most {limit} are allowed, not counting a leading `rye.<primary>.<kind>.`"
    )]
    TooLong {
        /// The number of bytes.
        bytes: usize,
        /// The largest number of bytes.
        limit: usize,
    },
    /// The text has more `*` than the limit that bounds matching.
    #[error("it has {found} `*`; at most {limit} are allowed, so write several patterns")]
    TooManyStars {
        /// The number of runs of `*`.
        found: usize,
        /// The largest number of runs.
        limit: usize,
    },
    /// A character that is not allowed in patterns.
    #[error("`{}` is not allowed; {}", sanitize(&.0.to_string()), hint(*.0))]
    Forbidden(char),
    /// A `]` without its `[`.
    #[error("`]` closes no class; write the `[` that opens it, or remove it")]
    UnopenedClass,
    /// A `[` without its `]`.
    #[error("`[` opens a class that is not closed; write the `]` that closes it")]
    UnclosedClass,
    /// A class of no characters, `[]` or `[!]`.
    #[error("the class is empty; write the characters that it matches")]
    EmptyClass,
    /// A class that starts with `[^`, which other matchers read in different ways.
    #[error("`[^` is not allowed; write `[!` for every character but these")]
    CaretNegation,
    /// A character that is not allowed in a class.
    #[error("`{}` is not allowed in a class; {}", sanitize(&.0.to_string()), class_hint(*.0))]
    ForbiddenInClass(char),
    /// A range with its ends in the wrong order.
    #[error("the range `{first}-{last}` is reversed; write `{last}-{first}`")]
    ReversedRange {
        /// The end that is written first.
        first: char,
        /// The end that is written last.
        last: char,
    },
    /// A range whose ends are of different sorts, so that its content depends on the order of the alphabet.
    #[error(
        "the range `{first}-{last}` is ambiguous; write ranges of lower-case letters, of upper-case letters or of \
         digits, such as `a-zA-Z0-9`"
    )]
    MixedRange {
        /// The first end.
        first: char,
        /// The last end.
        last: char,
    },
    /// A `-` in a class that is neither in a range nor at the class's start or end.
    #[error("`-` joins nothing here; write it as the last character of the class")]
    MisplacedDash,
    /// The name of the action is not one that can be granted.
    #[error("unknown primary action `{0}`; valid are `execute`, `search`, `load`, `sign`, `fetch`")]
    UnknownPrimary(String),
    /// The name of the kind is unknown.
    #[error("unknown item kind `{0}`; valid are `tool`, `directive`, `knowledge`")]
    UnknownKind(String),
}

/// Says what to write instead of a character outside a class.
fn hint(character: char) -> &'static str {
    match character {
        '\\' => "nothing needs escaping, so remove it",
        '{' | '}' | ',' | '|' | '(' | ')' => "write one pattern for each alternative",
        '!' | '^' => "write a class such as `[!a]` for every character but these",
        _ if character.is_whitespace() => "remove it, and write each pattern on its own",
        _ if character.is_control() || !character.is_ascii() => {
            "item ids are written with ASCII letters, digits, `_`, `-`, `.` and `/`"
        }
        _ => "write letters, digits, `_`, `-`, `.`, `/`, `*`, `?` or a class such as `[a-z]`",
    }
}

/// Says what to write instead of a character in a class.
fn class_hint(character: char) -> &'static str {
    match character {
        '/' => "write `.`, which is how a capability spells it",
        '\\' => "nothing needs escaping, so remove it",
        '!' | '^' => "write `!` only directly after the `[`",
        '[' => "write the `]` that closes the class before it",
        '*' | '?' => "write it outside, where it is a wildcard",
        _ => "write letters, digits, `_`, `-` and `.`",
    }
}
