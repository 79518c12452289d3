//! A client's message before its values are kept: its bounds, and its id for the error.

use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rye_transcript::count_json_values;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The longest message, in bytes.
pub(crate) const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The most values of a message. A value takes up to several hundred times the memory of its shortest text while a message is
/// read.
const MOST_VALUES: usize = 20_000;

/// The longest id that an error repeats, in bytes.
const LONGEST_ID: usize = 1024;

/// The members that tell what a message is. Its other values are passed over.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(default)]
    pub(crate) method: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
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
