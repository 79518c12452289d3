//! `rye_execute`: one tool that runs the others by item id.

use serde_json::{Map, Value, json};

use crate::{DIRECTIVE_RETURN, OutputContract, ToolSpec};

/// The palette name, which no other tool gets.
pub(crate) const EXECUTE: &str = "rye_execute";

/// What the model is shown.
///
/// `fork` is what starts children, where the thread may have any; its schema says how.
pub(super) fn spec<'a>(
    ids: impl Iterator<Item = &'a str>,
    contract: &OutputContract,
    fork: Option<&ToolSpec>,
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
    if let Some(fork) = fork {
        admit_fork(&mut spec, fork);
    }
    spec
}

fn admit_fork(spec: &mut ToolSpec, fork: &ToolSpec) {
    spec.description += " With `item_type: \"directive\"` and `thread: \"fork\"` it runs a directive in a thread of its \
                         own, with its inputs as `parameters`.";
    let properties = &mut spec.input_schema["properties"];
    properties["item_type"] = json!({"type": "string", "enum": ["directive", "tool"]});
    properties["thread"] = json!({"type": "string", "enum": ["fork"]});
    for name in FORK_KEYS {
        if let Some(schema) = fork.input_schema["properties"].get(name) {
            properties[name] = schema.clone();
        }
    }
}

/// Whether the arguments are those of a directive to run in a thread of its own, right or wrong.
pub(super) fn is_fork(arguments: &Value) -> bool {
    arguments.get("item_type").and_then(Value::as_str) == Some("directive")
}

/// The arguments of the tool that starts children, out of those of `rye_execute`, or every problem with them.
pub(super) fn fork_arguments(arguments: &Value) -> Result<Value, Vec<String>> {
    let Value::Object(given) = arguments else {
        return Err(vec![format!("arguments of `{EXECUTE}` must be an object")]);
    };
    let mut problems = Vec::new();
    let known = |key: &&String| KEYS.iter().chain(&FORK_KEYS).any(|known| known == key);
    for key in given.keys().filter(|key| *key != "thread" && !known(key)) {
        problems.push(format!(
            "`{key}` is not an argument of `{EXECUTE}` for a directive; use `item_type`, `item_id`, `parameters`, \
             `thread`, `async`, `limits`"
        ));
    }
    if given.get("thread").and_then(Value::as_str) != Some("fork") {
        problems
            .push("`thread` must be `fork`: a directive runs in a thread of its own".to_owned());
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut arguments = Map::new();
    let named = [("item_id", "directive"), ("parameters", "inputs")];
    for (key, name) in named.into_iter().chain(FORK_KEYS.map(|key| (key, key))) {
        arguments.extend(given.get(key).map(|value| (name.to_owned(), value.clone())));
    }
    Ok(Value::Object(arguments))
}

/// The item id and the parameters of a call, or every problem with it.
pub(crate) fn arguments(arguments: &Value) -> Result<(&str, Value), Vec<String>> {
    let Value::Object(given) = arguments else {
        return Err(vec![format!("arguments of `{EXECUTE}` must be an object")]);
    };
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

/// What a child may be asked for beside its directive and inputs.
const FORK_KEYS: [&str; 2] = ["async", "limits"];
const KEYS: [&str; 3] = ["item_type", "item_id", "parameters"];
