//! Instructions for a model that has a directive followed.

use rye_parse::{Directive, Input};
use rye_resolve::ItemId;
use rye_types::ValueType;
use serde_json::{Map, Value, json};

use super::markdown::{code, one_line};

/// The way in which the reader of an exported text gets the directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an export has to say one of them")]
pub enum Access<'a> {
    /// From the text itself, which the exporting program rendered with placeholders as written.
    Text(&'a str),
    /// From the MCP server that serves the text.
    ThisServer,
    /// From the MCP server `rye mcp`, which the reader's client starts.
    RyeServer,
}

/// Returns the title of a directive, or its id where it has none.
pub(super) fn title(id: &ItemId, directive: &Directive) -> String {
    let title = directive.title.as_ref().map(|title| one_line(&title.value));
    title.filter(|title| !title.is_empty()).unwrap_or_else(|| id.to_string())
}

/// Returns the description of a directive as sentences in one line.
pub(super) fn description(id: &ItemId, directive: &Directive) -> String {
    let text = directive.description.as_ref().map(|text| one_line(&text.value));
    let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| title(id, directive));
    if text.ends_with(['.', '!', '?', '…']) { text } else { format!("{text}.") }
}

/// Returns the steps by which a model gets the directive and follows it.
pub(super) fn steps(id: &ItemId, directive: &Directive, access: Access<'_>) -> String {
    let server = match access {
        Access::Text(text) => return text_to_follow(text, directive),
        Access::ThisServer => "this server",
        Access::RyeServer => "the MCP server `rye`",
    };
    let call = json!({
        "item_type": "directive",
        "item_id": id.as_str(),
        "parameters": example(directive),
    });
    let call = serde_json::to_string_pretty(&call).unwrap_or_default();
    let call = call.lines().map(|line| format!("   {line}\n")).collect::<String>();
    format!(
        "The directive {id} decides what is done. Its text comes from {server}, which verifies its signature first.\n\n\
         1. Call the tool `rye_execute` of {server} with these arguments, with the values of the task in `parameters`:\n\n   \
         ```json\n{call}   ```\n\n{RULES}",
        id = code(id.as_str()),
    )
}

/// The steps after the call.
pub(super) const RULES: &str = "2. Follow `your_directions` of the result, within what you may do here.\n\
     3. If the call fails, tell the user what its error says, and stop. Only the user can change trust and permissions.\n";

fn text_to_follow(text: &str, directive: &Directive) -> String {
    let placeholders = match directive.inputs.is_empty() {
        true => "",
        false => {
            "Follow these instructions. `{input:NAME}` and `${inputs.NAME}` stand for the values of the parameters above.\n\n"
        }
    };
    format!("{placeholders}{}\n", text.trim_end())
}

/// Returns the parameters of a directive as a list.
pub(super) fn parameters(directive: &Directive) -> String {
    if directive.inputs.is_empty() {
        return "The directive takes no parameters.\n".to_owned();
    }
    directive.inputs.iter().map(|input| parameter(&input.value)).collect()
}

fn parameter(input: &Input) -> String {
    let mut facts = vec![input.value_type.to_string()];
    facts.push(if is_needed(input) { "required" } else { "optional" }.to_owned());
    facts.extend(input.default.as_ref().map(|default| match default.value.is_empty() {
        true => "default is empty".to_owned(),
        false => format!("default {}", code(&default.value)),
    }));
    if !input.choices.is_empty() {
        let choices: Vec<String> = input.choices.iter().map(|choice| code(choice)).collect();
        facts.push(format!("one of {}", choices.join(", ")));
    }
    let name = code(&input.name.value);
    match one_line(&input.description) {
        description if description.is_empty() => format!("- {name} ({})\n", facts.join(", ")),
        description => format!("- {name} ({}): {description}\n", facts.join(", ")),
    }
}

fn is_needed(input: &Input) -> bool {
    input.required && input.default.is_none()
}

/// Returns a value for each input that has to be given, in the form of its type.
fn example(directive: &Directive) -> Map<String, Value> {
    let inputs = directive.inputs.iter().map(|input| &input.value).filter(|it| is_needed(it));
    inputs.map(|input| (input.name.value.clone(), value(input))).collect()
}

fn value(input: &Input) -> Value {
    match input.value_type {
        ValueType::String => input.choices.first().map_or("…", String::as_str).into(),
        ValueType::Integer | ValueType::Number => 0.into(),
        ValueType::Boolean => false.into(),
        ValueType::Array => json!([]),
        ValueType::Object => json!({}),
    }
}
