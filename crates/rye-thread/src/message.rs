//! The conversation as values: what a provider is sent and what it answers.

mod depth;
mod reply;

pub(crate) mod disk;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::depth::{MAX_DEPTH, nests_too_deep};
pub use self::reply::{Counted, Reply, StopReason, ToolCall};
use crate::{History, ToolSpec};

/// The two texts that a thread begins with.
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

/// One request to a model; equal requests are the same request.
///
/// A thread's requests share what they have in common, so that making one takes no longer as the thread goes on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The system message, the same in every request of a thread.
    pub system: Option<Arc<str>>,
    /// The tools, sorted by name and the same in every request of a thread.
    pub tools: Arc<[ToolSpec]>,
    /// The whole conversation so far, which only ever grows at its end.
    pub messages: History,
    /// The most tokens that the answer may have, reasoning included.
    pub max_output_tokens: u64,
    /// How long whoever asks waits for the answer, where that is known, so that no wait that is longer is begun.
    pub patience: Option<Duration>,
}

impl Request {
    /// The first request of a conversation, for one who drives a provider without a thread.
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
    /// What the model answered, to be resent from [`Reply::raw`] as it was received.
    Assistant {
        /// The answer.
        reply: Arc<Reply>,
    },
    /// The results of every call of the answer before it, in the order of the calls.
    ToolResults {
        /// One result per call.
        results: Vec<ToolResult>,
    },
    /// A text of the user's side.
    User {
        /// The text.
        text: String,
    },
}

/// What one tool call came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id that the provider gave the call.
    pub call_id: String,
    /// The palette name that was called.
    pub name: String,
    /// The result or, with `is_error`, what went wrong.
    pub content: Value,
    /// Whether the call failed or was refused.
    pub is_error: bool,
}

impl ToolResult {
    /// A result that answers `call` with success; content nested deeper than 64 levels makes an error that says so
    /// instead, so that every record of a result can be read again.
    #[must_use]
    pub fn ok(call: &ToolCall, content: Value) -> Self {
        Self::new(call, content, false)
    }

    /// A result that tells the model why `call` failed; content nested deeper than 64 levels is left out.
    #[must_use]
    pub fn error(call: &ToolCall, content: Value) -> Self {
        Self::new(call, content, true)
    }

    fn new(call: &ToolCall, content: Value, is_error: bool) -> Self {
        let (call_id, name) = (call.id.clone(), call.name.clone());
        if nests_too_deep(&content) {
            let message = format!(
                "the tool ran, and its result is nested deeper than {MAX_DEPTH} levels, which is not kept"
            );
            return Self { call_id, name, content: json!({ "error": message }), is_error: true };
        }
        Self { call_id, name, content, is_error }
    }
}
