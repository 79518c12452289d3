//! The system template of a provider (SPEC 8.4).

use rye_parse::{Action, Step, quoted};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::json::{canonical, compact};
use crate::placement::shown_results;
use crate::{Inputs, Link, RenderError, steps};

/// The facts that a system template can contain.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "the facts behind the five placeholders of SPEC 8.4")]
pub struct SystemFacts<'a> {
    /// The directive that runs.
    pub leaf: Link<'a>,
    /// The bound inputs of the directive.
    pub inputs: &'a Inputs,
    /// The tool names of the palette, in its order.
    pub tool_names: &'a [String],
}

/// Fills a provider's `prompts.system_template`, which [`opening`](crate::opening) puts first.
///
/// The placeholders are `{directive_name}`, `{directive_description}`, `{directive_steps}` (numbered, each action as a
/// tool call in canonical JSON), `{directive_inputs}` (a JSON object) and `{tool_names}` (separated by commas).
/// Inserted text is not scanned for placeholders. Other braces are text.
///
/// # Errors
///
/// [`TemplateError::Unknown`] for unknown names that begin like a valid one, so that a typing error does not reach a
/// model as text. [`TemplateError::Steps`] if the template shows the steps and their placeholders cannot be filled.
pub fn system(template: &str, facts: &SystemFacts<'_>) -> Result<String, TemplateError> {
    let mut filled = String::with_capacity(template.len());
    let mut unknown = Vec::new();
    let mut rest = template;
    while let Some((before, from_brace)) = rest.find('{').and_then(|at| rest.split_at_checked(at)) {
        filled.push_str(before);
        let (written, after) = token(from_brace);
        match fact(written, facts)? {
            Some(fact) => filled.push_str(&fact),
            None => filled.push_str(written),
        }
        if is_slip(written) && !unknown.iter().any(|slip| slip == written) {
            unknown.push(written.to_owned());
        }
        rest = after;
    }
    filled.push_str(rest);
    if unknown.is_empty() { Ok(filled) } else { Err(TemplateError::Unknown { unknown }) }
}

/// A system template that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// Unknown placeholders that begin with `{directive_` or `{tool_`.
    #[error(
        "the system template has unknown placeholders: {}; valid: {}",
        quoted(unknown.iter().map(String::as_str)),
        quoted(PLACEHOLDERS)
    )]
    Unknown {
        /// The placeholders as written, without duplicates. There is at least one.
        unknown: Vec<String>,
    },
    /// The steps of the directive cannot be shown.
    #[error("the system template shows steps that cannot be filled in")]
    Steps {
        /// The problems of their placeholders.
        #[from]
        source: RenderError,
    },
}

const PLACEHOLDERS: [&str; 5] = [
    "{directive_name}",
    "{directive_description}",
    "{directive_steps}",
    "{directive_inputs}",
    "{tool_names}",
];

/// Splits a text that begins with a brace into `{a_name}`, or only the brace, and the rest.
fn token(from_brace: &str) -> (&str, &str) {
    let after_brace = from_brace.get(1..).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let after_name = after_brace.trim_start_matches(is_name);
    // The text after the closing brace of a name, or else the text after the opening brace.
    let rest = after_name.strip_prefix('}').unwrap_or(after_brace);
    from_brace.split_at_checked(from_brace.len() - rest.len()).unwrap_or((from_brace, ""))
}

fn fact(placeholder: &str, facts: &SystemFacts<'_>) -> Result<Option<String>, RenderError> {
    let directive = facts.leaf.directive;
    Ok(Some(match placeholder {
        "{directive_name}" => directive.name.value.clone(),
        "{directive_description}" => {
            directive.description.as_ref().map(|text| text.value.clone()).unwrap_or_default()
        }
        "{directive_steps}" => listing(&steps(directive, facts.inputs)?),
        "{directive_inputs}" => compact(&json!(facts.inputs.values())),
        "{tool_names}" => facts.tool_names.join(", "),
        _ => return Ok(None),
    }))
}

fn is_slip(written: &str) -> bool {
    !PLACEHOLDERS.contains(&written)
        && ["{directive_", "{tool_"].iter().any(|start| written.starts_with(start))
}

/// Writes the steps as a numbered list, each followed by its calls.
fn listing(steps: &[Step]) -> String {
    steps
        .iter()
        .enumerate()
        .map(|(index, step)| entry(index + 1, step))
        .collect::<Vec<_>>()
        .join("\n")
}

fn entry(number: usize, step: &Step) -> String {
    let description = Some(step.description.trim()).filter(|description| !description.is_empty());
    let title =
        [step.name.as_deref(), description].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let mut lines = vec![format!("{number}. {title}").trim_end().to_owned()];
    lines.extend(step.actions.iter().map(|action| canonical(&call(&action.value))));
    lines.join("\n")
}

/// Writes an action as the call of the primary tool that performs it.
fn call(action: &Action) -> Value {
    let texts = [
        ("item_type", &action.item_type),
        ("item_id", &action.item_id),
        ("query", &action.query),
        ("scope", &action.scope),
    ];
    let mut arguments: Map<String, Value> = texts
        .into_iter()
        .filter_map(|(key, text)| Some((key.to_owned(), Value::from(text.as_deref()?))))
        .collect();
    if !action.parameters.is_empty() {
        let parameters = shown_results(&Value::Object(action.parameters.clone()));
        arguments.insert("parameters".to_owned(), parameters);
    }
    arguments.extend(action.options.clone());
    json!({ "name": format!("rye_{}", action.primary.as_str()), "arguments": arguments })
}
