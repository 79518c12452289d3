//! The directive file: a preamble, one XML fence, and the body that a model reads (SPEC 3).

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

/// A directive file as its author wrote it: nothing is inherited, looked up or filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Directive {
    /// The first `#` heading above the fence.
    pub title: Option<Spanned<String>>,
    /// The `name` attribute, never empty; whether it fits the file's id is not decided here.
    pub name: Spanned<String>,
    /// The `version` attribute, as written.
    pub version: Option<Spanned<String>>,
    /// The id of the directive that this one extends.
    pub extends: Option<Spanned<String>>,
    /// What it does, trimmed.
    pub description: Option<Spanned<String>>,
    /// The folder it says it stands in.
    pub category: Option<Spanned<String>>,
    /// Who wrote it.
    pub author: Option<Spanned<String>>,
    /// The model it asks for.
    pub model: Option<Spanned<Model>>,
    /// The limits it sets.
    pub limits: Limits,
    /// What it declares to need; `None` when no `<permissions>` is written, which is not an empty one (SPEC D5).
    pub permissions: Option<Spanned<Permissions>>,
    /// Context, in document order.
    pub context: Vec<Spanned<ContextEntry>>,
    /// Hooks, in document order.
    pub hooks: Vec<Spanned<Hook>>,
    /// What it expects to use.
    pub cost: Option<Spanned<Cost>>,
    /// The id of the directive that continues a run whose context is full.
    pub continuation_directive: Option<Spanned<String>>,
    /// Inputs, in document order.
    pub inputs: Vec<Spanned<Input>>,
    /// What it returns.
    pub outputs: Outputs,
    /// The trimmed text after the fence, byte for byte, and below it what stands inside the fence (SPEC D9).
    ///
    /// The span is that of the text after the fence, or of the parts inside it when there is none.
    pub body: Spanned<String>,
    /// The steps that could be read from the body (SPEC 3.9).
    pub steps: Vec<Spanned<Step>>,
    /// What is worth saying although it is no error.
    pub notes: Vec<Problem>,
}

/// Reads a directive file.
///
/// # Errors
///
/// Every problem of the file, each with its place. A file is a directive or a list of problems, never half of each.
pub fn directive(source: &str) -> Result<Directive, ParseError> {
    let mut report = Report::new(source);
    let directive = read::read(&mut report);
    let notes = report.finish()?;
    // A report without problems always comes with a directive; should it not, that is a problem too.
    let nothing =
        || ParseError::new(vec![Problem::new(ProblemKind::NoDirective, 0..0, "nothing to read")]);
    Ok(Directive { notes, ..directive.ok_or_else(nothing)? })
}
