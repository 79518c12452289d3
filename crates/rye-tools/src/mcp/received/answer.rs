//! Answers to requests, in the form that the protocol's library reads.

use rmcp::model::{
    DiscoverResult, ErrorCode, ErrorData, ProtocolVersion, RequestId, ServerCapabilities,
    ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{error_line, line, unreadable_line};
use crate::mcp::awaited::Question;

/// The member of `_meta` with the tools or the result as the server wrote them. The types of the library leave out what they do
/// not know, and refuse a whole list for one part of it.
pub(in crate::mcp) const WRITTEN: &str = "rye/written";

/// Returns a result as a message.
pub(super) fn result(id: &RequestId, question: Question, written: &str) -> String {
    let read = match question {
        Question::Revisions => return revisions(id, written),
        _ if !written.starts_with('{') => Err("its result is no object".to_owned()),
        Question::Tools => listing(written),
        Question::Call => call_result(written),
        Question::Other => Ok(written.to_owned()),
    };
    match read {
        Ok(result) => response(id, &result),
        Err(problem) => unreadable_line(id, &problem),
    }
}

fn response(id: &RequestId, result: &str) -> String {
    line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", json!(id)))
}

/// Returns the answer to `server/discover`. An answer without the revision of the client leads to `initialize`. Of another one, only the
/// revisions and the capabilities are used.
fn revisions(id: &RequestId, written: &str) -> String {
    let latest = ProtocolVersion::LATEST;
    let written: Value = serde_json::from_str(written).unwrap_or_default();
    let member = |name: &str| written.get(name).cloned().unwrap_or_default();
    let is_known =
        member("supportedVersions").as_array().is_some_and(|all| all.contains(&json!(latest)));
    if !is_known {
        return line(&json!(no_revisions(id)).to_string());
    }
    let capabilities = serde_json::from_value::<ServerCapabilities>(member("capabilities"));
    let result = DiscoverResult::new(vec![latest], capabilities.unwrap_or_default());
    response(id, &json!(result).to_string())
}

/// Returns the answer of a server without `server/discover`, after which the library begins with `initialize`.
pub(in crate::mcp) fn no_revisions(id: &RequestId) -> ServerJsonRpcMessage {
    let error =
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the server knows no `server/discover`", None);
    ServerJsonRpcMessage::error(error, Some(id.clone()))
}

/// Returns a listing with the tools as they were written. The library gets the names and input schemas of those that have both.
fn listing(written: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Listing<'a> {
        #[serde(borrow, default)]
        tools: Option<&'a RawValue>,
        #[serde(default)]
        next_cursor: Option<Value>,
    }
    let Listing { tools, next_cursor } =
        serde_json::from_str(written).map_err(|error| error.to_string())?;
    let tools = tools.map_or("[]", RawValue::get);
    let listed: Vec<Value> =
        serde_json::from_str(tools).map_err(|_| "its `tools` are no list".to_owned())?;
    let next_cursor = match next_cursor {
        None => Value::Null,
        Some(Value::String(cursor)) if cursor.is_empty() => Value::Null,
        Some(Value::String(cursor)) => cursor.into(),
        Some(_) => return Err("its `nextCursor` is no text".to_owned()),
    };
    let usable = listed.iter().filter_map(|tool| {
        let name = tool.get("name")?.as_str()?;
        let schema = tool.get("inputSchema")?.as_object()?;
        Some(json!({ "name": name, "inputSchema": schema }))
    });
    let usable: Vec<Value> = usable.collect();
    let meta = json!({ WRITTEN: tools });
    Ok(json!({ "tools": usable, "nextCursor": next_cursor, "_meta": meta }).to_string())
}

/// Returns the result of a call as it was written. Requests for input and results of other kinds are left to the library.
fn call_result(written: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        #[serde(default)]
        result_type: Option<Value>,
    }
    let kind: Kind = serde_json::from_str(written).map_err(|error| error.to_string())?;
    match kind.result_type {
        Some(Value::String(kind)) if kind != "complete" => Ok(written.to_owned()),
        _ => Ok(json!({ "content": [], "_meta": { WRITTEN: written } }).to_string()),
    }
}

/// Returns an error as a message. What is not as the protocol has it becomes part of the text.
pub(super) fn error(id: &RequestId, question: Option<Question>, written: &str) -> String {
    let (code, message, supported) = parts(written);
    let code = code.unwrap_or(ErrorCode::INTERNAL_ERROR.0);
    if question == Some(Question::Revisions) {
        let latest = ProtocolVersion::LATEST;
        let is_known = supported.as_array().is_some_and(|all| all.contains(&json!(latest)));
        let is_modern = [ErrorCode::HEADER_MISMATCH, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY]
            .contains(&ErrorCode(code));
        if code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 && is_known {
            let data = json!({ "supported": supported });
            let error = json!({ "code": code, "message": message, "data": data });
            return line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
        }
        if !is_modern {
            return line(&json!(no_revisions(id)).to_string());
        }
    }
    error_line(id, code, &message, false)
}

/// Returns the code of an error, if it has one.
pub(super) fn code_of(written: &str) -> Option<i32> {
    parts(written).0
}

/// Returns the code, the text, and the supported revisions of an error.
fn parts(written: &str) -> (Option<i32>, String, Value) {
    let error: Value = serde_json::from_str(written).unwrap_or_default();
    let Value::Object(mut members) = error else {
        return (None, text(error), Value::Null);
    };
    let given = members.remove("code").unwrap_or_default();
    let code = code(&given);
    let message = text(members.remove("message").unwrap_or_default());
    let supported =
        members.remove("data").and_then(|mut data| Some(data.get_mut("supported")?.take()));
    let message = match (code, given) {
        (Some(_), _) | (None, Value::Null) => message,
        (None, given) => format!("{}: {message}", text(given)),
    };
    (code, message, supported.unwrap_or_default())
}

/// Returns a code that is written as a number, also with a fraction of zero, or as the text of one.
fn code(given: &Value) -> Option<i32> {
    let number = match given {
        Value::String(text) => text.trim().parse().ok()?,
        other => other.as_f64()?,
    };
    let is_code =
        number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    is_code.then(|| format!("{number}").parse().ok()).flatten()
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => "it gives no reason".to_owned(),
        other => other.to_string(),
    }
}
