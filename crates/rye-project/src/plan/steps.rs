//! The steps of a directive, planned so that they are carried out without a model (SPEC 10.13).

use rye_parse::{Directive, ProblemKind, Step};
use rye_prompt::{Inputs, steps};
use rye_providers::{PlannedCall, PlannedOutput, PlannedStep, StepsProvider, write_as_text};
use rye_resolve::{Item, ItemId, Library};
use rye_thread::{DIRECTIVE_RETURN, OutputContract};
use rye_types::ItemKind;
use serde_json::{Map, Value, json};

use super::contract::contract;
use super::error::PrepareError;
use super::prompting::Composed;
use super::request::Placing;
use super::typing::{texts_by, texts_of, typed_by, with_types};
use crate::aliases::tool_id;
use crate::primary::Operation;

/// The provider that follows the directive's own steps (SPEC 10.13).
pub(super) fn steps_provider(
    library: &Library,
    composed: &Composed,
    placing: &Placing,
) -> Result<StepsProvider, PrepareError> {
    let leaf = composed.chain.leaf();
    if leaf.content.value().steps.iter().all(|step| step.value.actions.is_empty()) {
        return Err(PrepareError::NoSteps { id: leaf.id.clone() });
    }
    let steps = match placing {
        Placing::Values(_) => planned_steps(library, leaf, &composed.inputs)?,
        Placing::AsWritten => steps_as_written(library, leaf)?,
    };
    let outputs = outputs(&contract(&composed.chain)?);
    Ok(StepsProvider::new(steps, outputs))
}

/// The steps of a directive with its inputs placed, as plans.
pub(super) fn planned_steps(
    library: &Library,
    directive: &Item<Directive>,
    inputs: &Inputs,
) -> Result<Vec<PlannedStep>, PrepareError> {
    refuse_references(&directive.id, inputs)?;
    let as_written = steps_as_written(library, directive)?;
    let placed = steps(directive.content.value(), inputs)
        .map_err(|source| PrepareError::Prompt { id: directive.id.clone(), source })?;
    let placed = plan_each(library, directive, placed);
    refuse_new_references(&directive.id, &as_written, &placed)?;
    Ok(placed)
}

/// The steps of a directive with their placeholders, for which no inputs are needed.
fn steps_as_written(
    library: &Library,
    directive: &Item<Directive>,
) -> Result<Vec<PlannedStep>, PrepareError> {
    refuse_unreadable_calls(directive)?;
    refuse_unknown_tools(library, directive)?;
    let written = directive.content.value().steps.iter().map(|step| step.value.clone());
    Ok(plan_each(library, directive, written.collect()))
}

/// Plans the steps of the directive, in which inputs may be placed.
fn plan_each(library: &Library, directive: &Item<Directive>, steps: Vec<Step>) -> Vec<PlannedStep> {
    let written = directive.content.value().steps.iter().map(|step| &step.value);
    let steps = steps.into_iter().zip(written).enumerate();
    steps.map(|(index, (step, written))| planned_step(library, index, step, written)).collect()
}

/// A call that cannot be read, or that does not say what it executes, would be left out, and the run would seem to be complete.
fn refuse_unreadable_calls(directive: &Item<Directive>) -> Result<(), PrepareError> {
    let read = directive.content.value();
    let is_lost = |kind: &ProblemKind| matches!(kind, ProblemKind::UnreadableStep { .. });
    let lost = read.notes.iter().filter(|note| is_lost(&note.kind));
    let lost = lost.map(|note| (note.span.start, note.to_string()));
    let actions = read.steps.iter().flat_map(|step| &step.value.actions);
    let incomplete = actions
        .filter(|action| action.value.primary == rye_parse::Primary::Execute)
        .filter(|action| action.value.item_type.is_none() || action.value.item_id.is_none());
    let incomplete = incomplete
        .map(|action| (action.span.start, "the call needs `item_type` and `item_id`".to_owned()));
    let mut calls: Vec<(usize, String)> = lost.chain(incomplete).collect();
    if calls.is_empty() {
        return Ok(());
    }
    calls.sort();
    let source = &directive.source;
    let line = |at: usize| source.get(..at).map_or(0, |before| before.matches('\n').count()) + 1;
    let calls = calls.into_iter().map(|(at, why)| format!("line {}: {why}", line(at))).collect();
    Err(PrepareError::UnreadableSteps { id: directive.id.clone(), calls })
}

/// A tool that is not there cannot be granted either, and to say so would lead nowhere. What placeholders stand for is known
/// when the step is followed.
fn refuse_unknown_tools(library: &Library, leaf: &Item<Directive>) -> Result<(), PrepareError> {
    for (index, step) in leaf.content.value().steps.iter().map(|step| &step.value).enumerate() {
        let actions = step.actions.iter().map(|action| &action.value);
        let named = actions
            .filter(|action| action.primary == rye_parse::Primary::Execute)
            .filter(|action| action.item_type.as_deref() == Some("tool"))
            .filter_map(|action| tool_id(action.item_id.as_deref()?).parse::<ItemId>().ok());
        for tool in named.filter(|tool| tool.as_str() != DIRECTIVE_RETURN) {
            let found = library.locate(ItemKind::Tool, &tool);
            if let Err(source @ rye_resolve::ResolveError::NotFound { .. }) = found {
                let step = step.name.clone().unwrap_or_else(|| (index + 1).to_string());
                let id = leaf.id.clone();
                let source = Box::new(source);
                return Err(PrepareError::UnknownTool { id, step, source });
            }
        }
    }
    Ok(())
}

/// A given value is data and never scanned again (SPEC 6.2), but a step's text is, for the results of earlier steps.
pub(super) fn refuse_references(id: &ItemId, inputs: &Inputs) -> Result<(), PrepareError> {
    let values = inputs.values().iter();
    let named = values
        .filter(|(_, value)| value.to_string().contains("${steps."))
        .map(|(name, _)| name.clone());
    match named.collect::<Vec<_>>() {
        names if names.is_empty() => Ok(()),
        names => Err(PrepareError::InputReference { id: id.clone(), names }),
    }
}

/// Values can also make a reference together with the text around them, or with each other.
fn refuse_new_references(
    id: &ItemId,
    written: &[PlannedStep],
    placed: &[PlannedStep],
) -> Result<(), PrepareError> {
    let references =
        |step: &PlannedStep| step.calls.iter().map(PlannedCall::references).sum::<usize>();
    let made = written.iter().zip(placed).find(|(a, b)| references(a) != references(b));
    made.map_or(Ok(()), |(step, _)| {
        Err(PrepareError::MadeReference { id: id.clone(), step: step.name.clone() })
    })
}

fn outputs(contract: &OutputContract) -> Vec<PlannedOutput> {
    let planned = |name: &str, required| {
        if required { PlannedOutput::required(name) } else { PlannedOutput::optional(name) }
    };
    contract.fields().iter().map(|field| planned(&field.name, field.required)).collect()
}

/// Plans a step whose inputs are placed. `written` is the same step as its author wrote it.
fn planned_step(library: &Library, index: usize, step: Step, written: &Step) -> PlannedStep {
    let name = step.name.unwrap_or_else(|| format!("step_{}", index + 1));
    let actions = step.actions.into_iter().zip(&written.actions);
    let calls = actions
        .map(|(action, written)| planned_call(library, action.value, &written.value.parameters))
        .collect();
    PlannedStep::new(&name, &step.description, calls)
}

fn planned_call(
    library: &Library,
    action: rye_parse::Action,
    written: &Map<String, Value>,
) -> PlannedCall {
    let primary = action.primary.as_str();
    let (kind, id) = (action.item_type.as_deref(), action.item_id.as_deref());
    let operation =
        Operation::ALL.iter().copied().find(|it| it.name().strip_prefix("rye_") == Some(primary));
    let mut arguments = action.parameters;
    let Some(operation) = operation else {
        let texts = texts_of(library, kind, id);
        write_as_text(&texts, written, &mut arguments);
        let parameters = with_types(library, id, arguments);
        let call = PlannedCall::new(primary, kind, id, parameters).with_texts(texts);
        return call.with_options(fork_options(action.options));
    };
    let texts = texts_by(&operation.input_schema());
    write_as_text(&texts, written, &mut arguments);
    arguments.extend(action.options);
    arguments.extend(action.query.map(|query| ("query".to_owned(), query.into())));
    arguments.extend(action.scope.map(|scope| ("scope".to_owned(), scope.into())));
    let arguments = typed_by(&operation.input_schema(), arguments);
    PlannedCall::new(primary, kind, id, arguments).with_texts(texts)
}

/// Returns the options of an action that concern the thread in which a directive runs.
fn fork_options(options: Map<String, Value>) -> Map<String, Value> {
    let own = options.into_iter().filter(|(name, _)| ["thread", "async"].contains(&name.as_str()));
    let schema = json!({ "properties": { "async": { "type": "boolean" } } });
    typed_by(&schema, own.collect())
}
