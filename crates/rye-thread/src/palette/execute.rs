//! `rye_execute`: one tool that runs the others by item id.

use rye_caps::Kind;
use serde_json::{Map, Value, json};

use crate::{DIRECTIVE_RETURN, OutputContract, ToolSpec};

/// The palette name. No other tool gets it.
pub(crate) const EXECUTE: &str = "rye_execute";

/// Returns the description of `rye_execute` for the model.
///
/// `fork` is the entry that starts children, if the thread may have any, and supplies the schema. Items of the `inline`
/// kinds are returned into the conversation.
pub(super) fn spec<'a>(
    ids: impl Iterator<Item = &'a str>,
    contract: &OutputContract,
    fork: Option<&ToolSpec>,
    inline: &[Kind],
) -> ToolSpec {
    let returns = (!contract.is_empty()).then_some(DIRECTIVE_RETURN);
    let mut ids: Vec<&str> = ids.chain(returns).collect();
    ids.sort_unstable();
    let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
    let mut spec = ToolSpec::new(
        EXECUTE,
        &format!(
            "Runs a tool by its item id with the parameters that it takes. Item ids: {known}."
        ),
        json!({
            "type": "object",
            "properties": {
                "item_type": {"type": "string", "enum": ["tool"]},
                "item_id": {"type": "string"},
                "parameters": {"type": "object"},
            },
            "required": ["item_type", "item_id"],
            "additionalProperties": false,
        }),
    );
    admit_items(&mut spec, fork, inline);
    spec
}

/// Describes the uses of items that are not tools.
fn admit_items(spec: &mut ToolSpec, fork: Option<&ToolSpec>, inline: &[Kind]) {
    let (directives, knowledge) =
        (inline.contains(&Kind::Directive), inline.contains(&Kind::Knowledge));
    if directives {
        spec.description += " With `item_type: \"directive\"` it returns the directions of a directive for you to follow \
                             here, with its inputs as `parameters`.";
    }
    if knowledge {
        spec.description +=
            " With `item_type: \"knowledge\"` it returns the text of a knowledge entry.";
    }
    if fork.is_some() {
        spec.description += " With `item_type: \"directive\"` and `thread: \"fork\"` it runs a directive in a thread of \
                             its own, with its inputs as `parameters`.";
    }
    let kinds =
        [(directives || fork.is_some(), "directive"), (knowledge, "knowledge"), (true, "tool")];
    let kinds: Vec<&str> =
        kinds.into_iter().filter(|(is_shown, _)| *is_shown).map(|(_, kind)| kind).collect();
    let properties = &mut spec.input_schema["properties"];
    properties["item_type"] = json!({"type": "string", "enum": kinds});
    if kinds.contains(&"directive") {
        properties["inputs"] = json!({"type": "object", "description": OTHER_NAME});
    }
    let Some(fork) = fork else { return };
    properties["thread"] = json!({"type": "string", "enum": ["fork"]});
    for name in FORK_KEYS {
        if let Some(schema) = fork.input_schema["properties"].get(name) {
            properties[name] = schema.clone();
        }
    }
}

const OTHER_NAME: &str = "Another name of `parameters`, for a directive.";

/// The kind of call that arguments of `rye_execute` make, valid or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Execution {
    /// Returns a directive into the conversation.
    Directive,
    /// Runs a directive in its own thread.
    Fork,
    /// Returns knowledge into the conversation.
    Knowledge,
    /// Runs a tool.
    Tool,
}

pub(super) fn execution(arguments: &Value) -> Execution {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match (text("item_type"), text("thread")) {
        (Some("directive"), Some("fork")) => Execution::Fork,
        (Some("directive"), _) => Execution::Directive,
        (Some("knowledge"), _) => Execution::Knowledge,
        _ => Execution::Tool,
    }
}

/// Returns every problem of the form of arguments of `rye_execute` that mean a directive or knowledge, as a call of them would be
/// refused.
#[must_use]
pub fn execution_problems(arguments: &Value) -> Vec<String> {
    let converted = match execution(arguments) {
        Execution::Fork => fork_arguments(arguments),
        Execution::Directive | Execution::Knowledge => inline_arguments(arguments),
        Execution::Tool => return Vec::new(),
    };
    converted.err().unwrap_or_default()
}

/// Converts the arguments of `rye_execute` to those of the tool that starts children, or returns every problem.
pub(super) fn fork_arguments(arguments: &Value) -> Result<Value, Vec<String>> {
    let given = members(arguments)?;
    let mut problems = Vec::new();
    let own = KEYS.iter().chain(&FORK_KEYS).chain(&["inputs", "thread"]);
    for key in given.keys().filter(|key| own.clone().all(|known| known != key)) {
        problems.push(format!(
            "`{key}` is not an argument of `{EXECUTE}` for a directive; use `item_type`, `item_id`, `parameters`, \
             `thread`, `async`, `limits`"
        ));
    }
    if given.get("thread").and_then(Value::as_str) != Some("fork") {
        problems
            .push("`thread` must be `fork`: a directive runs in a thread of its own".to_owned());
    }
    problems.extend(two_names(given));
    if !problems.is_empty() {
        return Err(problems);
    }
    let named = [("item_id", "directive"), ("parameters", "inputs"), ("inputs", "inputs")];
    Ok(rename_members(given, named.into_iter().chain(FORK_KEYS.map(|key| (key, key)))))
}

/// Converts the arguments of `rye_execute` to those of the inline entry, or returns every problem.
pub(super) fn inline_arguments(arguments: &Value) -> Result<Value, Vec<String>> {
    let given = members(arguments)?;
    let mut problems = Vec::new();
    for key in given.keys() {
        match key.as_str() {
            "item_type" | "item_id" | "parameters" | "inputs" | "thread" => {}
            "async" | "limits" => {
                problems.push(format!("`{key}` is for `thread: \"fork\"`; leave it out"));
            }
            _ => problems.push(format!(
                "`{key}` is not an argument of `{EXECUTE}`; use `item_type`, `item_id`, `parameters`"
            )),
        }
    }
    if given.get("thread").is_some_and(|thread| thread != "inline") {
        let inline =
            "`thread` must be `inline`, which it is when left out, or `fork` for a directive";
        problems.push(inline.to_owned());
    }
    if !given.get("item_id").is_some_and(Value::is_string) {
        problems.push("`item_id` must be a string that names the item".to_owned());
    }
    for key in ["parameters", "inputs"] {
        if given.get(key).is_some_and(|value| !value.is_object()) {
            problems.push(format!("`{key}` must be an object"));
        }
    }
    problems.extend(two_names(given));
    if !problems.is_empty() {
        return Err(problems);
    }
    let named = [
        ("item_type", "item_type"),
        ("item_id", "item_id"),
        ("parameters", "parameters"),
        ("inputs", "parameters"),
    ];
    Ok(rename_members(given, named))
}

fn members(arguments: &Value) -> Result<&Map<String, Value>, Vec<String>> {
    let problem = || vec![format!("arguments of `{EXECUTE}` must be an object")];
    arguments.as_object().ok_or_else(problem)
}

/// Returns the given members under other names, as pairs of the old and the new name say.
fn rename_members<'n>(
    given: &Map<String, Value>,
    names: impl IntoIterator<Item = (&'n str, &'n str)>,
) -> Value {
    let named = names.into_iter();
    named.filter_map(|(old, new)| Some((new.to_owned(), given.get(old)?.clone()))).collect()
}

/// Returns the problem of a call that gives one argument under both of its names.
fn two_names(given: &Map<String, Value>) -> Option<String> {
    let has_both = given.contains_key("parameters") && given.contains_key("inputs");
    let problem = "`inputs` is another name of `parameters`; give one of the two";
    has_both.then(|| problem.to_owned())
}

/// Returns the item id and the parameters of a call, or every problem with it.
pub(crate) fn arguments(arguments: &Value) -> Result<(&str, Value), Vec<String>> {
    let given = members(arguments)?;
    let mut problems = Vec::new();
    for key in given.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        problems.push(format!(
            "`{key}` is not an argument of `{EXECUTE}`; use `item_type`, `item_id`, `parameters`"
        ));
    }
    if given.get("item_type").and_then(Value::as_str) != Some("tool") {
        problems.push(
            "`item_type` must be `tool`, the only kind of item that this thread can execute"
                .to_owned(),
        );
    }
    let id = given.get("item_id").and_then(Value::as_str);
    if id.is_none() {
        problems.push("`item_id` must be a string that names a tool".to_owned());
    }
    let parameters = match given.get("parameters") {
        None => Value::Object(Map::new()),
        Some(parameters) => parameters.clone(),
    };
    if !parameters.is_object() {
        problems.push("`parameters` must be an object".to_owned());
    }
    match id {
        Some(id) if problems.is_empty() => Ok((id, parameters)),
        _ => Err(problems),
    }
}

/// The arguments for a child beside its directive and inputs.
const FORK_KEYS: [&str; 2] = ["async", "limits"];
const KEYS: [&str; 3] = ["item_type", "item_id", "parameters"];
