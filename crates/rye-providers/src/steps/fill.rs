//! References to earlier results, replaced in the parameters of a call.

use rye_parse::{did_you_mean, nearest_name, quoted};
use serde_json::{Map, Value};

use super::history::Finished;
use super::reference::{Piece, Reference, pieces};

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

fn fill_value(value: &Value, finished: &[Finished<'_>]) -> Result<Value, String> {
    match value {
        Value::String(text) => fill_text(text, finished),
        Value::Array(values) => values.iter().map(|value| fill_value(value, finished)).collect(),
        Value::Object(object) => fill(object, finished).map(Value::Object),
        other => Ok(other.clone()),
    }
}

fn fill_text(text: &str, finished: &[Finished<'_>]) -> Result<Value, String> {
    let pieces = pieces(text);
    if let [Piece::Reference(reference)] = pieces.as_slice() {
        return resolve(reference, finished).cloned();
    }
    let mut filled = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Reference(reference) => match resolve(&reference, finished)? {
                Value::String(text) => filled.push_str(text),
                other => filled.push_str(&other.to_string()),
            },
        }
    }
    Ok(Value::String(filled))
}

/// Returns the value of a reference. If the step had several calls, the last result that has the keys counts.
fn resolve<'a>(reference: &Reference<'_>, finished: &[Finished<'a>]) -> Result<&'a Value, String> {
    let Reference { step, path, written } = reference;
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
        format!(
            "`{written}` names nothing in the result of `{step}`, which has {}{meant}",
            key_list(&keys)
        )
    })
}

fn follow<'a>(result: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(result, |value, key| match value {
        Value::Object(object) => object.get(*key),
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
