//! What every engine says and offers, which is what Rye's conversations say and offer.

use serde::Deserialize;
use serde_json::{Value, json};

/// The name of the one tool.
pub const ADD: &str = "add";
/// What a model is told of it.
pub const DESCRIPTION: &str = "Adds two numbers.";
/// The message of the system.
pub const SYSTEM: &str = "You add numbers.";
/// The model to ask for.
pub const MODEL: &str = "bench";
/// Tokens that an answer may have.
pub const MAX_OUTPUT: u32 = 4_096;

/// The message of the user that begins a conversation of so many tool calls.
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
    /// The tool's work.
    #[must_use]
    pub fn sum(self) -> f64 {
        self.a + self.b
    }
}
