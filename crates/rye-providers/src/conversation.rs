//! The user's side of a conversation, for all protocols.

use rye_thread::ToolResult;
use serde_json::{Value, json};

/// The results and texts between two answers. Results are sent before any text (WIRES 1.1).
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

/// Writes a result as text.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Writes a result as text for a protocol that has no mark for errors: the text says that it is an error.
pub(crate) fn marked_text_of(result: &ToolResult) -> String {
    match &result.content {
        content if !result.is_error || content.get("error").is_some() => text_of(content),
        content => json!({ "error": content }).to_string(),
    }
}
