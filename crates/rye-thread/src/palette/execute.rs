//! `rye_execute`: one tool that runs the others by item id.

use serde_json::{Map, Value, json};

use crate::{DIRECTIVE_RETURN, OutputContract, ToolSpec};

/// The palette name, which no other tool gets.
pub(crate) const EXECUTE: &str = "rye_execute";

/// What the model is shown.
pub(super) fn spec<'a>(ids: impl Iterator<Item = &'a str>, contract: &OutputContract) -> ToolSpec {
    let returns = (!contract.is_empty()).then_some(DIRECTIVE_RETURN);
    let mut ids: Vec<&str> = ids.chain(returns).collect();
    ids.sort_unstable();
    let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
    ToolSpec::new(
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
    )
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

const KEYS: [&str; 3] = ["item_type", "item_id", "parameters"];
