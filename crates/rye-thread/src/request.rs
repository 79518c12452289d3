//! The requests to a model.

use std::sync::Arc;
use std::time::Duration;

use crate::{History, Message, Opening, ToolSpec};

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
