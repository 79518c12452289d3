//! The members of a tool's result that only Rye sets.

use serde_json::{Value, json};

use crate::program_result::{QUARANTINED, SELF_STARTING, UNCHECKED};

/// The members of a result that only Rye sets.
const OWN: [&str; 3] = [SELF_STARTING, QUARANTINED, UNCHECKED];

/// Returns the object or list that a whole text is, for steps that use a part of a result.
pub(crate) fn collection(text: &str) -> Option<Value> {
    let is_opened = text.trim_start().starts_with(['{', '[']);
    let value: Option<Value> = is_opened.then(|| serde_json::from_str(text).ok()).flatten();
    value.filter(|value| value.is_object() || value.is_array())
}

/// Returns the result of a program or server. If it has a member that only Rye sets, it becomes the member
/// `output` of a new object.
pub(crate) fn foreign(result: Value) -> Value {
    let speaks = OWN.iter().any(|name| result.get(name).is_some());
    if speaks { json!({ "output": result }) } else { result }
}

/// Returns the result of a call with the list of self-starting files that it changed, if there are any.
///
/// A result that is not an object becomes the member `output` of one.
pub(crate) fn with_self_starting(result: Value, files: &[String]) -> Value {
    if files.is_empty() {
        return result;
    }
    let mut object = match result {
        Value::Object(object) => Value::Object(object),
        other => json!({ "output": other }),
    };
    object[SELF_STARTING] = files.into();
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_an_object_or_a_list_is_that_value() {
        for (text, expected) in [
            ("{\"a\": 1}", Some(json!({ "a": 1 }))),
            ("\n[1, {}]\n", Some(json!([1, {}]))),
            ("[1", None),
            ("5", None),
            ("null", None),
            ("\"a\"", None),
            ("[INFO] done", None),
            ("", None),
        ] {
            assert_eq!(collection(text), expected, "{text}");
        }
    }

    #[test]
    fn no_program_speaks_for_rye() {
        for (result, expected) in [
            (json!("unchecked"), json!("unchecked")),
            (json!({ "a": { "unchecked": 1 } }), json!({ "a": { "unchecked": 1 } })),
            (json!({ "unchecked": 1 }), json!({ "output": { "unchecked": 1 } })),
            (json!({ "quarantined": [] }), json!({ "output": { "quarantined": [] } })),
            (
                json!({ "a": 1, "self_starting": 0 }),
                json!({ "output": { "a": 1, "self_starting": 0 } }),
            ),
        ] {
            assert_eq!(foreign(result), expected);
        }
    }

    #[test]
    fn a_result_names_the_files_whatever_it_is() {
        let files = [".envrc".to_owned()];
        assert_eq!(
            with_self_starting(json!({ "a": 1 }), &files),
            json!({ "a": 1, "self_starting": [".envrc"] })
        );
        assert_eq!(
            with_self_starting(json!("text"), &files),
            json!({ "output": "text", "self_starting": [".envrc"] })
        );
        assert_eq!(with_self_starting(json!("text"), &[]), json!("text"));
    }
}
