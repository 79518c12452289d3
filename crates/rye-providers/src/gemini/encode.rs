//! A request as the bytes of a body.

use rye_thread::{Reply, Request, ToolResult, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::ModelChoice;
use crate::conversation::{Turn, UserTurn, sorted, system, turns};
use crate::raw::{RawObject, raw};
use crate::wire::{Delivery, EncodeError};

/// The body of a generateContent request, byte for byte as it is to be sent; equal requests give equal bytes.
///
/// The model is in the path, and so is whether the answer streams. A result carries the id of its call only where the
/// provider gave one; results are in the order of the calls.
///
/// # Errors
///
/// [`EncodeError::Foreign`] for a history that another protocol's provider gave.
pub fn encode(request: &Request, choice: &ModelChoice, _: Delivery) -> Result<String, EncodeError> {
    let mut contents = Vec::new();
    let mut given = Vec::new();
    for turn in
        turns(&request.messages, |reply, index| Ok(content(reply, index)?.parts.is_empty()))?
    {
        match turn {
            Turn::Model(reply, index) => {
                given = content(reply, index)?.ids();
                contents.push(answer(reply, index)?);
            }
            Turn::User(user) => contents.push(from_user(&user, &std::mem::take(&mut given))),
        }
    }
    let declarations: Vec<Declaration<'_>> =
        sorted(request).into_iter().map(Declaration::of).collect();
    let body = Body {
        system_instruction: system(request).map(|text| json!({ "parts": [{ "text": text }] })),
        tools: if declarations.is_empty() { vec![] } else { vec![Tools { declarations }] },
        generation_config: json!({ "maxOutputTokens": request.max_output_tokens.min(choice.max_output) }),
        contents,
    };
    serde_json::to_string(&body).map_err(EncodeError::Json)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    generation_config: Value,
    contents: Vec<Box<RawValue>>,
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

/// What is read of an answer to send it back.
#[derive(Deserialize)]
struct Content {
    parts: Vec<RawObject>,
}

impl Content {
    /// The ids that the provider gave its calls.
    fn ids(&self) -> Vec<String> {
        let calls = self.parts.iter().filter_map(|part| part.get("functionCall"));
        let calls = calls.filter_map(|call| serde_json::from_str::<RawObject>(call.get()).ok());
        calls.filter_map(|call| call.text("id")).collect()
    }
}

fn content(reply: &Reply, index: usize) -> Result<Content, EncodeError> {
    serde_json::from_str(reply.raw().get()).map_err(|_| EncodeError::Foreign { index })
}

/// The content as received; one without a role is the model's.
fn answer(reply: &Reply, index: usize) -> Result<Box<RawValue>, EncodeError> {
    let foreign = |_| EncodeError::Foreign { index };
    let mut content: RawObject = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
    if content.text("role").is_some() {
        return Ok(reply.raw().to_owned());
    }
    content.set_text("role", "model");
    Ok(content.into_raw())
}

fn from_user(user: &UserTurn<'_>, given: &[String]) -> Box<RawValue> {
    let results = user.results.iter().map(|result| response(result, given));
    let texts = user.texts.iter().map(|text| json!({ "text": text }));
    let parts: Vec<Value> = results.chain(texts).collect();
    raw(&json!({ "role": "user", "parts": parts }))
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
