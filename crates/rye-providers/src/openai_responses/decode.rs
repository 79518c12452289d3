//! The decoder of whole responses.

use rye_thread::{Reply, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::halves;
use crate::raw::{Few, RawObject, find_damaged, keep_readable, raw};
use crate::stop;
use crate::usage::{self, Reported, ResponsesCount};
use crate::wire::{DecodeError, text};

/// Reads a whole response. Its output items are kept as received, including those of unknown types.
///
/// # Errors
///
/// [`DecodeError`] if the bytes are not such a response, or if the response has not ended.
pub fn decode(body: &[u8]) -> Result<Reply, DecodeError> {
    let response: Response<'_> = serde_json::from_str(text(body)?).map_err(shape)?;
    reply(&response, response.own_items()?)
}

/// A response that has ended. Its items may have been sent separately.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    /// Some compatible servers give none.
    status: Option<String>,
    incomplete_details: Option<Incomplete>,
    usage: Option<Reported<ResponsesCount>>,
}

impl<'a> Response<'a> {
    /// The items in the response itself, or an error if it has none.
    pub(super) fn own_items(&self) -> Result<&'a RawValue, DecodeError> {
        self.output.ok_or_else(|| shape(serde::de::Error::missing_field("output")))
    }
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

pub(super) fn shape(source: serde_json::Error) -> DecodeError {
    DecodeError::Shape { format: "openai_responses", source }
}

/// Makes a reply of a response and its items.
pub(super) fn reply(response: &Response<'_>, output: &RawValue) -> Result<Reply, DecodeError> {
    let Few(items): Few<&RawValue> = serde_json::from_str(output.get()).map_err(shape)?;
    if let Some(index) = find_damaged(items.iter().copied()) {
        return Err(DecodeError::Damaged { index });
    }
    let mut reply = Reply::new(keep_readable(output), stop(response)?);
    usage::put(&mut reply, response.usage.as_ref());
    let mut recovered = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let arguments = view(&RawObject::of(item), &mut reply)
            .map_err(|reason| DecodeError::Part { index, reason })?;
        recovered.extend(arguments.map(|arguments| (index, arguments)));
    }
    if !recovered.is_empty() {
        let mut items: Vec<RawObject> = items.into_iter().map(RawObject::of).collect();
        for (index, json) in recovered {
            items.get_mut(index).into_iter().for_each(|item| item.set_text("arguments", &json));
        }
        reply = reply.with_raw(keep_readable(&raw(&items)));
    }
    let may_call = response.status.is_none() || reply.stop == StopReason::EndTurn;
    if may_call && !reply.calls.is_empty() {
        reply.stop = StopReason::ToolUse;
    }
    Ok(reply)
}

/// Returns the stop reason. No status says that tools were called; the items imply it.
fn stop(response: &Response<'_>) -> Result<StopReason, DecodeError> {
    let reason = response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
    let status = response.status.as_deref().unwrap_or_default();
    Ok(match (status.to_ascii_lowercase().as_str(), reason) {
        ("completed", _) | ("", None) => StopReason::EndTurn,
        ("incomplete" | "", Some("max_output_tokens")) => StopReason::MaxTokens,
        ("incomplete" | "", Some("content_filter")) => StopReason::Refusal,
        ("incomplete" | "", Some(reason)) => stop::other(reason),
        ("in_progress" | "queued", _) => return Err(DecodeError::Unfinished),
        (status, _) => stop::other(status),
    })
}

/// Adds the text, the reasoning or the call of an item to the reply. Other items are only in its raw content.
/// Returns the arguments of a call if they had to be recovered.
fn view(item: &RawObject, reply: &mut Reply) -> Result<Option<String>, &'static str> {
    match item.text("type").ok_or("it has no `type`")?.as_str() {
        "message" => add_content(reply, item)?,
        "reasoning" => {
            let summary = parts(item, "summary");
            let content = parts(item, "content");
            let thoughts = summary.iter().chain(&content).filter_map(|part| part.text("text"));
            thoughts.for_each(|thought| add_reasoning(reply, &thought));
        }
        "function_call" => {
            let id = item.text("call_id");
            let name = item.text("name");
            let text = item.text("arguments");
            // Some compatible servers send the object itself.
            let arguments = Arguments::of(item, text.as_deref());
            return add_call(reply, id.as_deref(), name.as_deref(), arguments);
        }
        _ => {}
    }
    Ok(None)
}

fn parts(item: &RawObject, key: &str) -> Vec<RawObject> {
    let parts = item.get(key).map(|parts| serde_json::from_str::<Few<&RawValue>>(parts.get()));
    let parts = parts.and_then(Result::ok).unwrap_or_default();
    parts.0.into_iter().map(RawObject::of).collect()
}

/// Adds the content of a message.
fn add_content(reply: &mut Reply, item: &RawObject) -> Result<(), &'static str> {
    for text in texts_of(item)? {
        let is_refusal = matches!(text, Said::Refusal(_));
        let (Said::Text(text) | Said::Refusal(text)) = text;
        reply.text.push_str(&text);
        if is_refusal {
            reply.stop = StopReason::Refusal;
        }
    }
    Ok(())
}

/// A text of a message.
pub(super) enum Said {
    Text(String),
    Refusal(String),
}

/// Returns the texts of a message. Its content is a list of parts, or text as compatible servers may send it. Parts of
/// unknown types are passed over.
pub(super) fn texts_of(message: &RawObject) -> Result<Vec<Said>, &'static str> {
    let Some(content) = message.get("content") else { return Ok(Vec::new()) };
    if let Some(text) = halves::text(content.get()) {
        return Ok(vec![Said::Text(text)]);
    }
    let Few(parts): Few<RawObject> =
        serde_json::from_str(content.get()).map_err(|_| "its content is no list of parts")?;
    parts.iter().filter_map(|part| text_of(part).transpose()).collect()
}

fn text_of(part: &RawObject) -> Result<Option<Said>, &'static str> {
    let text = |key: &str| match part.lacks(key) {
        true => Ok(String::new()),
        false => part.text(key).ok_or("a text of its content is no text"),
    };
    let kind = part.text("type");
    // Some compatible servers give a part no type.
    let is_refusal = kind.is_none() && !part.lacks("refusal");
    Ok(match kind.as_deref() {
        None if !is_refusal => Some(Said::Text(text("text")?)),
        Some("output_text") => Some(Said::Text(text("text")?)),
        None | Some("refusal") => Some(Said::Refusal(text("refusal")?)),
        Some(_) => None,
    })
}
