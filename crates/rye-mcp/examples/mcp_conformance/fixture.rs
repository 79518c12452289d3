//! What the suite asks a server to offer, as data.

use rmcp::ErrorData;
use rmcp::model::{
    InputRequest, InputRequests, Prompt, Resource, ResourceContents, ResourceTemplate,
    ServerCapabilities, Tool,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// All of it. Texts hold `{name}` where an argument goes.
#[derive(Deserialize)]
pub(crate) struct Fixture {
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) tools: Vec<Offered<Tool>>,
    pub(crate) prompts: Vec<Offered<Prompt>>,
    resources: Vec<Readable<Resource>>,
    templates: Vec<Readable<ResourceTemplate>>,
}

/// A tool or a prompt, with what becomes of a call.
#[derive(Deserialize)]
pub(crate) struct Offered<T> {
    pub(crate) shown: T,
    pub(crate) answer: Answer,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// This result.
    Fixed(Value),
    /// What the client has to give first is asked for in results, as the revision of 2026 has it.
    Asked(Asked),
    /// The same in a request to the client, as the revisions before have it; its answer is `{answer}` of the result.
    Sent {
        request: Value,
        then: Value,
    },
    /// A notification to every listening client.
    Changes(Change),
    Progresses,
    Logs,
}

#[derive(Deserialize)]
pub(crate) struct Asked {
    pub(crate) rounds: Vec<InputRequests>,
    /// Whether the client has to give back how far it came.
    pub(crate) sealed: bool,
    /// The result, with what the client gave as `{answers}`.
    pub(crate) then: Value,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    Tools,
    Prompts,
}

#[derive(Deserialize)]
struct Readable<T> {
    shown: T,
    contents: Value,
}

impl Fixture {
    pub(crate) fn read() -> serde_json::Result<Self> {
        serde_json::from_str(include_str!("fixture.json"))
    }

    pub(crate) fn resources(&self) -> Vec<Resource> {
        self.resources.iter().map(|resource| resource.shown.clone()).collect()
    }

    pub(crate) fn templates(&self) -> Vec<ResourceTemplate> {
        self.templates.iter().map(|template| template.shown.clone()).collect()
    }

    /// What is at an address.
    pub(crate) fn contents(&self, uri: &str) -> Result<ResourceContents, ErrorData> {
        if let Some(resource) = self.resources.iter().find(|resource| resource.shown.uri == uri) {
            return typed(resource.contents.clone());
        }
        for template in &self.templates {
            let around = template.shown.uri_template.split_once("{id}");
            let after = around.and_then(|(start, end)| Some((uri.strip_prefix(start)?, end)));
            if let Some(id) = after.and_then(|(rest, end)| rest.strip_suffix(end)) {
                let id = Map::from_iter([("id".to_owned(), id.into())]);
                return typed(filled(&template.contents, &id));
            }
        }
        Err(ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri }))))
    }
}

/// A result as the protocol's newer revisions have it; the library takes out what older ones do not know.
pub(crate) fn complete<T: DeserializeOwned>(
    result: &Value,
    arguments: &Map<String, Value>,
) -> Result<T, ErrorData> {
    let mut result = filled(result, arguments);
    if let Some(result) = result.as_object_mut() {
        result.insert("resultType".to_owned(), "complete".into());
    }
    typed(result)
}

/// A request to the client.
pub(crate) fn request(
    request: &Value,
    arguments: &Map<String, Value>,
) -> Result<InputRequest, ErrorData> {
    typed(filled(request, arguments))
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("the fixture: {error}"), None))
}

fn filled(value: &Value, arguments: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            let fill = |text: String, (name, value): (&String, &Value)| {
                let whole = value.to_string();
                text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or(&whole))
            };
            arguments.iter().fold(text.clone(), fill).into()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, arguments)).collect(),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| (name.clone(), filled(value, arguments)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}
