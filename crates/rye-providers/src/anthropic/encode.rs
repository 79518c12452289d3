//! A request as the bytes of a body.

use std::borrow::Cow;

use rye_thread::{Message, Reply, Request, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::ModelChoice;

/// Why a request cannot be put in this format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// An answer in the history is no array of content blocks, so another format's provider gave it.
    #[error(
        "message {index} of the conversation was given by a provider with another format; begin a new thread"
    )]
    Foreign {
        /// The message's place, counted from 0.
        index: usize,
    },
    /// A value of the conversation has no JSON.
    #[error("cannot write the request as JSON")]
    Json(#[source] serde_json::Error),
}

/// The body of a Messages request, byte for byte as it is to be sent; equal requests give equal bytes.
///
/// Tools are sorted by name. Everything between two answers is one user message, with all tool results first, before any
/// text. Answers are [`Reply::raw`] as received; an empty one is left out, because the provider refuses it.
///
/// # Errors
///
/// [`EncodeError::Foreign`] for a history that another format's provider gave.
pub fn encode(request: &Request, choice: &ModelChoice) -> Result<String, EncodeError> {
    let mut tools: Vec<&ToolSpec> = request.tools.iter().collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let body = Body {
        model: &choice.model,
        max_tokens: request.max_output_tokens.min(choice.max_output),
        system: request.system.as_deref().filter(|system| !system.is_empty()),
        tools: tools.into_iter().map(Tool::of).collect(),
        messages: turns(&request.messages)?,
    };
    serde_json::to_string(&body).map_err(EncodeError::Json)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self { name: &spec.name, description: &spec.description, input_schema: &spec.input_schema }
    }
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Cow<'a, RawValue>,
}

fn turns(messages: &[Message]) -> Result<Vec<Turn<'_>>, EncodeError> {
    let mut turns = Vec::new();
    let mut user = UserTurn::default();
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::User { text } => user.texts.push(text),
            Message::ToolResults { results } => user.results.extend(results),
            Message::Assistant { reply } => {
                if let Some(content) = answer(reply, index)? {
                    turns.extend(std::mem::take(&mut user).close()?);
                    turns.push(Turn { role: "assistant", content: Cow::Borrowed(content) });
                }
            }
            _ => return Err(EncodeError::Foreign { index }),
        }
    }
    turns.extend(user.close()?);
    Ok(turns)
}

/// The content of an answer, unless it has no block.
fn answer(reply: &Reply, index: usize) -> Result<Option<&RawValue>, EncodeError> {
    let blocks: Vec<&RawValue> =
        serde_json::from_str(reply.raw().get()).map_err(|_| EncodeError::Foreign { index })?;
    Ok((!blocks.is_empty()).then_some(reply.raw()))
}

/// What stands between two answers.
#[derive(Default)]
struct UserTurn<'a> {
    results: Vec<&'a ToolResult>,
    texts: Vec<&'a str>,
}

impl<'a> UserTurn<'a> {
    fn close(self) -> Result<Option<Turn<'a>>, EncodeError> {
        let content = match (self.results.as_slice(), self.texts.as_slice()) {
            ([], []) => return Ok(None),
            ([], [text]) => json!(text),
            (results, texts) => {
                let texts = texts.iter().map(|text| json!({ "type": "text", "text": text }));
                results.iter().map(|result| result_block(result)).chain(texts).collect()
            }
        };
        let content = serde_json::value::to_raw_value(&content).map_err(EncodeError::Json)?;
        Ok(Some(Turn { role: "user", content: Cow::Owned(content) }))
    }
}

fn result_block(result: &ToolResult) -> Value {
    let content = match &result.content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut block =
        json!({ "type": "tool_result", "tool_use_id": result.call_id, "content": content });
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}
