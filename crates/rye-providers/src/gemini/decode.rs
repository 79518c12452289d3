//! The decoder of whole responses.

use rye_thread::{Reply, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::raw::{Few, RawObject, keep_readable, raw};
use crate::stop;
use crate::usage::{self, GeminiCount};
use crate::wire::{DecodeError, text};

/// Reads a whole response. The content of its first candidate is kept as received.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response. A blocked prompt is not an error: it gives a reply
/// with the stop reason of a refusal.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response = serde_json::from_str(text(body)?).map_err(shape)?;
    let block = response.prompt_feedback.and_then(|feedback| feedback.block_reason);
    let candidate = response.candidates.0.into_iter().next();
    let (content, finish) = match candidate {
        Some(Candidate { content, finish_reason, .. }) => (content, finish_reason),
        None => (None, None),
    };
    let finish = finish.or(block.map(refusal_word)).ok_or(DecodeError::Empty)?;
    let content =
        content.unwrap_or_else(|| raw(&serde_json::json!({ "role": "model", "parts": [] })));
    reply(&content, &finish, response.usage_metadata.as_ref())
}

/// A whole response, or a chunk of a stream.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    #[serde(default)]
    pub(super) candidates: Few<Candidate>,
    pub(super) prompt_feedback: Option<Feedback>,
    pub(super) usage_metadata: Option<GeminiCount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default)]
    pub(super) index: u64,
    pub(super) content: Option<Box<RawValue>>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback {
    pub(super) block_reason: Option<String>,
}

/// Maps every reason for blocking a prompt to a refusal of its content.
pub(super) fn refusal_word(_reason: String) -> String {
    "PROHIBITED_CONTENT".to_owned()
}

pub(super) fn shape(source: serde_json::Error) -> DecodeError {
    DecodeError::Shape { format: "gemini", source }
}

/// Makes a reply of a response's parts.
pub(super) fn reply(
    content: &RawValue,
    finish: &str,
    count: Option<&GeminiCount>,
) -> Result<Reply, DecodeError> {
    let view: Content = serde_json::from_str(content.get()).map_err(shape)?;
    let mut reply = Reply::new(keep_readable(content), stop(finish));
    usage::put(&mut reply, count);
    let mut was_thought = false;
    for (index, part) in view.parts.0.iter().enumerate() {
        was_thought = add_part(&mut reply, &RawObject::of(part), was_thought)
            .map_err(|reason| DecodeError::Part { index, reason })?;
    }
    // `STOP` ends answers with and without calls, so the parts decide.
    if reply.stop == StopReason::EndTurn && !reply.calls.is_empty() {
        reply.stop = StopReason::ToolUse;
    }
    Ok(reply)
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Few<Box<RawValue>>,
}

/// Adds the text, the reasoning or the call of a part to the reply. Other parts are only in its raw content.
///
/// Returns `true` if the part was a thought.
fn add_part(reply: &mut Reply, part: &RawObject, was_thought: bool) -> Result<bool, &'static str> {
    let is_thought = part.get("thought").is_some_and(|thought| thought.get() == "true");
    match part.text("text") {
        // A thought may consist of several parts, which continue the same line.
        Some(text) if is_thought && was_thought => reply.reasoning.push_str(&text),
        Some(text) if is_thought => add_reasoning(reply, &text),
        Some(text) => reply.text.push_str(&text),
        None => {}
    }
    if let Some(call) = part.get("functionCall").map(RawObject::of) {
        let id = call.text("id");
        let name = call.text("name");
        add_call(reply, id.as_deref(), name.as_deref(), Arguments::Value(call.get("args")))?;
    }
    Ok(is_thought)
}

fn stop(word: &str) -> StopReason {
    match word {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            StopReason::Refusal
        }
        word => stop::other(word),
    }
}
