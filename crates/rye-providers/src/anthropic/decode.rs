//! The bytes of a response as a reply.

use rye_thread::{Reply, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Why bytes are no Messages response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Not JSON, or JSON without `content`, `stop_reason` or `usage` in their shape.
    #[error("the response is not a message of the Messages format")]
    Shape(#[source] serde_json::Error),
    /// A block that cannot be what it says it is.
    #[error("block {index} of the response is not valid: {reason}")]
    Block {
        /// The block's place, counted from 0.
        index: usize,
        /// What it lacks.
        reason: &'static str,
    },
}

/// Reads a whole response; its content is kept as received, and blocks of unknown types with it.
///
/// # Errors
///
/// [`DecodeError`] when the bytes are no such response; use and cost would be a guess then.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response<'_> = serde_json::from_slice(body).map_err(DecodeError::Shape)?;
    let blocks: Vec<Value> =
        serde_json::from_str(response.content.get()).map_err(DecodeError::Shape)?;
    let mut reply = Reply::new(response.content.to_owned(), stop_reason(&response.stop_reason));
    reply.usage = response.usage.normalised();
    for (index, block) in blocks.iter().enumerate() {
        view(block, &mut reply).map_err(|reason| DecodeError::Block { index, reason })?;
    }
    Ok(reply)
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    stop_reason: String,
    usage: WireUsage,
}

/// `input_tokens` leaves out what the cache wrote and read, so nothing is counted twice (WIRES 1.1).
#[derive(Deserialize)]
struct WireUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl WireUsage {
    fn normalised(&self) -> Usage {
        let mut usage = Usage::new(self.input_tokens, self.output_tokens);
        usage.cache_write = self.cache_creation_input_tokens.unwrap_or_default();
        usage.cache_read = self.cache_read_input_tokens.unwrap_or_default();
        usage
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "pause_turn" => StopReason::Pause,
        "refusal" => StopReason::Refusal,
        "stop_sequence" => StopReason::StopSequence,
        "tool_use" => StopReason::ToolUse,
        other if is_word(other) => StopReason::Other(other.to_owned()),
        _ => StopReason::Other("unreadable".to_owned()),
    }
}

/// Stop reasons are words; whatever else a server puts there, such as the headers that it got, stays out of messages.
fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Adds to the reply what a thread reads of one block; other blocks are in its raw content alone.
fn view(block: &Value, reply: &mut Reply) -> Result<(), &'static str> {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    match text("type").ok_or("it has no `type`")? {
        "text" => reply.text.push_str(text("text").ok_or("a text block has no `text`")?),
        // Reasoning may be withheld: an empty text with a signature is complete.
        "thinking" => {
            let thought = text("thinking").unwrap_or_default();
            if !reply.reasoning.is_empty() && !thought.is_empty() {
                reply.reasoning.push('\n');
            }
            reply.reasoning.push_str(thought);
        }
        "tool_use" => {
            let id = text("id").ok_or("a tool call has no `id`")?;
            let name = text("name").ok_or("a tool call has no `name`")?;
            // Results are told apart by the id alone.
            if reply.calls.iter().any(|call| call.id == id) {
                return Err("a tool call has the `id` of an earlier one");
            }
            reply.calls.push(match block.get("input") {
                Some(Value::Object(input)) => ToolCall::new(id, name, Value::Object(input.clone())),
                _ => ToolCall::unreadable(id, name, "the arguments are not a JSON object"),
            });
        }
        _ => {}
    }
    Ok(())
}
