//! Comparisons with the items that a turn called. An event names each tool by its id, and a condition may use an alias.

use crate::aliases::tool_id;
use rye_parse::{Condition, Operator};
use serde_json::Value;

/// The path of the list of called items in the data of an event.
pub(crate) const CALLED_ITEMS: &str = "called_items";

/// Returns `true` if the value at this path of an event's data is a called item or the list of them.
pub(crate) fn holds_items(path: &str) -> bool {
    path == CALLED_ITEMS || path.starts_with("calls.") && path.ends_with(".item_id")
}

/// Replaces each alias of a tool by the tool's id, where a condition compares it with called items.
pub(super) fn resolve_aliases(condition: &mut Condition) {
    match condition {
        Condition::Compare { operator: Operator::Regex, .. } => {}
        Condition::Compare { path, value: Some(value), .. } if holds_items(path) => {
            resolve_value(value);
        }
        Condition::Any(inner) | Condition::All(inner) => {
            inner.iter_mut().for_each(|inner| resolve_aliases(&mut inner.value));
        }
        Condition::Not(inner) => resolve_aliases(&mut inner.value),
        _ => {}
    }
}

fn resolve_value(value: &mut Value) {
    match value {
        Value::String(id) => *id = tool_id(id).to_owned(),
        Value::Array(ids) => ids.iter_mut().for_each(resolve_value),
        _ => {}
    }
}
