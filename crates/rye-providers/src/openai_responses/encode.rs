//! The encoder of requests.

use rye_thread::{Reply, Request, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::conversation::{UserTurn, marked_text_of};
use crate::encoder::{Encoder, Parts, list, up_to_list};
use crate::protocol::Delivery;
use crate::raw::{RawObject, kind, raw, text_value};
use crate::wire::EncodeError;
use crate::{ModelChoice, Protocol};

/// Returns the body of a Responses request, byte for byte as it is sent. Equal requests give equal bytes.
///
/// Reasoning at the end of an answer is left out, because the provider refuses reasoning that no other item
/// follows. A failed result is written as `{"error": …}`, because the protocol has no other mark for it.
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
            max_output_tokens: request.max_output_tokens.min(choice.max_output),
            stream: (delivery == Delivery::Streamed).then_some(true),
            // The whole history is sent each time, so the provider need not store it.
            store: false,
            include: ["reasoning.encrypted_content"],
            instructions: frame.system,
            tools: frame.tools,
        };
        up_to_list(&members, "input")
    })
}

const ENCODER: Encoder = Encoder {
    protocol: Protocol::OpenAiResponses,
    system: text_value,
    tools: |tools| list(tools, Tool::of),
    answer: items,
    user,
};

/// The body without its last member, `input`.
#[derive(Serialize)]
struct Members<'a> {
    model: &'a str,
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    store: bool,
    include: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// `false`, because strict schemas must require every property.
    strict: bool,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema: parameters, .. } = spec;
        Self { kind: "function", name, description, parameters, strict: false }
    }
}

/// Writes the items of an answer as they are sent back.
fn items(reply: &Reply, index: usize) -> Result<Parts, EncodeError> {
    let foreign = |_| EncodeError::Foreign { index };
    let mut items: Vec<Box<RawValue>> = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
    // The blocks of another protocol are an array too.
    let first = items.first().and_then(|first| kind(first));
    if matches!(first.as_deref(), Some("text" | "tool_use" | "thinking" | "redacted_thinking")) {
        return Err(EncodeError::Foreign { index });
    }
    while items.last().is_some_and(|item| kind(item).as_deref() == Some("reasoning")) {
        items.pop();
    }
    let mut calls = reply.calls.iter();
    for item in &mut items {
        if kind(item).as_deref() == Some("function_call")
            && let Some(call) = calls.next()
        {
            name(item, &call.id).map_err(foreign)?;
        }
    }
    Ok(items)
}

/// Gives a call the id that its result names, if it has none or that of another call.
fn name(item: &mut Box<RawValue>, id: &str) -> serde_json::Result<()> {
    let mut object: RawObject = serde_json::from_str(item.get())?;
    if object.text("call_id").as_deref() != Some(id) {
        object.set_text("call_id", id);
        *item = object.into_raw();
    }
    Ok(())
}

fn user(user: &UserTurn<'_>, _: Option<&Reply>) -> Parts {
    let results = user.results.iter().map(|result| {
        let output = marked_text_of(result);
        json!({ "type": "function_call_output", "call_id": result.call_id, "output": output })
    });
    let texts = user.texts.iter().map(|text| json!({ "role": "user", "content": text }));
    results.chain(texts).map(|item| raw(&item)).collect()
}
