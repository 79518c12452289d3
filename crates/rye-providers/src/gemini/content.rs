//! Replies made of the parts of a content.

use rye_thread::{Reply, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::halves;
use crate::raw::{Few, RawObject, find_damaged, keep_readable, raw};
use crate::stop;
use crate::usage::{self, GeminiCount, Reported};
use crate::wire::DecodeError;

/// A whole response, or a chunk of a stream.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    #[serde(default)]
    pub(super) candidates: Few<Candidate>,
    pub(super) prompt_feedback: Option<Feedback>,
    pub(super) usage_metadata: Option<Reported<GeminiCount>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    pub(super) index: Option<u64>,
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
    count: Option<&Reported<GeminiCount>>,
) -> Result<Reply, DecodeError> {
    let Content { parts } = serde_json::from_str(content.get()).map_err(shape)?;
    // An answer of nothing may lack its parts, which are expected when it is sent back.
    let mended = parts.is_none().then(|| {
        let mut object = RawObject::of(content);
        object.set("parts", raw(&[(); 0]));
        object.into_raw()
    });
    let content = mended.as_deref().unwrap_or(content);
    let Few(parts) = parts.unwrap_or_default();
    if let Some(index) = find_damaged(parts.iter().map(|part| &**part)) {
        return Err(DecodeError::Damaged { index });
    }
    let mut reply = Reply::new(keep_readable(content), stop(finish));
    usage::put(&mut reply, count);
    let mut was_thought = false;
    let mut recovered = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let part: RawObject = serde_json::from_str(part.get()).map_err(shape)?;
        let in_part = |reason| DecodeError::Part { index, reason };
        was_thought = add_text(&mut reply, &part, was_thought).map_err(in_part)?;
        let args = add_function_call(&mut reply, &part).map_err(in_part)?;
        recovered.extend(args.map(|args| (index, args)));
    }
    if !recovered.is_empty() {
        let mut parts: Vec<RawObject> = parts.iter().map(|part| RawObject::of(part)).collect();
        for (index, args) in recovered {
            let args = RawValue::from_string(args).map_err(shape)?;
            parts.get_mut(index).into_iter().for_each(|part| set_args(part, &args));
        }
        let mut object = RawObject::of(content);
        object.set("parts", raw(&parts));
        reply = reply.with_raw(keep_readable(&object.into_raw()));
    }
    // `STOP` and no reason end answers with and without calls, so the parts decide.
    let may_call = finish.is_empty() || reply.stop == StopReason::EndTurn;
    if may_call && !reply.calls.is_empty() {
        reply.stop = StopReason::ToolUse;
    }
    Ok(reply)
}

#[derive(Deserialize)]
struct Content {
    parts: Option<Few<Box<RawValue>>>,
}

/// Adds the text or the reasoning of a part to the reply. Other parts are only in its raw content.
///
/// Returns `true` if the part was a thought.
fn add_text(reply: &mut Reply, part: &RawObject, was_thought: bool) -> Result<bool, &'static str> {
    let is_thought = part.get("thought").is_some_and(|thought| thought.get() == "true");
    let Some(text) = part.get("text").filter(|text| text.get() != "null") else {
        return Ok(is_thought);
    };
    let text = halves::text(text.get()).ok_or("its `text` is no text")?;
    match is_thought {
        // A thought may consist of several parts, which continue the same line.
        true if was_thought => reply.reasoning.push_str(&text),
        true => add_reasoning(reply, &text),
        false => reply.text.push_str(&text),
    }
    Ok(is_thought)
}

/// Adds the call of a part to the reply. Returns its arguments if they had to be recovered.
fn add_function_call(reply: &mut Reply, part: &RawObject) -> Result<Option<String>, &'static str> {
    let Some(call) = part.get("functionCall").filter(|call| call.get() != "null") else {
        return Ok(None);
    };
    let call = RawObject::of(call);
    let (id, name) = (call.text("id"), call.text("name"));
    add_call(reply, id.as_deref(), name.as_deref(), Arguments::Value(call.get("args")))
}

fn set_args(part: &mut RawObject, args: &RawValue) {
    let mut call = part.get("functionCall").map(RawObject::of).unwrap_or_default();
    call.set("args", args.to_owned());
    part.set("functionCall", call.into_raw());
}

fn stop(word: &str) -> StopReason {
    match word.to_ascii_uppercase().as_str() {
        "" | "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            StopReason::Refusal
        }
        word => stop::other(word),
    }
}
