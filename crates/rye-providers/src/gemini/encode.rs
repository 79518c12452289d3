//! The encoder of requests.

use rye_thread::{Reply, Request, ToolResult, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::conversation::UserTurn;
use crate::encoder::{Encoder, Parts, up_to_list};
use crate::protocol::Delivery;
use crate::raw::{RawObject, raw};
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

/// Writes the content as received, or nothing if it has no parts. A missing role becomes `model`.
fn answer(reply: &Reply, index: usize) -> Result<Parts, EncodeError> {
    if content(reply, index)?.parts.is_empty() {
        return Ok(Vec::new());
    }
    let foreign = |_| EncodeError::Foreign { index };
    let mut content: RawObject = serde_json::from_str(reply.raw().get()).map_err(foreign)?;
    if content.text("role").is_some() {
        return Ok(vec![reply.raw().to_owned()]);
    }
    content.set_text("role", "model");
    Ok(vec![content.into_raw()])
}

fn user(user: &UserTurn<'_>, before: Option<&Reply>) -> Parts {
    // Reading cannot fail, because the answer was read before.
    let given = before.and_then(|reply| content(reply, 0).ok()).map(|content| content.ids());
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
