//! References to earlier results, replaced in the parameters of a call.

use std::collections::BTreeSet;

use rye_parse::{Spanned, StepReference, did_you_mean, nearest_name, quoted, step_references};
use serde_json::{Map, Value};

use super::history::Finished;

/// Replaces every reference in the values of `parameters`, at any depth, by the results of the finished
/// steps.
///
/// Returns a message if a reference names no result.
///
/// A text that is exactly one reference becomes the value with its JSON type. Within a longer text, a value
/// that is not text is written as compact JSON. Results are not scanned for references.
pub(super) fn fill(
    parameters: &Map<String, Value>,
    finished: &[Finished<'_>],
) -> Result<Map<String, Value>, String> {
    let filled =
        parameters.iter().map(|(key, value)| Ok((key.clone(), fill_value(value, finished)?)));
    filled.collect()
}

/// Writes values as text, as they are written within a longer text. `names` are the parameters that take text alone. What the author
/// wrote as another value than text stays.
pub fn write_as_text(
    names: &BTreeSet<String>,
    written: &Map<String, Value>,
    parameters: &mut Map<String, Value>,
) {
    for name in names {
        if let (Some(Value::String(_)), Some(value)) = (written.get(name), parameters.get_mut(name))
            && !value.is_string()
        {
            *value = Value::String(value.to_string());
        }
    }
}

fn fill_value(value: &Value, finished: &[Finished<'_>]) -> Result<Value, String> {
    match value {
        Value::String(text) => fill_text(text, finished),
        Value::Array(values) => values.iter().map(|value| fill_value(value, finished)).collect(),
        Value::Object(object) => fill(object, finished).map(Value::Object),
        other => Ok(other.clone()),
    }
}

fn fill_text(text: &str, finished: &[Finished<'_>]) -> Result<Value, String> {
    let references = step_references(text);
    let slice = |range| text.get(range).unwrap_or_default();
    if let [Spanned { value, span }] = references.as_slice()
        && *span == (0..text.len())
    {
        return resolve(value, text, finished).cloned();
    }
    let (mut filled, mut end) = (String::new(), 0);
    for Spanned { value, span } in references {
        filled.push_str(slice(end..span.start));
        match resolve(&value, slice(span.clone()), finished)? {
            Value::String(text) => filled.push_str(text),
            other => filled.push_str(&other.to_string()),
        }
        end = span.end;
    }
    filled.push_str(slice(end..text.len()));
    Ok(Value::String(filled))
}

/// Returns the value of a reference. If the step had several calls, the last result that has the keys counts.
fn resolve<'a>(
    reference: &StepReference,
    written: &str,
    finished: &[Finished<'a>],
) -> Result<&'a Value, String> {
    let StepReference { name: step, path } = reference;
    let Some(found) = finished.iter().rev().find(|finished| finished.step == *step) else {
        let names = || finished.iter().map(|finished| finished.step.as_str());
        let known =
            if finished.is_empty() { "no step has one yet".to_owned() } else { quoted(names()) };
        let meant = did_you_mean(nearest_name(step, names()));
        return Err(format!("`{written}` names a step without a result; with one: {known}{meant}"));
    };
    let mut results = found.results.iter().rev();
    results.find_map(|result| follow(result, path)).ok_or_else(|| {
        let keys = keys(found);
        let meant = path
            .first()
            .map(|key| did_you_mean(nearest_name(key, keys.iter().map(String::as_str))))
            .unwrap_or_default();
        let whole = match keys.is_empty() {
            true => format!("; `${{steps.{step}}}` is all of it"),
            false => String::new(),
        };
        format!(
            "`{written}` names nothing in the result of `{step}`, which has {}{meant}{whole}",
            key_list(&keys)
        )
    })
}

fn follow<'a>(result: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(result, |value, key| match value {
        Value::Object(object) => object.get(key),
        Value::Array(values) => values.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns the keys of a step's results, in order and once each.
pub(super) fn keys(finished: &Finished<'_>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for key in finished.results.iter().filter_map(|result| result.as_object()).flat_map(Map::keys) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}

/// Returns the keys in backticks, or `no keys`.
pub(super) fn key_list(keys: &[String]) -> String {
    if keys.is_empty() { "no keys".to_owned() } else { quoted(keys.iter().map(String::as_str)) }
}
