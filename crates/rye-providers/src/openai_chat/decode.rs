//! The decoder of whole responses.

use rye_thread::{Reply, StopReason};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::raw::{Few, RawObject, Small, keep_readable};
use crate::stop;
use crate::usage::{self, ChatCount};
use crate::wire::{DecodeError, text};

/// Reads a whole response. The message of its first choice is kept as received.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response. A response without a count of tokens gives a reply
/// marked as not counted.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response<'_> = serde_json::from_str(text(body)?).map_err(shape)?;
    let choice = response.choices.0.into_iter().next().ok_or(DecodeError::Empty)?;
    reply(choice.message, choice.finish_reason.as_deref(), response.usage.as_ref())
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    choices: Few<Choice<'a>>,
    usage: Option<ChatCount>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
    finish_reason: Option<String>,
}

pub(super) fn shape(source: serde_json::Error) -> DecodeError {
    DecodeError::Shape { format: "openai_chat", source }
}

/// Makes a reply of a message.
pub(super) fn reply(
    message: &RawValue,
    finish_reason: Option<&str>,
    count: Option<&ChatCount>,
) -> Result<Reply, DecodeError> {
    let view: Message = serde_json::from_str(message.get()).map_err(shape)?;
    let mut reply = Reply::new(keep_readable(message), stop(finish_reason.unwrap_or_default()));
    usage::put(&mut reply, count);
    add_content(&mut reply, view.content.as_ref().map(|content| &content.0));
    // Compatible servers use one name or the other.
    let reasoning = view.reasoning_content.or(view.reasoning);
    let reasoning = reasoning.as_ref().and_then(|reasoning| reasoning.0.as_str());
    add_reasoning(&mut reply, reasoning.unwrap_or_default());
    if let Some(refusal) = view.refusal.filter(|refusal| !refusal.is_empty()) {
        reply.text.push_str(&refusal);
        reply.stop = StopReason::Refusal;
    }
    for (index, call) in view.tool_calls.unwrap_or_default().0.into_iter().enumerate() {
        add(&mut reply, &call).map_err(|reason| DecodeError::Part { index, reason })?;
    }
    // Some compatible servers give no stop reason; the calls imply it.
    if finish_reason.is_none_or(str::is_empty) && !reply.calls.is_empty() {
        reply.stop = StopReason::ToolUse;
    }
    Ok(reply)
}

#[derive(Deserialize)]
struct Message {
    content: Option<Small>,
    reasoning_content: Option<Small>,
    reasoning: Option<Small>,
    refusal: Option<String>,
    tool_calls: Option<Few<RawObject>>,
}

/// Adds the content, which is text or a list of parts, to the reply's text.
fn add_content(reply: &mut Reply, content: Option<&Value>) {
    match content {
        Some(Value::String(text)) => reply.text.push_str(text),
        Some(Value::Array(parts)) => {
            let is_text = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("text");
            let texts = parts.iter().filter(is_text).filter_map(|part| part.get("text")?.as_str());
            reply.text.extend(texts);
        }
        _ => {}
    }
}

fn add(reply: &mut Reply, call: &RawObject) -> Result<(), &'static str> {
    let function = call.get("function").ok_or("a tool call has no function")?;
    let function: RawObject =
        serde_json::from_str(function.get()).map_err(|_| "a tool call's function is no object")?;
    let id = call.text("id");
    let name = function.text("name");
    let text = function.text("arguments");
    // Some compatible servers send the object itself.
    let arguments = Arguments::of(&function, text.as_deref());
    add_call(reply, id.as_deref(), name.as_deref(), arguments)
}

fn stop(word: &str) -> StopReason {
    match word {
        "content_filter" => StopReason::Refusal,
        "function_call" | "tool_calls" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "stop" => StopReason::EndTurn,
        word => stop::other(word),
    }
}
