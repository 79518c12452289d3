//! Replies made of content blocks.

use rye_thread::{Reply, StopReason};
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::raw::{Few, RawObject, keep_readable};
use crate::stop;
use crate::usage::{self, AnthropicCount};
use crate::wire::DecodeError;

/// Makes a reply of a response's parts. Blocks of unknown types stay in its raw content.
pub(super) fn reply(
    content: &RawValue,
    stop_reason: &str,
    count: &AnthropicCount,
) -> Result<Reply, DecodeError> {
    let Few(blocks): Few<&RawValue> = serde_json::from_str(content.get()).map_err(shape)?;
    let mut reply = Reply::new(keep_readable(content), stop(stop_reason));
    usage::put(&mut reply, Some(count));
    for (index, block) in blocks.into_iter().enumerate() {
        view(&RawObject::of(block), &mut reply)
            .map_err(|reason| DecodeError::Part { index, reason })?;
    }
    Ok(reply)
}

pub(super) fn shape(source: serde_json::Error) -> DecodeError {
    DecodeError::Shape { format: "anthropic_messages", source }
}

fn stop(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "pause_turn" => StopReason::Pause,
        "refusal" => StopReason::Refusal,
        "stop_sequence" => StopReason::StopSequence,
        "tool_use" => StopReason::ToolUse,
        word => stop::other(word),
    }
}

/// Adds the text, the reasoning or the call of a block to the reply. Other blocks are only in its raw
/// content.
fn view(block: &RawObject, reply: &mut Reply) -> Result<(), &'static str> {
    let text = |key: &str| block.text(key);
    match text("type").ok_or("it has no `type`")?.as_str() {
        "text" => reply.text.push_str(&text("text").ok_or("a text block has no `text`")?),
        // The provider may withhold reasoning: an empty text with a signature is valid.
        "thinking" => add_reasoning(reply, &text("thinking").unwrap_or_default()),
        "tool_use" => {
            let id = text("id").ok_or("a tool call has no `id`")?;
            let input = Arguments::Value(block.get("input"));
            add_call(reply, Some(&id), text("name").as_deref(), input)?;
        }
        _ => {}
    }
    Ok(())
}
