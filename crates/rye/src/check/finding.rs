//! One thing worth saying about a file.

use std::ops::Range;

use rye_parse::Problem;

/// How much a finding weighs, lightest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably not meant.
    Warning,
    /// Cannot stay.
    Error,
}

impl Severity {
    /// The word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing worth saying about a file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A stable name, for reports that machines read.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// A few words for the place itself.
    pub label: String,
    /// What to write instead, when that is known.
    pub help: Option<String>,
    /// The bytes of the file that it is about.
    pub span: Range<usize>,
    /// Whether it keeps the file from being signed although it is no error.
    pub bars_signing: bool,
}

impl Finding {
    pub(super) fn error(code: &'static str, message: &str, span: Range<usize>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.to_owned(),
            label: "here".to_owned(),
            help: None,
            span,
            bars_signing: true,
        }
    }

    /// A claim of the item about itself that its place contradicts (SPEC 1.5).
    pub(super) fn claim(code: &'static str, message: &str, span: Range<usize>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message, span) }
    }

    pub(super) fn problem(problem: &Problem) -> Self {
        Self {
            severity: Severity::Error,
            code: problem.kind.code(),
            message: problem.kind.to_string(),
            label: problem.label.clone(),
            help: problem.help.clone(),
            span: problem.span.clone(),
            bars_signing: true,
        }
    }

    pub(super) fn without_text(problem: &Problem) -> Self {
        Self { message: problem.without_text(), help: None, ..Self::problem(problem) }
    }

    pub(super) fn note(problem: &Problem) -> Self {
        Self { severity: Severity::Note, bars_signing: false, ..Self::problem(problem) }
    }
}
