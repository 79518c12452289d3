//! A request as the bytes of a body.

use std::borrow::Cow;

use rye_thread::{Reply, Request, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::ModelChoice;
use crate::conversation::{Turn, UserTurn, sorted, system, text_of, turns};
use crate::raw::kind;
use crate::wire::{Delivery, EncodeError};

/// The body of a Messages request, byte for byte as it is to be sent; equal requests give equal bytes.
///
/// An answer without any block is left out, because the provider refuses it. A request with tools asks for its beginning
/// to be cached, because more requests with the same beginning follow.
///
/// # Errors
///
/// [`EncodeError::Foreign`] for a history that another protocol's provider gave.
pub fn encode(
    request: &Request,
    choice: &ModelChoice,
    delivery: Delivery,
) -> Result<String, EncodeError> {
    let tools: Vec<Tool<'_>> = sorted(request).into_iter().map(Tool::of).collect();
    let turns = turns(&request.messages, |reply, index| Ok(blocks(reply, index)?.is_empty()))?;
    let body = Body {
        model: &choice.model,
        max_tokens: request.max_output_tokens.min(choice.max_output),
        stream: (delivery == Delivery::Streamed).then_some(true),
        cache_control: (!tools.is_empty()).then(|| json!({ "type": "ephemeral" })),
        system: system(request),
        tools,
        messages: turns.iter().map(message).collect::<Result<_, _>>()?,
    };
    serde_json::to_string(&body).map_err(EncodeError::Json)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
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
struct WireMessage<'a> {
    role: &'static str,
    content: Cow<'a, RawValue>,
}

/// The answer's blocks; another protocol's items are an array too, and are told apart by how the first one calls itself.
fn blocks(reply: &Reply, index: usize) -> Result<Vec<&RawValue>, EncodeError> {
    let foreign = |_| EncodeError::Foreign { index };
    let blocks: Vec<&RawValue> = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
    match blocks.first().and_then(|first| kind(first)).as_deref() {
        Some("function_call" | "message" | "reasoning") => Err(EncodeError::Foreign { index }),
        _ => Ok(blocks),
    }
}

fn message<'a>(turn: &Turn<'a>) -> Result<WireMessage<'a>, EncodeError> {
    match turn {
        Turn::Model(reply, _) => {
            Ok(WireMessage { role: "assistant", content: Cow::Borrowed(reply.raw()) })
        }
        Turn::User(user) => {
            let content = serde_json::value::to_raw_value(&content(user));
            Ok(WireMessage {
                role: "user",
                content: Cow::Owned(content.map_err(EncodeError::Json)?),
            })
        }
    }
}

fn content(user: &UserTurn<'_>) -> Value {
    match (user.results.as_slice(), user.texts.as_slice()) {
        ([], [text]) => json!(text),
        (results, texts) => {
            let texts = texts.iter().map(|text| json!({ "type": "text", "text": text }));
            results.iter().map(|result| result_block(result)).chain(texts).collect()
        }
    }
}

fn result_block(result: &ToolResult) -> Value {
    let content = text_of(&result.content);
    let mut block =
        json!({ "type": "tool_result", "tool_use_id": result.call_id, "content": content });
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}
