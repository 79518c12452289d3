//! One thing worth saying about a file.

use std::ops::Range;

use rye_parse::Problem;
use rye_resolve::{DeclaredProblem, ItemId};
use rye_types::ItemKind;
use strum::IntoStaticStr;

/// The code of a file outside of all spaces.
pub(super) const FORM_ONLY: &str = "form-only";

/// The code of the finding for a file without a signature.
pub(super) const UNSIGNED: &str = "unsigned";

/// The code of the finding for a file that the operator changed since signing it.
pub(super) const DRAFT: &str = "draft";

/// The code of the finding for a file whose key is not trusted here.
pub(super) const UNKNOWN_KEY: &str = "unknown-key";

/// The severity of a finding, lightest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
        self.into()
    }
}

/// One thing worth saying about a file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The severity of the finding.
    pub severity: Severity,
    /// A stable name, for reports that machines read.
    pub code: &'static str,
    /// The problem, in words.
    pub message: String,
    /// A few words for the place itself.
    pub label: String,
    /// The text to write instead, if it is known.
    pub help: Option<String>,
    /// The bytes of the file that it is about.
    pub span: Range<usize>,
    /// `true` if `rye sign` refuses the file because of this finding.
    pub bars_signing: bool,
    /// The item that it names and that is not there, for which the nearest one is looked up.
    pub(super) missing: Option<(ItemKind, ItemId)>,
    /// The cause, where it lies in a file that many others share: one of them tells it for all.
    pub(super) shared: Option<String>,
}

impl Finding {
    /// Returns `true` for the notes that nothing vouches for the file here: it is unsigned, or signed by a key that is not
    /// trusted. They have no place worth showing.
    #[must_use]
    pub fn is_unvouched(&self) -> bool {
        // An unknown key of a mapping has the same code, and is an error.
        self.severity == Severity::Note && [UNSIGNED, UNKNOWN_KEY].contains(&self.code)
    }

    /// Returns `true` for the notes that nothing vouches for the file, and that it changed since the operator signed it. They
    /// repeat no words of the file.
    pub(crate) fn is_about_signing(&self) -> bool {
        self.is_unvouched() || self.code == DRAFT
    }

    /// Returns the problem and what to do in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message),
            None => self.message.clone(),
        }
    }

    pub(super) fn error(code: &'static str, message: &str, span: Range<usize>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.to_owned(),
            label: "here".to_owned(),
            help: None,
            span,
            bars_signing: true,
            missing: None,
            shared: None,
        }
    }

    /// A finding that is probably not meant and bars nothing.
    pub(super) fn warning(code: &'static str, message: &str, span: Range<usize>) -> Self {
        Self {
            severity: Severity::Warning,
            bars_signing: false,
            ..Self::error(code, message, span)
        }
    }

    /// A finding that is worth knowing.
    pub(super) fn remark(code: &'static str, message: &str, span: Range<usize>) -> Self {
        Self { severity: Severity::Note, ..Self::warning(code, message, span) }
    }

    /// The same with a few words for its place.
    pub(super) fn with_label(self, label: &str) -> Self {
        Self { label: label.to_owned(), ..self }
    }

    /// The same with what to write or do instead.
    pub(super) fn with_help(self, help: &str) -> Self {
        Self { help: Some(help.to_owned()), ..self }
    }

    /// A claim of the item about itself that its place contradicts (SPEC 1.5).
    pub(super) fn of_claim(problem: &DeclaredProblem) -> Self {
        let error = Self::error(problem.code(), &problem.to_string(), problem.span().clone());
        let claim = Self { severity: Severity::Warning, ..error };
        claim.with_help("correct it before you sign: `rye sign` refuses it, and a run warns of it")
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
            missing: None,
            shared: None,
        }
    }

    pub(super) fn without_text(problem: &Problem) -> Self {
        Self { message: problem.without_text(), help: None, ..Self::problem(problem) }
    }

    pub(super) fn note(problem: &Problem) -> Self {
        Self { severity: Severity::Note, bars_signing: false, ..Self::problem(problem) }
    }
}
