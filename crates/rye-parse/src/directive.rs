//! Directive files: a preamble, one XML fence, and the body for the model (SPEC 3).

use crate::{ParseError, Problem, ProblemKind, Spanned, Step, problem::Report};

pub(crate) mod context;
pub(crate) mod cost;
mod fence;
pub(crate) mod hooks;
pub(crate) mod limits;
pub(crate) mod model;
pub(crate) mod permissions;
pub(crate) mod ports;
mod read;

use context::ContextEntry;
use cost::Cost;
use hooks::Hook;
use limits::Limits;
use model::Model;
use permissions::Permissions;
use ports::{Input, Outputs};

/// A directive file as written: nothing is inherited, resolved or filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Directive {
    /// The first `#` heading above the fence.
    pub title: Option<Spanned<String>>,
    /// The `name` attribute, never empty. The parser does not check that it fits the id of the file.
    pub name: Spanned<String>,
    /// The `version` attribute, as written.
    pub version: Option<Spanned<String>>,
    /// The id of the directive that this one extends.
    pub extends: Option<Spanned<String>>,
    /// The trimmed description of the directive.
    pub description: Option<Spanned<String>>,
    /// The folder of the file, as the file states it.
    pub category: Option<Spanned<String>>,
    /// The author of the directive.
    pub author: Option<Spanned<String>>,
    /// The model that the directive requests.
    pub model: Option<Spanned<Model>>,
    /// The limits that the directive sets.
    pub limits: Limits,
    /// The declared permissions. `None` if `<permissions>` is absent, which differs from an empty element (SPEC D5).
    pub permissions: Option<Spanned<Permissions>>,
    /// Context, in document order.
    pub context: Vec<Spanned<ContextEntry>>,
    /// Hooks, in document order.
    pub hooks: Vec<Spanned<Hook>>,
    /// The expected use of resources.
    pub cost: Option<Spanned<Cost>>,
    /// The id of the directive that continues a run whose context is full.
    pub continuation_directive: Option<Spanned<String>>,
    /// Inputs, in document order.
    pub inputs: Vec<Spanned<Input>>,
    /// The declared outputs.
    pub outputs: Outputs,
    /// The trimmed text after the fence, byte for byte, and after it the parts of the body inside the fence (SPEC D9).
    ///
    /// The span is that of the text after the fence or, if there is none, of the parts inside the fence.
    pub body: Spanned<String>,
    /// The parsed steps of the body (SPEC 3.9).
    pub steps: Vec<Spanned<Step>>,
    /// Problems that do not make the directive invalid.
    pub notes: Vec<Problem>,
}

/// Parses a directive file.
///
/// # Errors
///
/// Every problem of the file, with its place. If there is any problem, no directive is returned.
pub fn directive(source: &str) -> Result<Directive, ParseError> {
    let mut report = Report::new(source);
    let directive = read::read(&mut report);
    let notes = report.finish()?;
    // A report without problems always comes with a directive. If it does not, that is reported as a problem.
    let nothing =
        || ParseError::new(vec![Problem::new(ProblemKind::NoDirective, 0..0, "nothing to read")]);
    Ok(Directive { notes, ..directive.ok_or_else(nothing)? })
}
