//! The encoder of requests.

use rye_thread::{Reply, Request, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::conversation::UserTurn;
use crate::encoder::{Encoder, Parts, up_to_list};
use crate::protocol::Delivery;
use crate::raw::{Few, RawObject, raw};
use crate::wire::EncodeError;
use crate::{ModelChoice, Protocol};

/// Returns the body of a generateContent request, byte for byte as it is sent. Equal requests give equal
/// bytes.
///
/// The model and the delivery are in the path, not in the body. A result has the id of its call only if the
/// provider gave one. Results are in the order of the calls.
///
/// # Errors
///
/// [`EncodeError::Foreign`] if the history has an answer of another protocol.
pub fn encode(request: &Request, choice: &ModelChoice, _: Delivery) -> Result<String, EncodeError> {
    ENCODER.body(request, |frame| {
        let max_output_tokens = request.max_output_tokens.min(choice.max_output);
        let members = Members {
            system_instruction: frame.system,
            tools: frame.tools,
            generation_config: GenerationConfig { max_output_tokens },
        };
        up_to_list(&members, "contents")
    })
}

const ENCODER: Encoder = Encoder {
    protocol: Protocol::Gemini,
    system: |text| raw(&json!({ "parts": [{ "text": text }] })),
    tools: |tools| {
        let declarations = tools.iter().map(|tool| Declaration::of(tool)).collect();
        raw(&[Tools { declarations }])
    },
    answer,
    user,
};

/// The body without its last member, `contents`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u64,
}

#[derive(Serialize)]
struct Tools<'a> {
    #[serde(rename = "functionDeclarations")]
    declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

impl<'a> Declaration<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema: parameters_json_schema, .. } = spec;
        Self { name, description, parameters_json_schema }
    }
}

/// The part of an answer that is read to send it back.
struct Content {
    object: RawObject,
    parts: Vec<RawObject>,
}

impl Content {
    /// Reads an answer. One without parts is an answer that says nothing.
    fn of(reply: &Reply, index: usize) -> Result<Self, EncodeError> {
        let foreign = |_| EncodeError::Foreign { index };
        let object: RawObject = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
        let parts = object.get("parts").map_or("null", RawValue::get);
        let parts: Few<RawObject> = serde_json::from_str(parts).map_err(foreign)?;
        let is_own =
            object.get("parts").is_some() || object.text("role").as_deref() == Some("model");
        if is_own {
            Ok(Self { object, parts: parts.0 })
        } else {
            Err(EncodeError::Foreign { index })
        }
    }

    /// The calls as received, each with its part and its view.
    fn calls<'c>(
        &'c mut self,
        reply: &'c Reply,
    ) -> impl Iterator<Item = (&'c mut RawObject, RawObject, &'c ToolCall)> {
        let calls = self.parts.iter_mut().filter_map(|part| {
            let call = part.get("functionCall").filter(|call| call.get() != "null");
            let call = call.map(RawObject::of)?;
            Some((part, call))
        });
        calls.zip(&reply.calls).map(|((part, call), read)| (part, call, read))
    }
}

/// Writes the content as received, or nothing if it has no parts. A missing role becomes `model`. A call with an
/// empty id, or with that of another call, gets the id that its result names.
fn answer(reply: &Reply, index: usize) -> Result<Parts, EncodeError> {
    let mut content = Content::of(reply, index)?;
    if content.parts.is_empty() {
        return Ok(Vec::new());
    }
    let mut is_changed = false;
    for (part, mut call, read) in content.calls(reply) {
        if !call.lacks("id") && call.text("id").as_ref() != Some(&read.id) {
            call.set_text("id", &read.id);
            part.set("functionCall", call.into_raw());
            is_changed = true;
        }
    }
    let Content { mut object, parts } = content;
    if is_changed {
        object.set("parts", raw(&parts));
    }
    if object.text("role").is_some() && !is_changed {
        return Ok(vec![reply.raw().to_owned()]);
    }
    if object.text("role").is_none() {
        object.set_text("role", "model");
    }
    Ok(vec![object.into_raw()])
}

fn user(user: &UserTurn<'_>, before: Option<&Reply>) -> Parts {
    // The provider gave ids to these calls. Reading cannot fail, because the answer was read before.
    let given = before.and_then(|reply| Some((reply, Content::of(reply, 0).ok()?)));
    let given = given.map(|(reply, mut content)| {
        let calls = content.calls(reply).filter(|(_, call, _)| !call.lacks("id"));
        calls.map(|(_, _, read)| read.id.clone()).collect::<Vec<_>>()
    });
    let given = given.unwrap_or_default();
    let results = user.results.iter().map(|result| response(result, &given));
    let texts = user.texts.iter().map(|text| json!({ "text": text }));
    let parts: Vec<Value> = results.chain(texts).collect();
    vec![raw(&json!({ "role": "user", "parts": parts }))]
}

fn response(result: &ToolResult, given: &[String]) -> Value {
    let mut response = json!({});
    if given.contains(&result.call_id) {
        response["id"] = json!(result.call_id);
    }
    response["name"] = json!(result.name);
    let key = if result.is_error { "error" } else { "output" };
    response["response"] = json!({ key: result.content });
    json!({ "functionResponse": response })
}
