//! A conversation as every protocol takes it: answers, and what stands between them.

use rye_thread::ToolResult;
use serde_json::{Value, json};

/// What stands between two answers; results come before any text (WIRES 1.1).
#[derive(Default)]
pub(crate) struct UserTurn<'a> {
    pub(crate) results: Vec<&'a ToolResult>,
    pub(crate) texts: Vec<&'a str>,
}

impl UserTurn<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty() && self.texts.is_empty()
    }
}

/// A result as text.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A result as text where the protocol cannot say that it is an error, so that the text does.
pub(crate) fn marked_text_of(result: &ToolResult) -> String {
    match &result.content {
        content if !result.is_error || content.get("error").is_some() => text_of(content),
        content => json!({ "error": content }).to_string(),
    }
}
