//! Directives and knowledge that a call returns into the running thread (SPEC D16).

use std::sync::Arc;

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Primary};
use rye_resolve::ItemId;
use rye_sign::Provenance;
use rye_thread::{
    AddedItem, AuthorisedCall, Need, Needs, OutputContract, Palette, PaletteEntry, PaletteError,
    Tool, ToolOutput, ToolSpec,
};
use rye_types::{Effect, ItemKind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{error_output, kind_of};
use crate::lock::ExecutedPart;
use crate::plan::authority::added_item;
use crate::plan::provenance::row_and_provenance;
use crate::plan::steps::planned_steps;
use crate::primary::{
    PrimaryError, TakenDirective, id, item_id_schema, kind, object_schema, read_arguments,
    read_knowledge, take_directive, take_knowledge, usage,
};
use crate::project::Project;

/// The form in which a thread takes in the steps of a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan) enum Structure {
    /// As plans, for a provider that carries them out without a model.
    Planned,
    /// As text alone, for a model.
    Text,
}

/// All that taking in an item depends on beside the item.
#[derive(Debug, Clone)]
pub(in crate::plan) struct Directions {
    /// The outputs of the thread, which no signer of an added item keeps it from returning.
    pub(in crate::plan) contract: OutputContract,
    pub(in crate::plan) structure: Structure,
    /// The directive of the thread, if what it executes has to be as it was locked.
    pub(in crate::plan) locked_as: Option<ItemId>,
}

/// The kinds of items that are returned into a conversation.
const KINDS: [Kind; 2] = [Kind::Directive, Kind::Knowledge];

/// Lets `rye_execute` return directives and knowledge. A model is shown it for the kinds of which the authority leaves any.
pub(super) fn with_inline(
    palette: Palette,
    project: &Arc<Project>,
    authority: &Authority,
    asked: &Grant,
    directions: Directions,
) -> Result<Palette, PaletteError> {
    let is_open = |kind: &Kind| authority.closed_by(Primary::Execute, *kind).is_none();
    let kinds = KINDS.into_iter().filter(is_open).collect();
    let tool = Arc::new(Inline { project: Arc::clone(project), directions });
    let needs: Arc<dyn Needs> = Arc::clone(&tool) as _;
    let spec = ToolSpec::new("", "", schema());
    // Not read only: what comes back bounds the calls after it.
    let entry = PaletteEntry::operation("rye_execute", spec, needs, Effect::Idempotent, tool);
    palette.with_inline(entry.asking_for(asked), kinds)
}

fn schema() -> Value {
    let properties = json!({
        "item_type": { "type": "string", "enum": KINDS.map(|kind| kind.to_string()) },
        "item_id": item_id_schema(),
        "parameters": { "type": "object" },
    });
    object_schema(&properties, &["item_type", "item_id"])
}

struct Inline {
    project: Arc<Project>,
    directions: Directions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    item_type: String,
    item_id: String,
    #[serde(default)]
    parameters: Map<String, Value>,
}

#[async_trait]
impl Needs for Inline {
    fn need(&self, arguments: &Value, _: &Authority) -> Result<Need, ToolOutput> {
        let need = || {
            let Arguments { item_type, item_id, .. } = read_arguments(arguments.clone())?;
            let kind = kind_of(kind(&item_type)?).ok_or(PrimaryError::Configuration)?;
            let capability = Capability::new(Primary::Execute, kind, id(&item_id)?.as_str());
            capability.map(Need::Exactly).map_err(|error| usage(&error))
        };
        need().map_err(|error| error_output(&error))
    }
}

#[async_trait]
impl Tool for Inline {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        let project = Arc::clone(&self.project);
        let directions = self.directions.clone();
        let take = move || directions.take(&project, arguments);
        let taken = tokio::task::spawn_blocking(take).await;
        let taken = taken.unwrap_or_else(|_| Err(super::no_answer_error()));
        taken.unwrap_or_else(|error| error_output(&error))
    }
}

impl Directions {
    /// The content of an item, with every item that it is made of.
    fn take(&self, project: &Project, arguments: Value) -> Result<ToolOutput, PrimaryError> {
        let Arguments { item_type, item_id, parameters } = read_arguments(arguments)?;
        let id = id(&item_id)?;
        let (content, items) = match kind(&item_type)? {
            ItemKind::Directive => {
                let taken = take_directive(project, &id, &parameters)?;
                self.refuse_unlocked(project, (ItemKind::Directive, &id), &taken.parts())?;
                (taken.content(self.steps(project, &taken)?)?, taken.items())
            }
            ItemKind::Knowledge => {
                let item = take_knowledge(project, &id, &parameters)?;
                let part = ExecutedPart::of(&item);
                self.refuse_unlocked(project, (ItemKind::Knowledge, &id), &[part])?;
                (read_knowledge(&item), vec![row_and_provenance(&item)])
            }
            _ => return Err(PrimaryError::usage("only directives and knowledge are taken in")),
        };
        Ok(ToolOutput::ok(content).with_added(self.added_items(&items)?))
    }

    fn refuse_unlocked(
        &self,
        project: &Project,
        executed: (ItemKind, &ItemId),
        parts: &[ExecutedPart],
    ) -> Result<(), PrimaryError> {
        let Some(thread) = &self.locked_as else { return Ok(()) };
        Ok(project.refuse_unlocked_execution(thread, executed, parts)?)
    }

    fn added_items(&self, items: &[(Value, Provenance)]) -> Result<Vec<AddedItem>, PrimaryError> {
        let added = items.iter().map(|(row, provenance)| {
            added_item(row, provenance, &self.contract).map_err(PrimaryError::from)
        });
        added.collect()
    }

    fn steps(
        &self,
        project: &Project,
        taken: &TakenDirective,
    ) -> Result<(&'static str, Value), PrimaryError> {
        let steps = match self.structure {
            Structure::Text => Vec::new(),
            Structure::Planned => {
                let leaf = taken.chained.chain.leaf();
                planned_steps(&project.library, leaf, &taken.chained.inputs)?
            }
        };
        Ok((
            rye_providers::PLANNED_STEPS,
            steps.iter().map(rye_providers::PlannedStep::to_json).collect(),
        ))
    }
}
