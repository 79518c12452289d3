//! Parsed content, without signature, fence and the places in the file: for following and for reading (SPEC D12).

use std::collections::BTreeMap;

use rye_parse::{Directive, Knowledge, Spanned, ToolManifest};
use rye_prompt::{Origin, Slot};
use rye_resolve::{Item, ItemId, ItemKind};
use serde_json::{Map, Value, json};

use super::error::PrimaryError;
use crate::check::directive_meaning;
use crate::rye::Rye;
use crate::session::{Composed, Placing, PrepareError, chain_warnings, composed, permissions};

/// What an item says of itself; `null` where its text cannot be parsed.
pub(super) fn metadata(item: &Item<String>) -> Value {
    let (source, extension) = (&item.source, item.location.extension());
    match (item.kind, extension) {
        (ItemKind::Directive, _) => {
            rye_parse::directive(source).map_or(Value::Null, |it| directive_metadata(&it))
        }
        (ItemKind::Knowledge, "md") => {
            rye_parse::knowledge(source).map_or(Value::Null, |it| knowledge_metadata(&it))
        }
        (ItemKind::Knowledge, _) => {
            rye_parse::knowledge_yaml(source).map_or(Value::Null, |it| knowledge_metadata(&it))
        }
        (ItemKind::Tool, _) => {
            rye_parse::tool(source, extension).map_or(Value::Null, |it| tool_metadata(&it))
        }
        (ItemKind::Config, _) => Value::Object(Map::new()),
    }
}

/// All of a directive but what it tells the model to do.
fn directive_metadata(directive: &Directive) -> Value {
    let mut meaning = directive_meaning(directive);
    if let Value::Object(members) = &mut meaning {
        members.shift_remove("body");
        members.shift_remove("steps");
    }
    meaning
}

fn knowledge_metadata(knowledge: &Knowledge) -> Value {
    Value::Object(knowledge.metadata.clone())
}

fn tool_metadata(tool: &ToolManifest) -> Value {
    json!({
        "description": tool.description,
        "version": tool.version,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    })
}

/// What somebody follows who takes the directive into a conversation: its parts as data, its steps, and its body with the
/// inputs placed; with the context of its chain, all of it verified.
pub(super) fn followed(
    rye: &Rye,
    id: &ItemId,
    parameters: &Map<String, Value>,
) -> Result<Value, PrimaryError> {
    let leaf = rye.library.directive(id)?;
    let given = inputs(leaf.content.value(), parameters)?;
    let composed = composed(&rye.library, id, &Placing::Values(given))?;
    let directive = composed.chain.leaf().content.value();
    let unplaced = |source| PrepareError::Prompt { id: id.clone(), source };
    let mut placed = directive.clone();
    placed.steps = rye_prompt::steps(directive, &composed.inputs)
        .map_err(unplaced)?
        .into_iter()
        .map(|value| Spanned { value, span: 0..0 })
        .collect();
    let meaning = directive_meaning(&placed);
    let part = |name: &str| meaning.get(name).cloned().unwrap_or(Value::Null);
    let body = rye_prompt::body(directive, &composed.inputs).map_err(unplaced)?;
    let mut warnings = chain_warnings(&composed.chain);
    warnings.extend(rye.trust_notes().iter().map(ToString::to_string));
    Ok(json!({
        "kind": ItemKind::Directive.as_str(),
        "id": id.as_str(),
        "name": part("name"),
        "title": part("title"),
        "version": part("version"),
        "description": part("description"),
        "inputs": composed.inputs.values(),
        "outputs": part("outputs"),
        "permissions": permissions(&composed.chain),
        "context": context(&composed),
        "steps": part("steps"),
        "body": body,
        "warnings": warnings,
    }))
}

/// The inputs by name: the parameters themselves, or their member `inputs`, as older callers write it beside
/// `directive_name`.
fn inputs(
    directive: &Directive,
    parameters: &Map<String, Value>,
) -> Result<BTreeMap<String, Value>, PrimaryError> {
    let is_declared = |name: &str| directive.inputs.iter().any(|it| it.value.name.value == name);
    let listed = match parameters.get("inputs") {
        Some(Value::Object(inputs)) if !is_declared("inputs") => inputs,
        _ => parameters,
    };
    let is_wrapped = !std::ptr::eq(listed, parameters);
    let strange = parameters.keys().find(|key| is_wrapped && !WRAPPING.contains(&key.as_str()));
    if let Some(key) = strange {
        let message =
            format!("`{key}` stands beside `inputs`; put every input into one of the two");
        return Err(PrimaryError::usage(message));
    }
    Ok(listed.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

const WRAPPING: [&str; 2] = ["inputs", "directive_name"];

fn context(composed: &Composed) -> Value {
    let context = &composed.context;
    let slots = [
        (Slot::System, &context.system),
        (Slot::Before, &context.before),
        (Slot::After, &context.after),
    ];
    let pieces = slots.into_iter().flat_map(|(slot, pieces)| {
        pieces.iter().map(move |piece| {
            let id = match &piece.origin {
                Origin::Knowledge(id) => Some(id.as_str()),
                _ => None,
            };
            json!({ "position": slot.as_str(), "id": id, "text": piece.text })
        })
    });
    pieces.collect()
}

/// What somebody reads who takes knowledge into a conversation.
pub(super) fn read(item: &Item<Knowledge>) -> Value {
    let knowledge = item.content.value();
    json!({
        "kind": item.kind.as_str(),
        "id": item.id.as_str(),
        "title": knowledge.title,
        "metadata": knowledge_metadata(knowledge),
        "content": knowledge.body.value,
    })
}
