//! The decoder of whole responses.

use rye_thread::{Reply, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{Arguments, add_call, add_reasoning};
use crate::halves;
use crate::raw::{Few, RawObject, find_damaged, keep_readable, raw, says_nothing};
use crate::stop;
use crate::usage::{self, ChatCount, Reported};
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
    usage: Option<Reported<ChatCount>>,
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

/// Makes a reply of a message. What could not be sent back as it came is mended in the reply's raw content.
pub(super) fn reply(
    message: &RawValue,
    finish_reason: Option<&str>,
    count: Option<&Reported<ChatCount>>,
) -> Result<Reply, DecodeError> {
    let mut object: RawObject = serde_json::from_str(message.get()).map_err(shape)?;
    let mut calls = calls(&object)?;
    let mut reply = Reply::new(keep_readable(message), stop(finish_reason.unwrap_or_default()));
    usage::put(&mut reply, count);
    let mut is_mended = mend_content(&mut object);
    add_texts(&mut reply, &object)?;
    is_mended |= mend_old_call(&mut object, &mut calls);
    for (index, call) in calls.iter_mut().enumerate() {
        is_mended |= add(&mut reply, call).map_err(|reason| DecodeError::Part { index, reason })?;
    }
    // Some compatible servers give no stop reason; the calls imply it.
    if finish_reason.is_none_or(str::is_empty) && !reply.calls.is_empty() {
        reply.stop = StopReason::ToolUse;
    }
    if is_mended {
        if !calls.is_empty() {
            object.set("tool_calls", raw(&calls));
        }
        reply = reply.with_raw(keep_readable(&object.into_raw()));
    }
    Ok(reply)
}

/// Returns the calls of a message. Fails if a signature covers half of a character.
fn calls(message: &RawObject) -> Result<Vec<RawObject>, DecodeError> {
    let list = |name: &str| message.get(name).map_or("null", RawValue::get);
    let Few(details): Few<&RawValue> =
        serde_json::from_str(list("reasoning_details")).unwrap_or_default();
    let Few(calls): Few<&RawValue> = serde_json::from_str(list("tool_calls")).map_err(shape)?;
    if let Some(index) = find_damaged(details.into_iter().chain(calls.iter().copied())) {
        return Err(DecodeError::Damaged { index });
    }
    calls.into_iter().map(|call| serde_json::from_str(call.get()).map_err(shape)).collect()
}

/// Adds the content, the reasoning and the refusal to the reply.
fn add_texts(reply: &mut Reply, message: &RawObject) -> Result<(), DecodeError> {
    if let Some(content) = message.get("content") {
        add_content(reply, content)?;
    }
    // Compatible servers use one name or the other.
    let reasoning = ["reasoning_content", "reasoning"].into_iter();
    let reasoning = reasoning.filter_map(|name| message.text(name)).find(|text| !text.is_empty());
    add_reasoning(reply, &reasoning.unwrap_or_default());
    let refusal = message.get("refusal").map_or(Ok(()), |refusal| add_refusal(reply, refusal));
    refusal.map_err(|reason| DecodeError::Part { index: 0, reason })
}

/// Writes the older form of a single call as the list that replaced it. Returns `true` if there was one.
fn mend_old_call(message: &mut RawObject, calls: &mut Vec<RawObject>) -> bool {
    let function = message.get("function_call").filter(|call| call.get().starts_with('{'));
    let Some(function) = function.filter(|_| calls.is_empty()).map(ToOwned::to_owned) else {
        return false;
    };
    let mut call = RawObject::default();
    call.set("function", function);
    calls.push(call);
    message.remove("function_call");
    true
}

/// Makes a list of content that is a single part, because no request may have it so. Returns `true` if the
/// content was changed.
fn mend_content(message: &mut RawObject) -> bool {
    let part = message.get("content").filter(|content| content.get().starts_with('{'));
    let list = part.map(|part| raw(&[part]));
    let is_mended = list.is_some();
    list.into_iter().for_each(|list| message.set("content", list));
    is_mended
}

/// Adds the content, which is text or a list of parts, to the reply's text.
fn add_content(reply: &mut Reply, content: &RawValue) -> Result<(), DecodeError> {
    if let Some(text) = halves::text(content.get()) {
        reply.text.push_str(&text);
        return Ok(());
    }
    let Few(parts): Few<&RawValue> = serde_json::from_str(content.get()).map_err(shape)?;
    for (index, part) in parts.into_iter().enumerate() {
        match halves::text(part.get()) {
            Some(text) => reply.text.push_str(&text),
            None => {
                let part = serde_json::from_str(part.get()).map_err(shape)?;
                add_part(reply, &part).map_err(|reason| DecodeError::Part { index, reason })?;
            }
        }
    }
    Ok(())
}

/// Adds a part of the content. Parts of unknown types are only in the raw content.
fn add_part(reply: &mut Reply, part: &RawObject) -> Result<(), &'static str> {
    match part.text("type").as_deref() {
        Some("text" | "output_text") => {
            reply.text.push_str(&part.text("text").ok_or("a text of the content is no text")?);
        }
        None => reply.text.push_str(&part.text("text").unwrap_or_default()),
        Some("refusal") => {
            let refusal = part.get("refusal").ok_or("a refusal has no text")?;
            add_refusal(reply, refusal)?;
        }
        Some("thinking") => {
            let thought = part.get("thinking").map_or("null", RawValue::get);
            let Few(parts): Few<&RawValue> = serde_json::from_str(thought).unwrap_or_default();
            let parts = parts.into_iter().filter_map(|it| RawObject::of(it).text("text"));
            let thought: String = halves::text(thought).into_iter().chain(parts).collect();
            add_reasoning(reply, &thought);
        }
        Some(_) => {}
    }
    Ok(())
}

fn add_refusal(reply: &mut Reply, refusal: &RawValue) -> Result<(), &'static str> {
    if !says_nothing(refusal) {
        reply.text.push_str(&halves::text(refusal.get()).ok_or("the refusal is no text")?);
        reply.stop = StopReason::Refusal;
    }
    Ok(())
}

/// Adds a call. Returns `true` if its arguments were recovered and are now part of `call`.
fn add(reply: &mut Reply, call: &mut RawObject) -> Result<bool, &'static str> {
    let function = call.get("function").ok_or("a tool call has no function")?;
    let mut function: RawObject =
        serde_json::from_str(function.get()).map_err(|_| "a tool call's function is no object")?;
    let id = call.text("id");
    let name = function.text("name");
    let text = function.text("arguments");
    // Some compatible servers send the object itself.
    let arguments = Arguments::of(&function, text.as_deref());
    let recovered = add_call(reply, id.as_deref(), name.as_deref(), arguments)?;
    let is_recovered = recovered.is_some();
    if let Some(json) = recovered {
        function.set_text("arguments", &json);
        call.set("function", raw(&function));
    }
    Ok(is_recovered)
}

fn stop(word: &str) -> StopReason {
    match word.to_ascii_lowercase().as_str() {
        "content_filter" => StopReason::Refusal,
        "function_call" | "tool_calls" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        // Compatible servers write the name of the last token, or nothing.
        "" | "eos" | "eos_token" | "stop" => StopReason::EndTurn,
        word => stop::other(word),
    }
}
