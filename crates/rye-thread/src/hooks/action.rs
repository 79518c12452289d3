//! Actions of hooks, and the placeholders in their arguments.

use serde_json::{Map, Value};

/// One action of a hook.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HookAction {
    /// The item that is run.
    pub target: ActionTarget,
    /// Its arguments, in which `${path}` stands for a part of the event's data.
    pub arguments: Map<String, Value>,
    /// The name of the element that the result of a tool stands in where a model reads it; `None` leaves the result bare.
    pub element: Option<String>,
}

/// The item that an action runs, always with the thread's own authority.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActionTarget {
    /// An item of the hooks' own palette, whose text is added to the conversation.
    Text(String),
    /// A tool of the thread's palette.
    Tool(String),
}

impl HookAction {
    /// Creates an action on an item.
    #[must_use]
    pub const fn new(target: ActionTarget, arguments: Map<String, Value>) -> Self {
        Self { target, arguments, element: None }
    }

    /// Puts the result of a tool into an element of this name where a model reads it (SPEC 8.6).
    #[must_use]
    pub fn in_element(self, name: &str) -> Self {
        Self { element: Some(name.to_owned()), ..self }
    }

    /// Returns the arguments with the event's data in place of the placeholders.
    ///
    /// A text that consists of one `${path}` becomes the value at the path, with its type. Within a longer text the
    /// value is written as text or as compact JSON. Inserted values are not expanded again.
    ///
    /// # Errors
    ///
    /// Every path without a value.
    pub(crate) fn fill(&self, data: &Value) -> Result<Value, Vec<String>> {
        let mut missing = Vec::new();
        let filled = fill_value(&Value::Object(self.arguments.clone()), data, &mut missing);
        if missing.is_empty() { Ok(filled) } else { Err(missing) }
    }
}

fn fill_value(template: &Value, data: &Value, missing: &mut Vec<String>) -> Value {
    match template {
        Value::String(text) => fill_text(text, data, missing),
        Value::Array(values) => {
            values.iter().map(|value| fill_value(value, data, missing)).collect()
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), fill_value(value, data, missing)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn fill_text(text: &str, data: &Value, missing: &mut Vec<String>) -> Value {
    let whole = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(path) = whole.filter(|path| is_path(path)) {
        return found(path, data, missing).cloned().unwrap_or(Value::Null);
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        match after.split_once('}').filter(|(path, _)| is_path(path)) {
            // The author wants the text and not the value (SPEC 17.2).
            Some((path, left)) if before.ends_with('\\') => {
                filled.push_str(before.strip_suffix('\\').unwrap_or(before));
                filled.push_str(&format!("${{{path}}}"));
                rest = left;
            }
            Some((path, left)) => {
                filled.push_str(before);
                match found(path, data, missing) {
                    Some(Value::String(text)) => filled.push_str(text),
                    Some(other) => filled.push_str(&other.to_string()),
                    None => {}
                }
                rest = left;
            }
            None => {
                filled.push_str(before);
                filled.push_str("${");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Value::String(filled)
}

/// Returns `true` for names of letters, digits, `_` and `-`, joined by dots, as in the paths of conditions.
fn is_path(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    text.split('.').all(is_name)
}

fn found<'d>(path: &str, data: &'d Value, missing: &mut Vec<String>) -> Option<&'d Value> {
    let found = path.split('.').try_fold(data, |value, key| match value {
        Value::Array(values) => values.get(key.parse::<usize>().ok()?),
        Value::Object(values) => values.get(key),
        _ => None,
    });
    if found.is_none() {
        missing.push(path.to_owned());
    }
    found
}

impl HookAction {
    /// Returns the paths of the event's data that the arguments take, each as often as it occurs.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.fill(&serde_json::Value::Null).err().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(template: &str, expected: Result<Value, &[&str]>) {
        let data = json!({
            "cost": {"turns": 3, "spend": 0.5},
            "calls": [{"name": "a", "ok": true}],
            "text": "${cost.turns}",
            "nothing": null,
        });
        let arguments = Map::from_iter([("x".to_owned(), Value::from(template))]);
        let action = HookAction::new(ActionTarget::Tool("t".to_owned()), arguments);
        let expected = expected
            .map(|value| json!({ "x": value }))
            .map_err(|paths| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        assert_eq!(action.fill(&data), expected, "{template}");
    }

    #[test]
    fn a_path_alone_keeps_its_type() {
        check("${cost.turns}", Ok(json!(3)));
        check("${cost}", Ok(json!({"turns": 3, "spend": 0.5})));
        check("${calls.0.ok}", Ok(json!(true)));
        check(" ${cost.spend} ", Ok(json!(0.5)));
        check("${nothing}", Ok(Value::Null));
    }

    #[test]
    fn a_backslash_keeps_a_path_as_it_is() {
        check(r"\${cost.turns}", Ok(json!("${cost.turns}")));
        check(r"a \${inputs.x} ${cost.turns} \${ \x", Ok(json!(r"a ${inputs.x} 3 \${ \x")));
    }

    #[test]
    fn inside_of_a_text_it_is_text() {
        check(
            "after ${cost.turns} turns: ${calls.0}",
            Ok(json!("after 3 turns: {\"name\":\"a\",\"ok\":true}")),
        );
        check("${cost.turns}${cost.turns}", Ok(json!("33")));
    }

    #[test]
    fn what_was_placed_is_not_read_again() {
        check("${text}", Ok(json!("${cost.turns}")));
        check("is ${text}", Ok(json!("is ${cost.turns}")));
    }

    #[test]
    fn what_only_resembles_a_path_is_text() {
        for text in ["$cost.turns", "${}", "${a b}", "${cost.turns", "{cost.turns}", "${.}"] {
            check(text, Ok(json!(text)));
        }
    }

    #[test]
    fn paths_that_lead_nowhere_are_all_told() {
        check("${error.code} and ${calls.1} and ${cost.turns}", Err(&["error.code", "calls.1"]));
        check("${cost.turns.x}", Err(&["cost.turns.x"]));
    }

    #[test]
    fn lists_and_mappings_are_filled_too() {
        let arguments = json!({"a": ["${n}", {"b": "${n}"}], "c": 1});
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let action = HookAction::new(ActionTarget::Tool("t".to_owned()), arguments);
        let filled = action.fill(&json!({"n": 2}));
        assert_eq!(filled, Ok(json!({"a": [2, {"b": 2}], "c": 1})));
    }
}
