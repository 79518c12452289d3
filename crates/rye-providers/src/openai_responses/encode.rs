//! A request as the bytes of a body.

use rye_thread::{Reply, Request, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::conversation::{UserTurn, marked_text_of};
use crate::raw::{RawObject, kind, raw, text_value};
use crate::script::{Parts, Script, list, up_to_list};
use crate::wire::{Delivery, EncodeError};
use crate::{ModelChoice, Protocol};

/// The body of a Responses request, byte for byte as it is to be sent; equal requests give equal bytes.
///
/// An answer's reasoning behind its last other item is left out, because the provider refuses reasoning that nothing
/// follows. A failed result is `{"error": …}`, because the protocol has no other place to say that it failed.
///
/// # Errors
///
/// [`EncodeError::Foreign`] for a history that another protocol's provider gave.
pub fn encode(
    request: &Request,
    choice: &ModelChoice,
    delivery: Delivery,
) -> Result<String, EncodeError> {
    SCRIPT.body(request, |frame| {
        let members = Members {
            model: &choice.model,
            max_output_tokens: request.max_output_tokens.min(choice.max_output),
            stream: (delivery == Delivery::Streamed).then_some(true),
            // The history is ours: it is sent whole each time, and the provider keeps no copy.
            store: false,
            include: ["reasoning.encrypted_content"],
            instructions: frame.system,
            tools: frame.tools,
        };
        up_to_list(&members, "input")
    })
}

const SCRIPT: Script = Script {
    protocol: Protocol::OpenAiResponses,
    system: text_value,
    tools: |tools| list(tools, Tool::of),
    answer: items,
    user,
};

/// The body but for its last member, `input`.
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
    /// Strict schemas must require every property, which ours need not.
    strict: bool,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema: parameters, .. } = spec;
        Self { kind: "function", name, description, parameters, strict: false }
    }
}

/// The items of an answer as they are sent back.
fn items(reply: &Reply, index: usize) -> Result<Parts, EncodeError> {
    let foreign = |_| EncodeError::Foreign { index };
    let mut items: Vec<Box<RawValue>> = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
    // Another protocol's blocks are an array too.
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

/// Gives a call the id that its result names, where it came without one.
fn name(item: &mut Box<RawValue>, id: &str) -> serde_json::Result<()> {
    let mut object: RawObject = serde_json::from_str(item.get())?;
    if object.text("call_id").is_none_or(|id| id.is_empty()) {
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
