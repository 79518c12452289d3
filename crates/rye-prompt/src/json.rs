//! The two forms of JSON in prompts.

use std::collections::BTreeMap;

use serde_json::Value;

/// Writes JSON without spaces, with the keys in their given order (SPEC 6.2).
pub(crate) fn compact(value: &Value) -> String {
    value.to_string()
}

/// Writes JSON without spaces, with the keys sorted at every depth, so that equal values give equal bytes.
pub(crate) fn canonical(value: &Value) -> String {
    sort_keys(value).to_string()
}

/// Writes a string as a JSON literal with its quotes.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("because text is always JSON")
}

fn sort_keys(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sort_keys).collect(),
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> =
                fields.iter().map(|(key, value)| (key, sort_keys(value))).collect();
            fields.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compact_keeps_the_given_order() {
        assert_eq!(
            compact(&json!({"b": [1, 2.5, null], "a": "é\n"})),
            r#"{"b":[1,2.5,null],"a":"é\n"}"#
        );
    }

    #[test]
    fn canonical_sorts_at_every_depth() {
        assert_eq!(
            canonical(&json!({"b": [{"z": 1, "y": 2}], "a": {"d": 1, "c": 2}})),
            r#"{"a":{"c":2,"d":1},"b":[{"y":2,"z":1}]}"#
        );
    }

    #[test]
    fn quoted_escapes_only_what_json_needs() {
        assert_eq!(quote("a\"b\\c\td</é"), r#""a\"b\\c\td</é""#);
    }
}
