//! The encoder of requests.

use rye_thread::{Reply, Request, ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::conversation::{UserTurn, marked_text_of};
use crate::encoder::{Encoder, Parts, list, up_to_list};
use crate::protocol::Delivery;
use crate::raw::{RawObject, raw};
use crate::wire::EncodeError;
use crate::{MaxTokensField, ModelChoice, Protocol};

/// Returns the body of a Chat Completions request, byte for byte as it is sent. Equal requests give equal
/// bytes.
///
/// An answer without content and calls is left out. A failed result is written as `{"error": …}`, because the
/// protocol has no other mark for it.
///
/// # Errors
///
/// [`EncodeError::Foreign`] if the history has an answer of another protocol.
pub fn encode(
    request: &Request,
    choice: &ModelChoice,
    delivery: Delivery,
) -> Result<String, EncodeError> {
    let is_streamed = delivery == Delivery::Streamed;
    let max_output = |field| {
        let max_output = request.max_output_tokens.min(choice.max_output);
        (choice.max_tokens_field == field).then_some(max_output)
    };
    ENCODER.body(request, |frame| {
        let members = Members {
            model: &choice.model,
            max_completion_tokens: max_output(MaxTokensField::MaxCompletionTokens),
            max_tokens: max_output(MaxTokensField::MaxTokens),
            stream: is_streamed.then_some(true),
            // Without this a stream has no count of tokens.
            stream_options: is_streamed.then_some(StreamOptions { include_usage: true }),
            tools: frame.tools,
        };
        let mut head = up_to_list(&members, "messages")?;
        head.push_str(frame.system.map_or("", RawValue::get));
        Ok(head)
    })
}

const ENCODER: Encoder = Encoder {
    protocol: Protocol::OpenAiChat,
    system: |text| raw(&json!({ "role": "system", "content": text })),
    tools: |tools| list(tools, Tool::of),
    answer,
    user,
};

/// The body without its last member, `messages`.
#[derive(Serialize)]
struct Members<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema: parameters, .. } = spec;
        Self { kind: "function", function: Function { name, description, parameters } }
    }
}

fn object(reply: &Reply, index: usize) -> Result<RawObject, EncodeError> {
    let foreign = EncodeError::Foreign { index };
    match serde_json::from_str::<RawObject>(reply.raw().get()) {
        Ok(object) if object.get("parts").is_none() => Ok(object),
        _ => Err(foreign),
    }
}

fn says_nothing(message: &RawObject, reply: &Reply) -> bool {
    let has_content =
        message.get("content").is_some_and(|content| !matches!(content.get(), "null" | "\"\""));
    !has_content && reply.calls.is_empty()
}

/// Writes the message as received, with the members that a request needs and without those that it may not
/// have.
fn answer(reply: &Reply, index: usize) -> Result<Parts, EncodeError> {
    let foreign = |_| EncodeError::Foreign { index };
    let mut message = object(reply, index)?;
    if says_nothing(&message, reply) {
        return Ok(Vec::new());
    }
    let calls = message.get("tool_calls").filter(|calls| calls.get() != "null");
    let calls = calls.map(|calls| serde_json::from_str::<Vec<RawObject>>(calls.get()));
    let mut calls = calls.transpose().map_err(foreign)?.unwrap_or_default();
    // A call without an id, or with that of another call, has the id that its result names.
    let is_whole = |(call, read): (&RawObject, &ToolCall)| {
        call.text("id").as_ref() == Some(&read.id) && !call.lacks("type")
    };
    let unchanged = message.names().next() == Some("role")
        && message.get("annotations").is_none()
        && !(calls.is_empty() && message.get("tool_calls").is_some())
        && calls.iter().zip(&reply.calls).all(is_whole);
    if unchanged {
        return Ok(vec![reply.raw().to_owned()]);
    }
    for (call, read) in calls.iter_mut().zip(&reply.calls) {
        call.set_text("id", &read.id);
        if call.lacks("type") {
            call.set_text("type", "function");
        }
    }
    match calls.as_slice() {
        [] => message.remove("tool_calls"),
        calls => message.set("tool_calls", raw(&calls)),
    }
    message.remove("annotations");
    if message.lacks("role") {
        message.set_text("role", "assistant");
    }
    Ok(vec![message.into_raw()])
}

fn user(user: &UserTurn<'_>, _: Option<&Reply>) -> Parts {
    let results = user.results.iter().map(|result| {
        json!({ "role": "tool", "tool_call_id": result.call_id, "content": marked_text_of(result) })
    });
    let texts = user.texts.iter().map(|text| json!({ "role": "user", "content": text }));
    results.chain(texts).map(|message| raw(&message)).collect()
}
