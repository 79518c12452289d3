//! References to the results of steps, as a model reads them.

use rye_parse::{Spanned, StepReference, step_references};
use serde_json::Value;

/// Writes a reference as what it is: `[result of step list: listing]`. There are no characters in it that XML, JSON or Markdown
/// would read, but those of the names.
pub(super) fn shown_result(reference: &StepReference) -> String {
    let StepReference { name, path } = reference;
    match path.as_slice() {
        [] => format!("[result of step {name}]"),
        path => format!("[result of step {name}: {}]", path.join(".")),
    }
}

/// Replaces the references in every text of a JSON value.
pub(crate) fn shown_results(value: &Value) -> Value {
    match value {
        Value::String(text) => shown_text(text).into(),
        Value::Array(items) => items.iter().map(shown_results).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), shown_results(value))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn shown_text(text: &str) -> String {
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for Spanned { value, span } in step_references(text) {
        shown.push_str(text.get(end..span.start).unwrap_or_default());
        shown.push_str(&shown_result(&value));
        end = span.end;
    }
    shown.push_str(text.get(end..).unwrap_or_default());
    shown
}
