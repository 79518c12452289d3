//! The text of a tool's manifest (SPEC 5.1).

use serde_json::Value;

use super::scalar;

/// Writes a value as YAML, in the block style for mappings that are not empty. `indent` is the number of spaces before each line.
pub(crate) fn yaml(value: &Value, indent: usize) -> String {
    let space = " ".repeat(indent);
    match value {
        Value::Object(members) if !members.is_empty() => members
            .iter()
            .map(|(name, value)| {
                let name = key(name);
                match value {
                    Value::Object(inner) if !inner.is_empty() => {
                        format!("{space}{name}:\n{}", yaml(value, indent + 2))
                    }
                    _ => format!("{space}{name}: {}\n", flow(value)),
                }
            })
            .collect(),
        _ => format!("{space}{}\n", flow(value)),
    }
}

fn key(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && scalar(name) == name;
    if is_plain { name.to_owned() } else { super::quoted(name) }
}

/// The value on one line. JSON is YAML, but for texts, which may stand plain.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(values)
            if values.iter().all(|value| !value.is_object() && !value.is_array()) =>
        {
            let values: Vec<String> = values.iter().map(flow_inside).collect();
            format!("[{}]", values.join(", "))
        }
        _ => value.to_string(),
    }
}

fn flow_inside(value: &Value) -> String {
    match value {
        // A comma would end a plain text there.
        Value::String(text) => scalar(text),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::yaml;

    #[test]
    fn what_is_written_is_read_back() {
        for value in [
            json!({ "type": "object", "properties": { "a b": { "type": ["string", "null"], "enum": ["yes", "a, b", "1"] } }, "required": [] }),
            json!({ "n": 1.5, "t": true, "no": null, "e": {}, "list": [{ "a": [1, [2]] }], "text": "a: b # c\n" }),
            json!({ "y": "on", "null": "~", "é": "ü", "": "" }),
        ] {
            let text = yaml(&value, 0);
            assert_eq!(rye_parse::config(&text, "yaml").unwrap(), value, "{text}");
        }
    }
}
