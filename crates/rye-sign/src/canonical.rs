//! The canonical text of a JSON value.

use serde_json::Value;

/// Writes JSON without white space and with the keys of every object in the order of their code points.
///
/// Strings and numbers are written as `serde_json` writes them; no character outside the escapes of JSON is escaped.
///
/// The text is that of RFC 8785, but for three rare values. Integers above 2^53 stay exact: RFC 8785 reads them as doubles, so that
/// a signature would also fit the neighbours of a number. Fractions have the digits of `serde_json`, such as `1.0`. Keys beyond the
/// Basic Multilingual Plane stand in the order of code points, and not of UTF-16 units.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (n, item) in items.iter().enumerate() {
                separate(n, text);
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (n, (key, member)) in members.into_iter().enumerate() {
                separate(n, text);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(member, text);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string())
        }
    }
}

fn separate(n: usize, text: &mut String) {
    if n > 0 {
        text.push(',');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::canonical_json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": [1, {"z": null, "a": "\u{e9}\n\""}], "a": {}, "B": 1.5, "": true});
        assert_eq!(
            canonical_json(&value),
            r#"{"":true,"B":1.5,"a":{},"b":[1,{"a":"é\n\"","z":null}]}"#
        );
    }

    proptest! {
        #[test]
        fn order_of_members_does_not_matter(mut members in proptest::collection::btree_map(".*", any::<i64>(), 0..8)) {
            let forward: Value = members.iter().map(|(k, v)| (k.clone(), Value::from(*v))).collect();
            let backward: Value = members.iter().rev().map(|(k, v)| (k.clone(), Value::from(*v))).collect();
            let text = canonical_json(&forward);
            prop_assert_eq!(&text, &canonical_json(&backward));
            prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("canonical JSON is JSON"), forward);
            members.clear();
        }
    }
}
