//! The problems of placeholders.

use std::fmt;

use rye_parse::{did_you_mean, quoted};
use thiserror::Error;

/// All reasons why a prompt could not be made, with the valid names of placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct RenderError {
    problems: Vec<RenderProblem>,
    valid: Vec<String>,
}

impl RenderError {
    pub(super) fn new<'a>(
        problems: Vec<RenderProblem>,
        valid: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self { problems, valid: valid.into_iter().map(str::to_owned).collect() }
    }

    /// The problems in the order of the prompt. There is at least one.
    pub fn problems(&self) -> &[RenderProblem] {
        &self.problems
    }

    /// The declared inputs, sorted.
    pub fn valid(&self) -> &[String] {
        &self.valid
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            write!(f, "{problem}; ")?;
        }
        match self.valid.as_slice() {
            [] => write!(f, "the directive declares no inputs"),
            valid => write!(f, "declared inputs: {}", quoted(valid.iter().map(String::as_str))),
        }
    }
}

/// One reason why a prompt could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RenderProblem {
    /// A placeholder names an input that the directive does not declare.
    #[error("{part} uses the undeclared input `{written}`{}", did_you_mean(suggestion.as_deref()))]
    Undeclared {
        /// The part with the placeholder.
        part: Part,
        /// The placeholder as written, with its braces.
        written: String,
        /// The declared name that is similar to it.
        suggestion: Option<String>,
    },
    /// A required input has no value, and the placeholder has no default.
    #[error("{part} needs the required input `{name}`, which has no value")]
    Absent {
        /// The part with the placeholder.
        part: Part,
        /// The declared name.
        name: String,
    },
    /// The values that are placed in the prompt are too large together.
    #[error("{part} makes the prompt too large: the values in it have more than {limit} bytes")]
    TooLarge {
        /// The part with the placeholder that did not fit.
        part: Part,
        /// The most bytes of values in one prompt.
        limit: usize,
    },
    /// There are too many problems to report each of them. This one comes last.
    #[error("{count} more problems of these kinds")]
    More {
        /// The number of problems that are not reported.
        count: usize,
    },
}

/// A part of a directive that may contain placeholders (SPEC 6.2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// The raw permissions slice.
    Permissions,
    /// The text that the model follows.
    Body,
    /// The labels of the outputs.
    Outputs,
    /// A structured step, by its number, starting from one.
    Step(usize),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permissions => write!(f, "the permissions block"),
            Self::Body => write!(f, "the body"),
            Self::Outputs => write!(f, "the outputs block"),
            Self::Step(number) => write!(f, "step {number}"),
        }
    }
}
