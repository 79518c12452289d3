//! The encoder of requests.

use rye_thread::{Reply, Request, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::conversation::{UserTurn, text_of};
use crate::encoder::{Encoder, Parts, list, up_to_list};
use crate::protocol::Delivery;
use crate::raw::{RawObject, kind, raw, text_value};
use crate::wire::EncodeError;
use crate::{ModelChoice, Protocol};

/// Returns the body of a Messages request, byte for byte as it is sent. Equal requests give equal bytes.
///
/// An answer without blocks is left out, because the provider refuses it. A request with tools asks the
/// provider to cache its start, because more requests with the same start follow.
///
/// # Errors
///
/// [`EncodeError::Foreign`] if the history has an answer of another protocol.
pub fn encode(
    request: &Request,
    choice: &ModelChoice,
    delivery: Delivery,
) -> Result<String, EncodeError> {
    ENCODER.body(request, |frame| {
        let members = Members {
            model: &choice.model,
            max_tokens: request.max_output_tokens.min(choice.max_output),
            stream: (delivery == Delivery::Streamed).then_some(true),
            cache_control: frame.tools.map(|_| CacheControl { kind: "ephemeral" }),
            system: frame.system,
            tools: frame.tools,
        };
        up_to_list(&members, "messages")
    })
}

const ENCODER: Encoder = Encoder {
    protocol: Protocol::AnthropicMessages,
    system: text_value,
    tools: |tools| list(tools, Tool::of),
    answer,
    user,
};

/// The body without its last member, `messages`.
#[derive(Serialize)]
struct Members<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self { name: &spec.name, description: &spec.description, input_schema: &spec.input_schema }
    }
}

#[derive(Serialize)]
struct WireMessage<T> {
    role: &'static str,
    content: T,
}

/// Writes the answer's blocks unchanged, but for calls without an id or with that of another call. The items of
/// another protocol are an array too; the type of the first one tells them apart.
fn answer(reply: &Reply, index: usize) -> Result<Parts, EncodeError> {
    let foreign = |_| EncodeError::Foreign { index };
    let blocks: Vec<&RawValue> = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
    match blocks.first().map(|first| kind(first)) {
        None => return Ok(Vec::new()),
        Some(Some(kind)) if matches!(&*kind, "function_call" | "message" | "reasoning") => {
            return Err(EncodeError::Foreign { index });
        }
        Some(_) => {}
    }
    let named = with_ids(&blocks, reply);
    let content = named.as_deref().unwrap_or(reply.raw());
    Ok(vec![raw(&WireMessage { role: "assistant", content })])
}

/// Returns the blocks with the ids that the results of their calls name, or `None` if they have them already.
fn with_ids(blocks: &[&RawValue], reply: &Reply) -> Option<Box<RawValue>> {
    let mut calls = reply.calls.iter();
    let mut is_changed = false;
    let named = blocks.iter().map(|block| {
        let call =
            calls.as_slice().first().filter(|_| kind(block).as_deref() == Some("tool_use"))?;
        calls.next();
        let mut object = RawObject::of(block);
        let is_other = object.text("id").as_ref() != Some(&call.id);
        is_changed |= is_other;
        is_other.then(|| {
            object.set_text("id", &call.id);
            object.into_raw()
        })
    });
    let named: Vec<Option<Box<RawValue>>> = named.collect();
    let all = blocks.iter().zip(&named).map(|(block, named)| named.as_deref().unwrap_or(block));
    is_changed.then(|| raw(&all.collect::<Vec<_>>()))
}

fn user(user: &UserTurn<'_>, _: Option<&Reply>) -> Parts {
    vec![raw(&WireMessage { role: "user", content: content(user) })]
}

fn content(user: &UserTurn<'_>) -> Value {
    match (user.results.as_slice(), user.texts.as_slice()) {
        ([], [text]) => json!(text),
        (results, texts) => {
            let texts = texts.iter().map(|text| json!({ "type": "text", "text": text }));
            results.iter().map(|result| result_block(result)).chain(texts).collect()
        }
    }
}

fn result_block(result: &ToolResult) -> Value {
    let content = text_of(&result.content);
    let mut block =
        json!({ "type": "tool_result", "tool_use_id": result.call_id, "content": content });
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}
