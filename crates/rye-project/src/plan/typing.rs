//! Giving the texts of a step's parameters the types that the tool declares.

use std::collections::BTreeSet;

use crate::aliases::tool_id;
use rye_resolve::{ItemId, Library};
use rye_types::ValueType;
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

/// Returns the parameters that take text alone, by the inputs of a directive or the schema of a tool.
pub(super) fn texts_of(
    library: &Library,
    kind: Option<&str>,
    id: Option<&str>,
) -> BTreeSet<String> {
    let names = match (kind, id) {
        (Some("directive"), Some(id)) => id.parse().ok().and_then(|id: ItemId| {
            let directive = library.directive(&id).ok()?;
            let inputs = directive.content.value().inputs.iter().map(|input| &input.value);
            let texts = inputs.filter(|input| input.value_type == ValueType::String);
            Some(texts.map(|input| input.name.value.clone()).collect())
        }),
        (Some("tool"), Some(id)) => schema(library, id).map(|schema| texts_by(&schema)),
        _ => None,
    };
    names.unwrap_or_default()
}

/// Returns the members of a schema that are text alone.
pub(super) fn texts_by(schema: &Value) -> BTreeSet<String> {
    let mut members = Vec::new();
    let mut left = MOST_PARTS;
    collect_members(schema, schema, &mut left, &mut members);
    let is_text = |name: &&String| {
        let mut types = Types::default();
        let mut left = MOST_PARTS;
        for member in members.iter().filter_map(|members| members.get(*name)) {
            types.collect(schema, member, &mut left);
        }
        types.is_text()
    };
    members.iter().flat_map(|members| members.keys()).filter(is_text).cloned().collect()
}

/// The same by a schema that is at hand.
pub(crate) fn typed_by(schema: &Value, parameters: Map<String, Value>) -> Map<String, Value> {
    let mut members = Vec::new();
    let mut left = MOST_PARTS;
    collect_members(schema, schema, &mut left, &mut members);
    let typed = |name: &str, value: Value| {
        let Value::String(text) = value else { return value };
        let mut types = Types::default();
        let mut left = MOST_PARTS;
        for member in members.iter().filter_map(|members| members.get(name)) {
            types.collect(schema, member, &mut left);
        }
        types.read(text)
    };
    parameters.into_iter().map(|(name, value)| (name.clone(), typed(&name, value))).collect()
}

/// The most parts of a schema that are looked at. References may form a circle.
const MOST_PARTS: usize = 256;

/// Collects the members of the object that a schema describes, also behind local references.
fn collect_members<'a>(
    root: &'a Value,
    schema: &'a Value,
    left: &mut usize,
    members: &mut Vec<&'a Map<String, Value>>,
) {
    members.extend(schema.get("properties").and_then(Value::as_object));
    for part in list(schema, "allOf").iter().chain(target(root, schema)) {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        collect_members(root, part, left, members);
    }
}

/// The types that a schema allows.
#[derive(Debug, Default)]
struct Types<'a> {
    names: Vec<&'a str>,
    /// `true` if a part of the schema names no type.
    has_others: bool,
}

impl<'a> Types<'a> {
    /// Adds the types of a schema, which follow from its alternatives and from local references.
    fn collect(&mut self, root: &'a Value, schema: &'a Value, left: &mut usize) {
        let named = match schema.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => list(schema, "enum").iter().chain(schema.get("const")).map(type_of).collect(),
        };
        if !named.is_empty() {
            return self.names.extend(named);
        }
        let parts = ["anyOf", "oneOf", "allOf"].iter().flat_map(|name| list(schema, name));
        let parts: Vec<&Value> = parts.chain(target(root, schema)).collect();
        self.has_others |= parts.is_empty();
        for part in parts {
            let Some(fewer) = left.checked_sub(1) else {
                self.has_others = true;
                return;
            };
            *left = fewer;
            self.collect(root, part, left);
        }
    }

    /// Returns `true` if nothing but text is allowed.
    fn is_text(&self) -> bool {
        !self.has_others
            && !self.names.is_empty()
            && self.names.iter().all(|name| *name == "string")
    }

    /// Returns the text as the value that it is, if that has one of the types. Where text is allowed, it stays text.
    fn read(&self, text: String) -> Value {
        if self.has_others || self.names.contains(&"string") {
            return Value::String(text);
        }
        let value = self.names.iter().find_map(|name| read(name, &text));
        value.unwrap_or(Value::String(text))
    }
}

fn list<'a>(schema: &'a Value, name: &str) -> &'a [Value] {
    schema.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the schema that a local reference leads to.
fn target<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn schema(library: &Library, id: &str) -> Option<Value> {
    let id: ItemId = tool_id(id).parse().ok()?;
    Some(library.tool(&id).ok()?.content.value().input_schema.clone())
}

/// Returns the value of the wanted type that the text is.
fn read(wanted: &str, text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    let fits = match wanted {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    fits.then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(wanted: &str, text: &str, expected: &Value) {
        let schema = json!({ "properties": { "a": { "type": wanted } } });
        check_schema(&schema, text, expected);
    }

    #[track_caller]
    fn check_schema(schema: &Value, text: &str, expected: &Value) {
        let given = Map::from_iter([("a".to_owned(), text.into())]);
        assert_eq!(typed_by(schema, given)["a"], *expected, "{schema} {text}");
    }

    /// Schemas as kits for servers write them, such as for `Optional[int]`.
    #[test]
    fn references_and_alternatives_are_followed() {
        let integer = json!({ "type": "integer" });
        let none = json!({ "type": "null" });
        let text = json!({ "type": "string" });
        let point = json!({ "type": "object" });
        for (member, text, expected) in [
            (json!({ "anyOf": [integer, none] }), "3", json!(3)),
            (json!({ "anyOf": [integer, none] }), "null", json!(null)),
            (json!({ "anyOf": [integer, none] }), "three", json!("three")),
            (json!({ "oneOf": [none, { "type": "array" }] }), "[1]", json!([1])),
            (json!({ "anyOf": [integer, text] }), "3", json!("3")),
            (json!({ "anyOf": [integer, {}] }), "3", json!("3")),
            (json!({ "type": ["integer", "null"] }), "3", json!(3)),
            (json!({ "type": ["string", "null"] }), "null", json!("null")),
            (json!({ "$ref": "#/$defs/point" }), "{\"x\": 1}", json!({ "x": 1 })),
            (json!({ "anyOf": [{ "$ref": "#/$defs/point" }, none] }), "{}", json!({})),
            (json!({ "allOf": [{ "$ref": "#/$defs/point" }] }), "{}", json!({})),
            (json!({ "$ref": "#/$defs/way" }), "{}", json!({})),
            (json!({ "$ref": "#/$defs/circle" }), "3", json!("3")),
            (json!({ "$ref": "https://example.org/point" }), "{}", json!("{}")),
            (json!({ "$ref": "#/$defs/none" }), "{}", json!("{}")),
            (json!({ "enum": [1, 2] }), "2", json!(2)),
            (json!({ "enum": ["1", "2"] }), "2", json!("2")),
            (json!({ "const": true }), "true", json!(true)),
            (json!({}), "3", json!("3")),
        ] {
            let definitions = json!({
                "point": point,
                "way": { "$ref": "#/$defs/point" },
                "circle": { "$ref": "#/$defs/circle" },
            });
            let schema = json!({ "properties": { "a": member }, "$defs": definitions });
            check_schema(&schema, text, &expected);
            // The object itself may be behind a reference.
            let mut behind = json!({ "$ref": "#/$defs/all", "$defs": definitions });
            behind["$defs"]["all"] = json!({ "properties": { "a": member } });
            check_schema(&behind, text, &expected);
        }
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
