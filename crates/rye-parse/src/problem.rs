//! What is wrong with a file, and where.

use std::{fmt, ops::Range};

mod kind;
mod report;

pub use kind::ProblemKind;
pub(crate) use report::Report;

/// Every problem of one file, in the order of its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", count(.problems.len()))]
#[non_exhaustive]
pub struct ParseError {
    problems: Vec<Problem>,
}

impl ParseError {
    /// Keeps problems in the order of their places.
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        Self { problems }
    }

    /// The problems, first place first; never empty. After 200 the rest is counted in one last problem.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// One thing that is wrong (or, in a value's `notes`, worth saying) and what to do about it.
///
/// `Display` is the whole message without the place: the kind, then `; ` and the help where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What is wrong, as data.
    pub kind: ProblemKind,
    /// The bytes of the file that it is about; both ends lie on character boundaries.
    pub span: Range<usize>,
    /// A few words to write at the place itself.
    pub label: String,
    /// What to write instead, where that is known.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without help.
    pub(crate) fn new(kind: ProblemKind, span: Range<usize>, label: impl Into<String>) -> Self {
        Self { kind, span, label: label.into(), help: None }
    }

    /// The whole message without a word of the file itself, for files in which a secret may stand anywhere.
    #[must_use]
    pub fn without_text(&self) -> String {
        // Parsers name a place by its keys, which may be anything, and quote what they found.
        let may_quote = |message: &str| message.contains(": ") || message.contains(['"', '`']);
        match &self.kind {
            ProblemKind::DuplicateKey { .. } => "a key is given twice; keep one of them".to_owned(),
            ProblemKind::Syntax { format, message } if may_quote(message) => {
                format!("invalid {format}")
            }
            ProblemKind::Syntax { .. }
            | ProblemKind::Unsupported { .. }
            | ProblemKind::TooLarge { .. }
            | ProblemKind::TooDeep { .. }
            | ProblemKind::WrongType { .. } => self.to_string(),
            kind => format!("problem `{}`", kind.code()),
        }
    }

    /// Adds what to write instead.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// "1 problem", "3 problems".
fn count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    }
}
