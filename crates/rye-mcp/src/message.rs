//! A client's message as it is read: its bounds, and the errors for one that cannot be read.

use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, CustomRequest, ErrorData,
    GetPromptRequestParams, GetSkillRequestParams, InitializeRequestParams,
    ReadResourceRequestParams, RequestId, ServerJsonRpcMessage,
};
use rye_transcript::count_json_values;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest message, in bytes.
pub(crate) const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The most values of a message. A value takes up to several hundred times the memory of its shortest text while a message is
/// read.
const MOST_VALUES: usize = 20_000;

/// The longest id that an error repeats, in bytes.
const LONGEST_ID: usize = 1024;

/// The meaning of a client's text.
pub(crate) enum Reading {
    /// A message of the protocol.
    Message(Box<ClientJsonRpcMessage>),
    /// An empty text, or a notification that cannot be read. Neither has an answer.
    Nothing,
    /// The error that is the answer.
    Refused(Box<ServerJsonRpcMessage>),
}

impl Reading {
    pub(crate) fn of(text: &[u8]) -> Self {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).trim_ascii();
        if text.is_empty() {
            return Self::Nothing;
        }
        if let Some(refusal) = too_many_values(text) {
            return Self::Refused(Box::new(refusal));
        }
        let error = match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
            Ok(message) => match params_problem(&message).filter(|_| !is_removed(text)) {
                None => return Self::Message(Box::new(message)),
                Some(problem) => ErrorData::invalid_params(problem, None),
            },
            Err(error) if error.is_data() => ErrorData::invalid_request("Invalid request", None),
            Err(error) => ErrorData::parse_error(format!("it is no JSON: {error}"), None),
        };
        let head = Head::of(text);
        if head.as_ref().is_some_and(Head::is_notification) {
            return Self::Nothing;
        }
        let id = head.and_then(|head| head.request_id());
        Self::Refused(Box::new(ServerJsonRpcMessage::error(error, id)))
    }
}

/// Returns the problem of a request that the library takes for one of an unknown method, because its parameters do not fit.
fn params_problem(message: &ClientJsonRpcMessage) -> Option<String> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CustomRequest(CustomRequest { method, params, .. }) = &request.request
    else {
        return None;
    };
    let problem = match method.as_str() {
        "initialize" => problem_of::<InitializeRequestParams>(params.as_ref()),
        "tools/call" => problem_of::<CallToolRequestParams>(params.as_ref()),
        "prompts/get" => problem_of::<GetPromptRequestParams>(params.as_ref()),
        "resources/read" => problem_of::<ReadResourceRequestParams>(params.as_ref()),
        "skills/get" => problem_of::<GetSkillRequestParams>(params.as_ref()),
        "ping" | "server/discover" => "they do not fit".to_owned(),
        _ => return None,
    };
    Some(format!("the params of `{method}` cannot be read: {problem}"))
}

/// Returns `true` for `initialize` in the newest revision, which each request of it names and which has no such method.
fn is_removed(text: &[u8]) -> bool {
    let Some(Head { method: Some(method), params: Some(params), .. }) = Head::of(text) else {
        return false;
    };
    let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
    method == "initialize" && params["_meta"].get(REVISION).is_some()
}

/// The member of `_meta` in which a request names its revision (SEP-2575).
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

fn problem_of<T: DeserializeOwned>(params: Option<&Value>) -> String {
    match params.map(T::deserialize) {
        None => "they are missing".to_owned(),
        Some(Err(error)) => error.to_string(),
        Some(Ok(_)) => "they do not fit".to_owned(),
    }
}

/// The members that tell what a message is. Its other values are passed over.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(default)]
    pub(crate) method: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl<'a> Head<'a> {
    /// Reads the members; `None` if the message is no object, or names one of them twice.
    pub(crate) fn of(json: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Returns `true` for a notification, which gets no answer.
    pub(crate) fn is_notification(&self) -> bool {
        self.method.is_some() && self.id.is_none()
    }

    /// Returns the revision that `initialize` asks for.
    pub(crate) fn revision(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked {
            protocol_version: String,
        }
        let asked: Asked = serde_json::from_str(self.params?.get()).ok()?;
        (self.method.as_deref() == Some("initialize")).then_some(asked.protocol_version)
    }

    fn request_id(&self) -> Option<RequestId> {
        let id = self.id.map(RawValue::get).filter(|id| id.len() <= LONGEST_ID)?;
        serde_json::from_str(id).ok()
    }
}

/// Returns the error for a message of too many values.
pub(crate) fn too_many_values(json: &[u8]) -> Option<ServerJsonRpcMessage> {
    (MOST_VALUES < count_json_values(json)).then(|| {
        invalid(
            json,
            format!("the message has more than {MOST_VALUES} values; send fewer at a time"),
        )
    })
}

/// Returns the error for a message that is not one of the protocol, with its id if it has one.
pub(crate) fn invalid(
    json: &[u8],
    reason: impl Into<std::borrow::Cow<'static, str>>,
) -> ServerJsonRpcMessage {
    let id = Head::of(json).and_then(|head| head.request_id());
    ServerJsonRpcMessage::error(ErrorData::invalid_request(reason, None), id)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(id: &str, values: usize) -> String {
        let values = ["{}"].repeat(values).join(",");
        format!(r#"{{"jsonrpc":"2.0"{id},"method":"x","params":{{"a":[{values}]}}}}"#)
    }

    /// Each request that cannot be read has an answer, with its id if that can be read.
    #[test]
    fn every_request_has_an_answer() {
        let call = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
        };
        let begin = call("{}").replace("tools/call", "initialize");
        for (text, id, code, part) in [
            ("no JSON".to_owned(), Value::Null, -32700, "it is no JSON"),
            ("\u{e9}".to_owned(), Value::Null, -32700, "it is no JSON"),
            ("[".to_owned(), Value::Null, -32700, "it is no JSON"),
            (call(r#"{"name":"\ud83d"}"#), json!(7), -32700, "hex escape"),
            (call(r#"{"name":"x","arguments":"{}"}"#), json!(7), -32602, "`tools/call`"),
            (call(r#"{"name":7}"#), json!(7), -32602, "expected a string"),
            (call("[]").replace(",\"params\":[]", ""), json!(7), -32602, "they are missing"),
            (
                begin,
                json!(7),
                -32602,
                "`initialize` cannot be read: missing field `protocolVersion`",
            ),
            (
                call("{}").replace("tools/call", "skills/get"),
                json!(7),
                -32602,
                "`skills/get` cannot be read: missing field `uri`",
            ),
            (
                call(r#"{"uri":7}"#).replace("tools/call", "resources/read"),
                json!(7),
                -32602,
                "`resources/read` cannot be read: invalid type",
            ),
            ("[]".to_owned(), Value::Null, -32600, "Invalid request"),
            (r#"{"id":7}"#.to_owned(), json!(7), -32600, "Invalid request"),
        ] {
            let Reading::Refused(error) = Reading::of(text.as_bytes()) else { panic!("{text}") };
            let error = serde_json::to_value(error).unwrap();
            assert_eq!(error["error"]["code"], code, "{text}: {error}");
            assert_eq!(error.get("id").unwrap_or(&Value::Null), &id, "{text}");
            let message = error["error"]["message"].as_str().unwrap();
            assert!(message.contains(part), "{text}: {message}");
        }
        for told in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":["\ud83d"]}"#,
            " ",
        ] {
            assert!(matches!(Reading::of(told.as_bytes()), Reading::Nothing), "{told}");
        }
        for (read, method) in [
            (call(r#"{"name":"x"}"#), "tools/call"),
            (call("{}").replace("tools", "own"), "own/call"),
            (
                call(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#)
                    .replace("tools/call", "initialize"),
                "initialize",
            ),
        ] {
            let Reading::Message(message) = Reading::of(read.as_bytes()) else { panic!("{read}") };
            assert_eq!(serde_json::to_value(message).unwrap()["method"], method);
        }
    }

    #[test]
    fn a_message_has_a_bound_on_its_values() {
        let long = format!(",\"id\":\"{}\"", "x".repeat(LONGEST_ID));
        let list = format!(",\"id\":[{}0]", "0,".repeat(MOST_VALUES));
        for (id, expected) in [
            (",\"id\":7", json!(7)),
            (",\"id\":\"a\\\"b\"", json!("a\"b")),
            ("", Value::Null),
            (",\"id\":null", Value::Null),
            (",\"id\":1.5", Value::Null),
            (",\"id\":1,\"id\":2", Value::Null),
            (&long, Value::Null),
            (&list, Value::Null),
        ] {
            let error = too_many_values(request(id, MOST_VALUES).as_bytes()).unwrap();
            let error = serde_json::to_value(error).unwrap();
            let message = "the message has more than 20000 values; send fewer at a time";
            assert_eq!(error["error"], json!({ "code": -32600, "message": message }));
            assert_eq!(error.get("id").unwrap_or(&Value::Null), &expected, "{id}");
        }
        assert!(too_many_values(request(",\"id\":7", MOST_VALUES / 3).as_bytes()).is_none());
        let text = format!("{:?}", ",[{".repeat(MOST_VALUES));
        assert!(too_many_values(text.as_bytes()).is_none());
    }
}
