//! The messages in the text that a server sent.
//!
//! An answer that can be read is used, also if it is not written as the protocol has it. An answer that cannot be read becomes an
//! error for its request at once. Text that is no message at all is passed over, because some servers write notes to
//! their standard output.

mod answer;

use std::borrow::Cow;

use rmcp::model::RequestId;
use rye_thread::{count_json_values, mend_halves};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Deserializer, json};

pub(super) use self::answer::{WRITTEN, no_revisions};
use self::answer::{error, result};
use super::awaited::Awaited;

/// The largest number of values in a text. While it is read, a value takes up to several hundred times the memory of its
/// shortest text.
const VALUES: usize = 100_000;

/// The member of an error's `data` that marks an answer which cannot be read. The `data` of a server's errors is left out, so that
/// no server writes it.
pub(super) const UNREADABLE: &str = "rye/unreadable";

const BOM: &[u8] = "\u{feff}".as_bytes();

/// The text of a server, with the requests that it may answer.
struct Received<'a> {
    awaited: &'a Awaited,
    /// The request that the text answers, if the transport tells.
    asked: Option<&'a RequestId>,
}

/// The members of a message. `null` counts as missing.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Returns the messages of a text, each on one line and in a form that the protocol's library reads.
///
/// `asked` is the request that the text answers: its text then has an answer to it, or is an error.
pub(super) fn messages(text: &[u8], awaited: &Awaited, asked: Option<&RequestId>) -> Vec<String> {
    let text = text.strip_prefix(BOM).unwrap_or(text).trim_ascii();
    if text.is_empty() {
        return Vec::new();
    }
    let received = Received { awaited, asked };
    let shown = String::from_utf8_lossy(text);
    if VALUES < count_json_values(text) {
        let problem = format!("its answer has more than {VALUES} values");
        let answered = received.answered_by(&shown).into_iter();
        return answered.map(|id| error_line(&id, -32600, &problem, false)).collect();
    }
    let Cow::Borrowed(text) = shown else {
        return received.unreadable(&shown, "it is not UTF-8");
    };
    let mended = mend_halves(text);
    received.messages(mended.as_deref().unwrap_or(text))
}

/// Returns the error for a request whose answer cannot be read.
pub(super) fn unreadable_line(id: &RequestId, problem: &str) -> String {
    error_line(id, -32600, problem, true)
}

/// Returns an error as a message, with the mark of an answer that cannot be read.
fn error_line(id: &RequestId, code: i32, message: &str, is_unreadable: bool) -> String {
    let mut error = json!({ "code": code, "message": message });
    if is_unreadable {
        error["data"] = json!({ UNREADABLE: true });
    }
    line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}

/// Returns JSON on one line. A line end is white space in JSON, because no string holds one as it stands.
fn line(json: &str) -> String {
    let mut line = json.replace(['\n', '\r'], " ");
    line.push('\n');
    line
}

impl Received<'_> {
    /// Returns the messages of a text with values of JSON one after the other.
    fn messages(&self, text: &str) -> Vec<String> {
        let mut messages = Vec::new();
        let mut values = Deserializer::from_str(text).into_iter::<&RawValue>();
        while let Some(value) = values.next() {
            match value {
                Ok(value) => messages.extend(self.value(value.get())),
                Err(error) => {
                    let rest = text.get(values.byte_offset()..).unwrap_or_default();
                    // What follows an answer over HTTP belongs to no other request.
                    if messages.is_empty() || self.asked.is_none() {
                        messages.extend(self.unreadable(rest, &format!("it is no JSON: {error}")));
                    }
                    break;
                }
            }
        }
        messages
    }

    /// Returns the messages of one value: an object, or the list of a batch (revision 2025-03-26).
    fn value(&self, json: &str) -> Vec<String> {
        if !json.starts_with('[') {
            return self.message(json);
        }
        match serde_json::from_str::<Vec<&RawValue>>(json) {
            Ok(batch) => batch.iter().flat_map(|message| self.message(message.get())).collect(),
            Err(error) => self.unreadable(json, &error.to_string()),
        }
    }

    fn message(&self, json: &str) -> Vec<String> {
        if !json.starts_with('{') {
            return self.unreadable(json, "it is no object");
        }
        let members = match serde_json::from_str::<Members<'_>>(json) {
            Ok(members) => members,
            Err(error) => return self.unreadable(json, &error.to_string()),
        };
        if members.method.is_some() {
            return vec![line(json)];
        }
        let id = members.id.and_then(|id| serde_json::from_str::<RequestId>(id.get()).ok());
        let told = || self.awaited.find(self.asked?);
        let is_number = matches!(id, Some(RequestId::Number(_)));
        // A result that names another request is none to this one. It may be late.
        let named = id.as_ref().map_or_else(told, |id| self.awaited.find(id));
        match (members.result, members.error) {
            (Some(written), None) => match named {
                Some((id, question)) => vec![result(&id, question, written.get())],
                None if id.is_none() => self.unreadable(json, "its result names no request"),
                None => Vec::new(),
            },
            // Some servers write a made-up text as the id of an error about a request that they could not read.
            (None, Some(written)) => match named.or_else(|| told().filter(|_| !is_number)) {
                Some((id, question)) => vec![error(&id, Some(question), written.get())],
                None if id.is_none() => self.error_of_none(written.get()),
                None => Vec::new(),
            },
            (Some(_), Some(_)) => self.unreadable(json, "it has a result and an error"),
            (None, None) => self.unreadable(json, "it has neither a result nor an error"),
        }
    }

    /// Returns an error without an id for each open request, because the server could not read one of them (JSON-RPC 2.0, section
    /// 5). An unknown method is one of a notification, as requests have an id that the server read.
    fn error_of_none(&self, written: &str) -> Vec<String> {
        if answer::code_of(written) == Some(-32601) {
            return Vec::new();
        }
        self.awaited.all().iter().map(|id| error(id, None, written)).collect()
    }

    /// Returns the error for each request that an unreadable text may answer. Text that is no message has none.
    fn unreadable(&self, text: &str, problem: &str) -> Vec<String> {
        let is_message = text.starts_with(['{', '[']) && text.contains("\"jsonrpc\"");
        if self.asked.is_none() && !is_message {
            return Vec::new();
        }
        self.answered_by(text).iter().map(|id| unreadable_line(id, problem)).collect()
    }

    /// Returns the requests that the text may answer: the one that it names or the transport tells, or else all that are open.
    /// Text with the name of a method is no answer.
    fn answered_by(&self, text: &str) -> Vec<RequestId> {
        if let Some(id) = self.asked {
            return vec![id.clone()];
        }
        match self.named_in(text) {
            Some(id) => vec![id],
            None if text.contains("\"method\"") && !text.contains("\"result\"") => Vec::new(),
            None => self.awaited.all(),
        }
    }

    /// Finds the id of an open request in a text that may not be JSON.
    fn named_in(&self, text: &str) -> Option<RequestId> {
        let values = text.split("\"id\"").skip(1);
        let values = values.filter_map(|rest| rest.trim_start().strip_prefix(':'));
        let mut ids = values.filter_map(|rest| {
            let mut values = Deserializer::from_str(rest).into_iter::<serde_json::Value>();
            let id = serde_json::from_value::<RequestId>(values.next()?.ok()?).ok()?;
            self.awaited.find(&id)
        });
        ids.next().map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests;
