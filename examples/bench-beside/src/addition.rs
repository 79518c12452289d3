//! The texts and the tool of every engine, which equal those of Rye's conversations.

use serde::Deserialize;
use serde_json::{Value, json};

/// The name of the only tool.
pub const ADD: &str = "add";
/// The description of the tool.
pub const DESCRIPTION: &str = "Adds two numbers.";
/// The system message.
pub const SYSTEM: &str = "You add numbers.";
/// The model to ask for.
pub const MODEL: &str = "bench";
/// The largest number of tokens in an answer.
pub const MAX_OUTPUT: u32 = 4_096;

/// The user message that begins a conversation of `turns` tool calls.
#[must_use]
pub fn first_message(turns: usize) -> String {
    format!("Add numbers, {turns} times, then say the sum.")
}

/// The JSON Schema of [`Numbers`].
#[must_use]
pub fn parameters() -> Value {
    let number = json!({ "type": "number" });
    json!({
        "type": "object",
        "properties": { "a": number, "b": number },
        "required": ["a", "b"],
        "additionalProperties": false,
    })
}

/// The arguments of the tool.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Numbers {
    a: f64,
    b: f64,
}

impl Numbers {
    /// Returns the sum, which is the result of the tool.
    #[must_use]
    pub fn sum(self) -> f64 {
        self.a + self.b
    }
}
