//! The conversation as values: requests, messages and results.

mod depth;
mod reply;

pub(crate) mod disk;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use self::depth::nests_deeper;
use self::depth::{MAX_DEPTH, nests_too_deep};
pub use self::reply::{Counted, Reply, StopReason, ToolCall};
use crate::{History, ToolSpec};

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

/// One request to a model. Requests with equal fields are the same request.
///
/// The requests of a thread share their common parts, so the cost of making one does not grow with the thread.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The system message, the same in every request of a thread.
    pub system: Option<Arc<str>>,
    /// The tools, sorted by name and the same in every request of a thread.
    pub tools: Arc<[ToolSpec]>,
    /// The whole conversation so far. It only grows at its end.
    pub messages: History,
    /// The maximum number of tokens of the reply, reasoning included.
    pub max_output_tokens: u64,
    /// The time that the caller waits for the reply, if it is known. The provider starts no longer wait.
    pub patience: Option<Duration>,
}

impl Request {
    /// Creates the first request of a conversation, for use of a provider without a thread.
    #[must_use]
    pub fn new(opening: &Opening, tools: Vec<ToolSpec>, max_output_tokens: u64) -> Self {
        let first = Message::User { text: opening.first_user_message.clone() };
        Self {
            system: opening.system.as_deref().map(Arc::from),
            tools: tools.into(),
            messages: vec![first].into(),
            max_output_tokens,
            patience: None,
        }
    }
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

    fn new(call: &ToolCall, content: Value, is_error: bool) -> Self {
        let call_id = call.id.clone();
        let name = call.name.clone();
        if nests_too_deep(&content) {
            let message = format!(
                "the tool ran, and its result is nested deeper than {MAX_DEPTH} levels, which is not kept"
            );
            return Self { call_id, name, content: json!({ "error": message }), is_error: true };
        }
        Self { call_id, name, content, is_error }
    }
}
