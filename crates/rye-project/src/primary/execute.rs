//! Running a tool, or taking a directive or knowledge into the conversation (SPEC D12).

use rye_caps::Primary;
use rye_parse::Knowledge;
use rye_resolve::{Item, ItemId};
use rye_thread::ToolStatus;
use rye_types::ItemKind;
use serde_json::{Map, Value};

use super::caller::Caller;
use super::error::PrimaryError;
use super::operation::{id, kind};
use super::reading::{self, TakenDirective};
use super::tool;
use crate::plan::{Placing, resolve_chain};
use crate::project::Project;

/// An item to execute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExecuteRequest {
    /// The sort of item.
    pub kind: ItemKind,
    /// Its id.
    pub id: ItemId,
    /// The arguments of a tool, or the inputs of a directive.
    pub parameters: Map<String, Value>,
}

impl ExecuteRequest {
    /// Reads the kind and the id of an item without parameters.
    ///
    /// # Errors
    ///
    /// [`PrimaryError::Usage`] if a word names no kind or no id.
    pub fn parse(item_type: &str, item_id: &str) -> Result<Self, PrimaryError> {
        Ok(Self::new(kind(item_type)?, id(item_id)?))
    }

    /// An item without parameters.
    #[must_use]
    pub fn new(kind: ItemKind, id: ItemId) -> Self {
        Self { kind, id, parameters: Map::new() }
    }

    /// The same with these parameters.
    #[must_use]
    pub fn with(self, parameters: Map<String, Value>) -> Self {
        Self { parameters, ..self }
    }
}

/// The result of an execution.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Executed {
    /// The text of a directive or knowledge, without signature and fence. For a tool, its result as a thread
    /// would show it to a model.
    pub content: Value,
    /// The status of the tool. A directive or knowledge that is read has the status `Ok`.
    pub status: ToolStatus,
}

impl Executed {
    pub(super) fn read(content: Value) -> Self {
        Self { content, status: ToolStatus::Ok }
    }

    /// The content.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.content.clone()
    }
}

/// Runs the tool, or returns the parsed content of the directive or the knowledge for a reader. No thread
/// begins.
///
/// A caller that may load a directive or knowledge may also have it this way, because it is the same text.
///
/// # Errors
///
/// The function fails if the caller may not execute the item, if the item cannot be had, or if the inputs do
/// not fit. It fails too if the tool cannot run here. A tool that fails is no error but a result with that
/// status.
pub async fn execute(
    project: &Project,
    request: &ExecuteRequest,
    caller: &Caller,
) -> Result<Executed, PrimaryError> {
    let ExecuteRequest { kind, id, parameters } = request;
    match kind {
        ItemKind::Tool => {
            let output = tool::call(project, id, parameters.clone(), caller).await?;
            Ok(Executed { content: output.content, status: output.status })
        }
        ItemKind::Directive => {
            readable(caller, *kind, id)?;
            let taken = take_directive(project, id, parameters)?;
            let steps = reading::steps(&taken)?;
            taken.content(steps).map(Executed::read)
        }
        ItemKind::Knowledge => {
            readable(caller, *kind, id)?;
            take_knowledge(project, id, parameters).map(|item| Executed::read(reading::read(&item)))
        }
        ItemKind::Config => Err(PrimaryError::usage("configuration is not executed; load it")),
    }
}

fn readable(caller: &Caller, kind: ItemKind, id: &ItemId) -> Result<(), PrimaryError> {
    if caller.may(Primary::Load, kind, id) {
        return Ok(());
    }
    caller.permit(Primary::Execute, kind, id).map(drop)
}

/// Takes a directive into a conversation, for a caller that may.
pub(crate) fn take_directive(
    project: &Project,
    id: &ItemId,
    parameters: &Map<String, Value>,
) -> Result<TakenDirective, PrimaryError> {
    let library = project.library.without_drafts();
    let leaf = library.directive(id)?;
    let given = reading::inputs(leaf.content.value(), parameters)?;
    let chained = resolve_chain(&library, id, &Placing::Values(given))?;
    Ok(TakenDirective { chained })
}

/// Takes knowledge into a conversation, for a caller that may.
pub(crate) fn take_knowledge(
    project: &Project,
    id: &ItemId,
    parameters: &Map<String, Value>,
) -> Result<Item<Knowledge>, PrimaryError> {
    refuse_parameters(parameters)?;
    Ok(project.library.without_drafts().knowledge(id)?)
}

fn refuse_parameters(parameters: &Map<String, Value>) -> Result<(), PrimaryError> {
    if parameters.is_empty() {
        return Ok(());
    }
    Err(PrimaryError::usage("knowledge takes no parameters; leave `parameters` out"))
}
