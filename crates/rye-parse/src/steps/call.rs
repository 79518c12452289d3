//! Calls in code spans: `rye_execute(item_type="tool", item_id="x/y", parameters={"a": 1})`.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Action, Primary};
use crate::{problem::Report, strict::Collector};

/// Returns the operation of a call and the text after its `(`; `None` if the code span is not a call.
///
/// `rye_execute(...)` is only a mention of the operation.
pub(super) fn start(code: &str) -> Option<(Primary, &str)> {
    let (name, rest) = code.strip_prefix("rye_")?.split_once('(')?;
    let mention = rest.starts_with("...") || rest.starts_with('…');
    (!mention).then_some((name.parse().ok()?, rest))
}

/// Parses the arguments and the `)` after them. An error is a message for the user.
pub(super) fn read(primary: Primary, arguments: &str) -> Result<Action, String> {
    let mut action = Action::new(primary);
    let mut names = BTreeSet::new();
    let mut rest = arguments.trim_start();
    while !rest.starts_with(')') {
        let (name, after) =
            rest.split_once('=').ok_or_else(|| "`name=value` is expected".to_owned())?;
        let name = name.trim();
        if !crate::name::is_name(name) {
            return Err("`name=value` is expected".to_owned());
        }
        if !names.insert(name) {
            return Err(format!("argument `{name}` is given twice"));
        }
        let (value, after) = value(name, after.trim_start())?;
        set(&mut action, name, value)?;
        rest = after.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if rest.starts_with(')') => rest,
            None => return Err(format!("`,` or `)` is expected after `{name}`")),
        };
    }
    match rest.strip_prefix(')').map(str::trim) {
        Some("") => Ok(action),
        _ => Err("the call does not end at its `)`".to_owned()),
    }
}

fn set(action: &mut Action, name: &str, value: Value) -> Result<(), String> {
    let field = match name {
        "item_type" => &mut action.item_type,
        "item_id" => &mut action.item_id,
        "query" => &mut action.query,
        "scope" => &mut action.scope,
        // Two names of one argument (SPEC 12.4).
        "parameters" | "inputs" => {
            let Value::Object(parameters) = value else {
                return Err(format!("`{name}` is not an object"));
            };
            if !action.parameters.is_empty() {
                return Err("`parameters` and `inputs` are two names of one argument".to_owned());
            }
            action.parameters = parameters;
            return Ok(());
        }
        _ => {
            action.options.insert(name.to_owned(), value);
            return Ok(());
        }
    };
    let Value::String(text) = value else { return Err(format!("`{name}` is not text")) };
    *field = Some(text);
    Ok(())
}

/// Parses one value: JSON, one of Python's words, or text in single quotes. Also returns the text after it.
fn value<'t>(name: &str, text: &'t str) -> Result<(Value, &'t str), String> {
    let not_json = || format!("the value of `{name}` is not JSON");
    if !text.starts_with(['"', '\'', '{', '[']) {
        let end = text.find([',', ')']).ok_or_else(not_json)?;
        let (word, rest) = text.split_at(end);
        let value = match word.trim() {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            word => serde_json::from_str(word).map_err(|_| not_json())?,
        };
        return Ok((value, rest));
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let (inside, rest) =
            quoted.split_once('\'').ok_or_else(|| format!("the text of `{name}` is not closed"))?;
        if inside.contains('\\') {
            return Err(format!("the text of `{name}` has an escape; write it in double quotes"));
        }
        return Ok((Value::String(inside.to_owned()), rest));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (Some(Ok(_)), length) = (values.next(), values.byte_offset()) else {
        return Err(not_json());
    };
    let (json, rest) = text.split_at_checked(length).ok_or_else(not_json)?;
    Ok((strict(name, json)?, rest))
}

/// Parses a JSON value without duplicate keys.
fn strict(name: &str, json: &str) -> Result<Value, String> {
    let wrapped = format!("{{\"value\":{json}}}");
    let collector = Collector::new(&wrapped, 0, "JSON");
    let result = serde::de::DeserializeSeed::deserialize(
        collector.seed(),
        &mut serde_json::Deserializer::from_str(&wrapped),
    );
    let mut report = Report::new(&wrapped);
    let document = collector.finish(&mut report, result.map_err(|error| (error.to_string(), None)));
    match (report.finish(), document) {
        (Ok(_), Some(mut document)) => Ok(document.value.remove("value").unwrap_or(Value::Null)),
        (Err(error), _) => Err(error
            .problems()
            .first()
            .map_or_else(|| format!("`{name}` is not JSON"), ToString::to_string)),
        (Ok(_), None) => Err(format!("`{name}` is not JSON")),
    }
}
