//! Giving the texts of a step's parameters the types that the tool declares.

use crate::aliases::tool_id;
use rye_resolve::{ItemId, Library};
use serde_json::{Map, Value};

/// Reads each text as JSON where the tool's schema wants something else than text: a step written in XML has no other
/// way to say `true` or `3`. What does not fit is left as it is, for the tool's own check to refuse.
pub(crate) fn with_types(
    library: &Library,
    item_id: Option<&str>,
    parameters: Map<String, Value>,
) -> Map<String, Value> {
    match item_id.and_then(|id| schema(library, id)) {
        Some(schema) => typed_by(&schema, parameters),
        None => parameters,
    }
}

/// The same by a schema that is at hand.
pub(crate) fn typed_by(schema: &Value, parameters: Map<String, Value>) -> Map<String, Value> {
    let wanted = |name: &str| schema.get("properties")?.get(name)?.get("type");
    let typed = |name: &str, value: Value| match (wanted(name), value) {
        (Some(Value::String(wanted)), Value::String(text)) => read(wanted, text),
        (_, value) => value,
    };
    parameters.into_iter().map(|(name, value)| (name.clone(), typed(&name, value))).collect()
}

fn schema(library: &Library, id: &str) -> Option<Value> {
    let id: ItemId = tool_id(id).parse().ok()?;
    Some(library.tool(&id).ok()?.content.value().input_schema.clone())
}

fn read(wanted: &str, text: String) -> Value {
    let value = serde_json::from_str(text.trim()).unwrap_or(Value::Null);
    let fits = match wanted {
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    if fits { value } else { Value::String(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(wanted: &str, text: &str, expected: &Value) {
        assert_eq!(read(wanted, text.to_owned()), *expected);
    }

    #[test]
    fn text_becomes_what_is_wanted() {
        check("boolean", "true", &json!(true));
        check("integer", " 3 ", &json!(3));
        check("number", "0.5", &json!(0.5));
        check("array", "[1]", &json!([1]));
        check("object", "{\"a\": 1}", &json!({"a": 1}));
    }

    #[test]
    fn what_does_not_fit_stays_text() {
        check("string", "3", &json!("3"));
        check("integer", "3.5", &json!("3.5"));
        check("boolean", "yes", &json!("yes"));
        check("boolean", "${steps.a.b}", &json!("${steps.a.b}"));
        check("array", "1", &json!("1"));
    }
}
