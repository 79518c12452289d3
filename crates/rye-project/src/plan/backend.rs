//! The backend of a tool's manifest, and the texts in manifests that take arguments.

use std::sync::Arc;

use rye_parse::{Fallback, Placeholder, placeholders};
use rye_sandbox::{Placing, Template};
use rye_thread::Tool;
use rye_types::Effect;
use serde_json::{Map, Value};

/// The backend of a manifest.
pub(crate) struct Backend {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) effect: Effect,
    pub(crate) starts_programs: bool,
    /// `true` if it sends requests to other machines.
    pub(crate) reaches_web: bool,
    /// `true` if an MCP server answers its calls.
    pub(crate) uses_servers: bool,
}

impl Backend {
    /// A tool that runs within this program.
    pub(crate) fn in_process(tool: Arc<dyn Tool>, effect: Effect) -> Self {
        Self { tool, effect, starts_programs: false, reaches_web: false, uses_servers: false }
    }

    /// A tool that sends requests.
    pub(crate) fn of_web(tool: Arc<dyn Tool>, effect: Effect) -> Self {
        Self { reaches_web: true, ..Self::in_process(tool, effect) }
    }

    /// A tool that starts programs.
    pub(crate) fn of_program(tool: Arc<dyn Tool>) -> Self {
        Self { starts_programs: true, ..Self::in_process(tool, Effect::Once) }
    }
}

/// Returns the names of the arguments that an input schema has.
pub(crate) fn parameters(schema: &Value) -> Vec<String> {
    let named = schema.get("properties").and_then(Value::as_object);
    named.into_iter().flat_map(Map::keys).cloned().collect()
}

/// Parses a text of a manifest with the places of its arguments. The error says why it has none.
pub(crate) fn template(text: &str, parameters: &[String]) -> Result<Template, String> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for found in placeholders(text) {
        let before = text.get(end..found.span.start).unwrap_or_default();
        if !before.is_empty() {
            pieces.push(Placing::Text(before.to_owned()));
        }
        pieces.push(match found.value {
            Placeholder::Escaped { text } => Placing::Text(text),
            found => placing(found, parameters)?,
        });
        end = found.span.end;
    }
    let rest = text.get(end..).unwrap_or_default();
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(Placing::Text(rest.to_owned()));
    }
    Ok(Template::new(pieces))
}

fn placing(found: Placeholder, parameters: &[String]) -> Result<Placing, String> {
    let Placeholder::Input { name, fallback } = found else {
        return Err("it names a step, which tools do not have".to_owned());
    };
    if !parameters.contains(&name) {
        return Err(format!(
            "it has a place for `{name}`, which is no property of its input schema"
        ));
    }
    Ok(match fallback {
        Fallback::None => Placing::Needed(name),
        Fallback::Empty => Placing::Optional(name, None),
        Fallback::Default(text) => Placing::Optional(name, Some(text)),
    })
}
