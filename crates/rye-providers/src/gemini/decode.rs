//! The bytes of a response as a reply.

use rye_thread::{Reply, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::raw::{Few, RawObject, kept, raw};
use crate::stop;
use crate::usage::{self, GeminiCount};
use crate::wire::{DecodeError, text};

/// Reads a whole response: the content of its first candidate, kept as received.
///
/// # Errors
///
/// [`DecodeError`] when the bytes are no such response. A prompt that was blocked is a reply that refuses.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response = serde_json::from_str(text(body)?).map_err(shape)?;
    let block = response.prompt_feedback.and_then(|feedback| feedback.block_reason);
    let candidate = response.candidates.0.into_iter().next();
    let (content, finish) = match candidate {
        Some(Candidate { content, finish_reason, .. }) => (content, finish_reason),
        None => (None, None),
    };
    let finish = finish.or(block.map(blocked)).ok_or(DecodeError::Empty)?;
    let content =
        content.unwrap_or_else(|| raw(&serde_json::json!({ "role": "model", "parts": [] })));
    reply(&content, &finish, response.usage_metadata.as_ref())
}

/// A response, whole or a chunk of one.
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

/// A prompt that was blocked, for whatever reason, is refused for its content.
pub(super) fn blocked(_reason: String) -> String {
    "PROHIBITED_CONTENT".to_owned()
}

pub(super) fn shape(source: serde_json::Error) -> DecodeError {
    DecodeError::Shape { format: "gemini", source }
}

/// The reply that a response's parts make.
pub(super) fn reply(
    content: &RawValue,
    finish: &str,
    count: Option<&GeminiCount>,
) -> Result<Reply, DecodeError> {
    let view: Content = serde_json::from_str(content.get()).map_err(shape)?;
    let mut reply = Reply::new(kept(content), stop(finish));
    usage::put(&mut reply, count);
    let mut was_thought = false;
    for (index, part) in view.parts.0.iter().enumerate() {
        was_thought = add_part(&mut reply, &RawObject::of(part), was_thought)
            .map_err(|reason| DecodeError::Part { index, reason })?;
    }
    // The same word ends an answer and a call: the parts say which.
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

/// Adds to the reply what a thread reads of one part, and says whether it was a thought; others are in its raw content alone.
fn add_part(reply: &mut Reply, part: &RawObject, was_thought: bool) -> Result<bool, &'static str> {
    let is_thought = part.get("thought").is_some_and(|thought| thought.get() == "true");
    match part.text("text") {
        // A thought may come in several parts, of which the later ones go on in the same line.
        Some(text) if is_thought && was_thought => reply.reasoning.push_str(&text),
        Some(text) if is_thought => add_reasoning(reply, &text),
        Some(text) => reply.text.push_str(&text),
        None => {}
    }
    if let Some(call) = part.get("functionCall").map(RawObject::of) {
        let (id, name) = (call.text("id"), call.text("name"));
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
