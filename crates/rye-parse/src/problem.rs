//! The problems of a file and their places.

use std::{fmt, ops::Range};

mod kind;
mod report;

pub use kind::ProblemKind;
pub(crate) use report::Report;

/// All problems of one file, in the order of its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", count(.problems.len()))]
#[non_exhaustive]
pub struct ParseError {
    problems: Vec<Problem>,
}

impl ParseError {
    /// Sorts problems by their places.
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        Self { problems }
    }

    /// The problems, sorted by place. There is at least one. After 200 problems, one last problem has the number of the
    /// others.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// One problem of a file (in a value's `notes`, a remark) and its solution.
///
/// `Display` writes the whole message without the place: the kind and, if there is a help, `; ` and the help.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The problem as data.
    pub kind: ProblemKind,
    /// The bytes of the file with the problem; both ends are character boundaries.
    pub span: Range<usize>,
    /// A few words to display at the place.
    pub label: String,
    /// The correct form, if known.
    pub help: Option<String>,
}

impl Problem {
    /// Makes a problem without help.
    pub(crate) fn new(kind: ProblemKind, span: Range<usize>, label: impl Into<String>) -> Self {
        Self { kind, span, label: label.into(), help: None }
    }

    /// Returns the message without any text of the file, for files that may contain a secret anywhere.
    #[must_use]
    pub fn without_text(&self) -> String {
        // Parsers describe a place by its keys, which may be anything, and quote parts of the file.
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

    /// Adds the correct form.
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

/// Writes "1 problem" or "3 problems".
fn count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        n => format!("{n} problems"),
    }
}
