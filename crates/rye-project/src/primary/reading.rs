//! Parsed content, without signature, fence and the places in the file: for following and for reading (SPEC D12).

use std::collections::BTreeMap;

use rye_parse::{Directive, Knowledge, Spanned, ToolManifest};
use rye_prompt::{Context, Origin};
use rye_resolve::Item;
use rye_sign::Provenance;
use rye_types::{ItemKind, Position};
use serde_json::{Map, Value, json};

use super::error::PrimaryError;
use crate::config::HOOKS_FILE;
use crate::lock::ExecutedPart;
use crate::plan::{Chained, PrepareError, chain_warnings, permissions, row_and_provenance};
use crate::syntax_json::directive_meaning;

/// Returns the description that an item has of itself; `null` where its text cannot be parsed.
pub(super) fn metadata(item: &Item<String>) -> Value {
    let source = &item.source;
    let extension = item.location.extension();
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

/// A directive that is taken into a conversation, with the context of its chain, all of it verified.
pub(crate) struct TakenDirective {
    pub(crate) chained: Chained,
}

impl TakenDirective {
    /// The directive with its inputs placed, as parts: its directions, what it takes and returns, and what it declares to
    /// need. `steps` is a member with its steps.
    pub(crate) fn content(&self, steps: (&str, Value)) -> Result<Value, PrimaryError> {
        let Chained { chain, inputs, context, .. } = &self.chained;
        let leaf = chain.leaf();
        let directive = leaf.content.value();
        let unplaced = |source| PrepareError::Prompt { id: leaf.id.clone(), source };
        let mut placed = directive.clone();
        placed.outputs = rye_prompt::outputs(directive, inputs).map_err(unplaced)?;
        let meaning = directive_meaning(&placed);
        let part = |name: &str| meaning.get(name).cloned().unwrap_or(Value::Null);
        let body = rye_prompt::body(directive, inputs).map_err(unplaced)?;
        let mut content = json!({
            "kind": ItemKind::Directive.as_str(),
            "id": leaf.id.as_str(),
            "name": part("name"),
            "version": part("version"),
            "description": part("description"),
            "your_directions": body,
            "inputs": inputs.values(),
            "outputs": part("outputs"),
            "permissions": permissions(chain),
            "note": NOTE,
        });
        let (name, steps) = steps;
        let more = [
            ("context", self::context(context)),
            (name, steps),
            ("warnings", chain_warnings(chain).into()),
        ];
        for (name, value) in more {
            if value.as_array().is_some_and(|values| !values.is_empty()) {
                content[name] = value;
            }
        }
        Ok(content)
    }

    /// The items that the content is made of, to compare them with a lock. What a hooks file adds to a chain is configuration,
    /// which the lock compares when the thread begins.
    pub(crate) fn parts(&self) -> Vec<ExecutedPart> {
        let Chained { chain, knowledge, .. } = &self.chained;
        let links = chain.root_first().rev().map(ExecutedPart::of);
        links.chain(knowledge.iter().map(ExecutedPart::of)).collect()
    }

    /// The record of each item that the content is made of, and what vouches for it.
    pub(crate) fn items(&self) -> Vec<(Value, Provenance)> {
        let Chained { chain, knowledge, .. } = &self.chained;
        let links = chain.root_first().rev().map(row_and_provenance);
        let extended_by = chain.extended_by().map(|hook| {
            let file = json!({ "kind": ItemKind::Config.as_str(), "id": HOOKS_FILE });
            (file, hook.provenance.clone())
        });
        links.chain(extended_by).chain(knowledge.iter().map(row_and_provenance)).collect()
    }
}

const NOTE: &str = "Follow `your_directions` with the tools that you have. What you may do is decided as before; \
                    `permissions` only says what the directive declares.";

/// The steps with the inputs placed, as a member of the content.
pub(super) fn steps(taken: &TakenDirective) -> Result<(&'static str, Value), PrimaryError> {
    let Chained { chain, inputs, .. } = &taken.chained;
    let leaf = chain.leaf();
    let mut placed = leaf.content.value().clone();
    placed.steps = rye_prompt::steps(&placed, inputs)
        .map_err(|source| PrepareError::Prompt { id: leaf.id.clone(), source })?
        .into_iter()
        .map(|value| Spanned { value, span: 0..0 })
        .collect();
    let steps = directive_meaning(&placed).get("steps").cloned();
    Ok(("steps", steps.unwrap_or_default()))
}

/// The inputs by name: the parameters themselves, or their member `inputs`, as older callers write it beside
/// `directive_name`.
pub(super) fn inputs(
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

fn context(context: &Context) -> Value {
    let slots = [
        (Position::System, &context.system),
        (Position::Before, &context.before),
        (Position::After, &context.after),
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

/// The text of knowledge with what it says of itself, for a conversation that takes it in.
pub(crate) fn read(item: &Item<Knowledge>) -> Value {
    let knowledge = item.content.value();
    json!({
        "kind": item.kind.as_str(),
        "id": item.id.as_str(),
        "title": knowledge.title,
        "metadata": knowledge_metadata(knowledge),
        "content": knowledge.body.value,
    })
}
