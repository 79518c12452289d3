//! A conversation as every protocol takes it: answers, and what stands between them.

use rye_thread::{Message, Reply, Request, ToolResult, ToolSpec};
use serde_json::{Value, json};

use crate::wire::EncodeError;

/// One side's part of a conversation.
pub(crate) enum Turn<'a> {
    /// An answer, and its place among the messages.
    Model(&'a Reply, usize),
    /// Everything between two answers; results come before any text (WIRES 1.1).
    User(UserTurn<'a>),
}

/// What stands between two answers.
#[derive(Default)]
pub(crate) struct UserTurn<'a> {
    pub(crate) results: Vec<&'a ToolResult>,
    pub(crate) texts: Vec<&'a str>,
}

impl UserTurn<'_> {
    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.texts.is_empty()
    }
}

/// Cuts a history into turns; answers for which `says_nothing` are left out, because a provider refuses them.
pub(crate) fn turns<'a>(
    messages: &'a [Message],
    says_nothing: impl Fn(&Reply, usize) -> Result<bool, EncodeError>,
) -> Result<Vec<Turn<'a>>, EncodeError> {
    let mut turns = Vec::new();
    let mut user = UserTurn::default();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::User { text } => user.texts.push(text),
            Message::ToolResults { results } => user.results.extend(results),
            Message::Assistant { reply } => {
                if !says_nothing(reply, index)? {
                    turns.push(Turn::User(std::mem::take(&mut user)));
                    turns.push(Turn::Model(reply, index));
                }
            }
            _ => return Err(EncodeError::Foreign { index }),
        }
    }
    turns.push(Turn::User(user));
    turns.retain(|turn| !matches!(turn, Turn::User(user) if user.is_empty()));
    Ok(turns)
}

/// The tools by name, whatever their order in the request.
pub(crate) fn sorted(request: &Request) -> Vec<&ToolSpec> {
    let mut tools: Vec<&ToolSpec> = request.tools.iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    tools
}

/// The system message, unless it is empty.
pub(crate) fn system(request: &Request) -> Option<&str> {
    request.system.as_deref().filter(|system| !system.is_empty())
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
