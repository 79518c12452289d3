//! The conversation as values: requests, messages and results.

mod depth;
mod reply;

use std::sync::Arc;

use serde_json::{Value, json};

use self::depth::{MAX_DEPTH, nests_too_deep};
pub use self::depth::{count_values, nests_deeper};
pub use self::reply::{Counted, Reply, StopReason, ToolCall};

/// The two texts at the start of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a conversation begins with a system text and a user text"
)]
pub struct Opening {
    /// The system message, sent in the provider's own field.
    pub system: Option<String>,
    /// The first message of the user.
    pub first_user_message: String,
}

/// One entry of the conversation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Message {
    /// The reply of the model. It is resent from [`Reply::raw`] as it was received.
    Assistant {
        /// The reply.
        reply: Arc<Reply>,
    },
    /// The results of all calls of the previous reply, in the order of the calls.
    ToolResults {
        /// One result per call.
        results: Vec<ToolResult>,
    },
    /// A message of the user.
    User {
        /// The text.
        text: String,
    },
}

impl Message {
    /// Returns the number of bytes of the message. Its tokens are no more than these.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Assistant { reply } => reply.raw().get().len(),
            Self::ToolResults { results } => results.iter().map(ToolResult::size).sum(),
            Self::User { text } => text.len(),
        }
    }
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The provider's id of the call.
    pub call_id: String,
    /// The palette name of the tool.
    pub name: String,
    /// The result, or the problem if `is_error` is set.
    pub content: Value,
    /// `true` if the call failed or was refused.
    pub is_error: bool,
    /// The standard error of a program that succeeded, for the operator. No model is sent it.
    pub standard_error: Option<String>,
}

impl ToolResult {
    /// Creates a successful result of `call`.
    ///
    /// Content that is nested deeper than 64 levels is replaced by an error that says so. Otherwise the record of the
    /// result could not be read again.
    #[must_use]
    pub fn ok(call: &ToolCall, content: Value) -> Self {
        Self::new(call, content, false)
    }

    /// Creates a failed result of `call` for the model. Content that is nested deeper than 64 levels is left out.
    #[must_use]
    pub fn error(call: &ToolCall, content: Value) -> Self {
        Self::new(call, content, true)
    }

    /// Sets the standard error of the program that made the result.
    #[must_use]
    pub fn with_standard_error(self, standard_error: Option<String>) -> Self {
        Self { standard_error, ..self }
    }

    /// The names of the members take up some bytes as well.
    fn size(&self) -> usize {
        self.call_id.len() + self.name.len() + self.content.to_string().len() + 128
    }

    fn new(call: &ToolCall, content: Value, is_error: bool) -> Self {
        let call_id = call.id.clone();
        let name = call.name.clone();
        if nests_too_deep(&content) {
            let message = format!(
                "the tool ran, and its result is nested deeper than {MAX_DEPTH} levels, which is not kept"
            );
            let content = json!({ "error": message });
            return Self { call_id, name, content, is_error: true, standard_error: None };
        }
        Self { call_id, name, content, is_error, standard_error: None }
    }
}
