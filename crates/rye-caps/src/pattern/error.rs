//! What is wrong with a pattern, and what to write instead.

use std::{error, fmt, ops::Range};

use thiserror::Error;

use crate::shown::shown;

/// A text that is no pattern, with every problem in it.
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
        Self { pattern: shown(pattern), problems }
    }

    /// The refused text, shortened when it is long, with control characters escaped.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Every problem, in the order of the text; never empty.
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

/// One thing that is wrong with a pattern; its `Display` is the whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatternProblem {
    /// What is wrong.
    pub kind: PatternProblemKind,
    /// Where, as bytes of the text that was parsed.
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
    /// There is no text.
    #[error("it is empty; write `*` to mean everything, or leave the grant out")]
    Empty,
    /// The text is longer than matching is bounded to.
    #[error(
        "it has {bytes} bytes; at most {limit} are allowed, not counting a leading `rye.<primary>.<kind>.`"
    )]
    TooLong {
        /// How many bytes it has.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// There are more `*` than matching is bounded to.
    #[error("it has {found} `*`; at most {limit} are allowed, so write several patterns")]
    TooManyStars {
        /// How many runs of `*` it has.
        found: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A character that occurs in no pattern.
    #[error("`{}` is not allowed; {}", shown(&.0.to_string()), hint(*.0))]
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
    /// A character that occurs in no class.
    #[error("`{}` is not allowed in a class; {}", shown(&.0.to_string()), class_hint(*.0))]
    ForbiddenInClass(char),
    /// A range whose ends are in the wrong order.
    #[error("the range `{first}-{last}` is reversed; write `{last}-{first}`")]
    ReversedRange {
        /// The end that is written first.
        first: char,
        /// The end that is written last.
        last: char,
    },
    /// A range whose ends are not of one sort, so that what lies between them depends on the alphabet's order.
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
    /// The name of the action is none that can be granted.
    #[error("unknown primary action `{0}`; valid are `execute`, `search`, `load`, `sign`, `fetch`")]
    UnknownPrimary(String),
    /// The name of the kind of item is none that there is.
    #[error("unknown item kind `{0}`; valid are `tool`, `directive`, `knowledge`")]
    UnknownKind(String),
}

/// What to write instead of a character outside of a class.
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

/// What to write instead of a character in a class.
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
