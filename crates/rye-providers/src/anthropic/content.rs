//! Replies made of content blocks.

use rye_thread::{Reply, StopReason};
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::raw::{Few, RawObject, find_damaged, keep_readable, raw};
use crate::stop;
use crate::usage::{self, AnthropicCount, Reported};
use crate::wire::DecodeError;

/// Makes a reply of a response's parts. Blocks of unknown types stay in its raw content.
pub(super) fn reply(
    content: &RawValue,
    stop_reason: Option<&str>,
    count: Option<&Reported<AnthropicCount>>,
) -> Result<Reply, DecodeError> {
    let Few(blocks): Few<&RawValue> = serde_json::from_str(content.get()).map_err(shape)?;
    if let Some(index) = find_damaged(blocks.iter().copied()) {
        return Err(DecodeError::Damaged { index });
    }
    let mut reply = Reply::new(keep_readable(content), stop(stop_reason.unwrap_or_default()));
    usage::put(&mut reply, count);
    let mut recovered = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let input = view(&RawObject::of(block), &mut reply)
            .map_err(|reason| DecodeError::Part { index, reason })?;
        recovered.extend(input.map(|input| (index, input)));
    }
    // Some compatible servers give no stop reason; the calls imply it.
    if stop_reason.is_none_or(str::is_empty) && !reply.calls.is_empty() {
        reply.stop = StopReason::ToolUse;
    }
    if !recovered.is_empty() {
        let mut blocks: Vec<RawObject> = blocks.into_iter().map(RawObject::of).collect();
        for (index, input) in recovered {
            let input = RawValue::from_string(input).map_err(shape)?;
            blocks.get_mut(index).into_iter().for_each(|block| block.set("input", input.clone()));
        }
        reply = reply.with_raw(keep_readable(&raw(&blocks)));
    }
    Ok(reply)
}

pub(super) fn shape(source: serde_json::Error) -> DecodeError {
    DecodeError::Shape { format: "anthropic_messages", source }
}

fn stop(word: &str) -> StopReason {
    match word.to_ascii_lowercase().as_str() {
        "" | "end_turn" => StopReason::EndTurn,
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
/// content. Returns the input of a call if it had to be recovered.
fn view(block: &RawObject, reply: &mut Reply) -> Result<Option<String>, &'static str> {
    let text = |key: &str| block.text(key);
    match text("type").ok_or("it has no `type`")?.as_str() {
        "text" => reply.text.push_str(&text("text").ok_or("a text block has no `text`")?),
        // The provider may withhold reasoning: an empty text with a signature is valid.
        "thinking" => add_reasoning(reply, &text("thinking").unwrap_or_default()),
        "tool_use" => {
            let input = Arguments::Value(block.get("input"));
            return add_call(reply, text("id").as_deref(), text("name").as_deref(), input);
        }
        _ => {}
    }
    Ok(None)
}
