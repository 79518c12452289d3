//! The reasoning and the calls of an answer, in the form that all protocols share.

use std::collections::BTreeSet;

use rye_thread::{Message, Reply, Request, ToolCall, count_json_values, mend_halves};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::raw::{MOST_VALUES, RawObject, small};

/// The prefix of ids that this crate makes for calls that came without one.
const MADE: &str = "rye_call_";

/// Adds a call to the reply. A call without an id, or with that of an earlier call, gets an id that is made
/// from its index.
///
/// Returns the JSON of the arguments if they had to be recovered, because then they are recorded so.
///
/// Returns an error if the call has no name or if there are too many calls.
pub(crate) fn add_call(
    reply: &mut Reply,
    id: Option<&str>,
    name: Option<&str>,
    arguments: Arguments<'_>,
) -> Result<Option<String>, &'static str> {
    // Results are matched to calls by the id alone.
    let is_new = |id: &str| !id.is_empty() && !reply.calls.iter().any(|call| call.id == id);
    let mut made = format!("{MADE}{}", reply.calls.len());
    while !is_new(&made) {
        made.push('_');
    }
    let id = id.filter(|id| is_new(id)).unwrap_or(&made);
    let name = name.filter(|name| !name.is_empty()).ok_or("a tool call has no name")?;
    if MOST_CALLS <= reply.calls.len() {
        return Err(TOO_MANY_CALLS);
    }
    let (call, recovered) = match arguments.read() {
        Ok(arguments) => (ToolCall::new(id, name, arguments), None),
        Err(reason) => match arguments.recover() {
            Some((arguments, json)) => (ToolCall::new(id, name, arguments), Some(json)),
            None => (ToolCall::unreadable(id, name, &reason), None),
        },
    };
    reply.calls.push(call);
    Ok(recovered)
}

/// The largest number of calls in an answer. It is bounded because each new id is compared with all others.
pub(crate) const MOST_CALLS: usize = 1_000;
pub(crate) const TOO_MANY_CALLS: &str = "the answer has more than 1000 tool calls";

/// Adds a piece of readable reasoning on a line of its own.
pub(crate) fn add_reasoning(reply: &mut Reply, thought: &str) {
    if !reply.reasoning.is_empty() && !thought.is_empty() {
        reply.reasoning.push('\n');
    }
    reply.reasoning.push_str(thought);
}

/// The arguments of a call, in one of the two forms that protocols have.
#[derive(Clone, Copy)]
pub(crate) enum Arguments<'a> {
    /// JSON in a JSON string.
    Text(&'a str),
    /// JSON as received, or `None` if there are no arguments.
    Value(Option<&'a RawValue>),
}

impl<'a> Arguments<'a> {
    /// Returns the member `arguments` of a call, which is text in most answers.
    pub(crate) fn of(call: &'a RawObject, text: Option<&'a str>) -> Self {
        text.map_or_else(|| Self::Value(call.get("arguments")), Self::Text)
    }

    fn read(self) -> Result<Value, String> {
        let text = self.json();
        match text.map_or_else(|| Ok(Value::Object(Map::new())), small) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err("the arguments are not a JSON object".to_owned()),
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn json(self) -> Option<&'a str> {
        match self {
            Self::Value(value) => value.map(RawValue::get).filter(|value| *value != "null"),
            Self::Text(text) => Some(text).filter(|text| !matches!(text.trim_ascii(), "" | "null")),
        }
    }

    fn recover(self) -> Option<(Value, String)> {
        recover(self.json()?)
    }
}

/// Returns the object that arguments mean which are not JSON of one object, with its JSON, if there is only one
/// reading.
///
/// Servers write an object more than once, or an empty one before or after it, or as text in a JSON string, or
/// with half of a character.
pub(crate) fn recover(arguments: &str) -> Option<(Value, String)> {
    if MOST_VALUES < count_json_values(arguments.as_bytes()) {
        return None;
    }
    let mended = mend_halves(arguments);
    if let Some(json) = mended
        && let Ok(value @ Value::Object(_)) = serde_json::from_str(&json)
    {
        return Some((value, json));
    }
    let value = only_object(arguments, MOST_TEXTS)?;
    let json = value.to_string();
    Some((value, json))
}

/// The largest nesting of JSON in JSON strings that is read.
const MOST_TEXTS: usize = 3;

fn only_object(json: &str, texts: usize) -> Option<Value> {
    let mended = mend_halves(json);
    let json = mended.as_deref().unwrap_or(json);
    let mut found = Value::Object(Map::new());
    let nothing = found.clone();
    for value in serde_json::Deserializer::from_str(json).into_iter::<Value>() {
        let value = match value.ok()? {
            Value::String(inner) => only_object(&inner, texts.checked_sub(1)?)?,
            value @ Value::Object(_) => value,
            _ => return None,
        };
        if found == nothing {
            found = value;
        } else if value != nothing && value != found {
            return None;
        }
    }
    Some(found)
}

/// Returns the message to the model about arguments that cannot be read.
///
/// The parser reads to 128 levels, so deeper arguments get the message for more than 64 levels too.
pub(crate) fn unreadable(error: &serde_json::Error) -> String {
    let error = error.to_string();
    if error.starts_with("recursion limit exceeded") {
        "the arguments are nested deeper than 64 levels".to_owned()
    } else if error.starts_with("there are more than") {
        format!("the arguments cannot be read: {error}")
    } else {
        format!("the arguments are not JSON: {error}")
    }
}

/// Adds the number of the turn to the ids that this crate made, so that they are unique in the conversation.
pub(crate) fn number_calls(reply: &mut Reply, request: &Request) {
    let is_answer = |message: &&Message| matches!(message, Message::Assistant { .. });
    let turn = request.messages.iter().filter(is_answer).count() + 1;
    let given = given_ids(reply.raw().get());
    for call in &mut reply.calls {
        if let Some(place) = call.id.strip_prefix(MADE).filter(|place| !given.contains(*place)) {
            call.id = format!("{MADE}{turn}_{place}");
        }
    }
}

/// Returns the rest of every text in the answer that begins with the prefix of made ids.
///
/// Such an id came from the provider, so it must not be changed.
fn given_ids(raw: &str) -> BTreeSet<String> {
    let lead = format!("\"{MADE}");
    let ends = raw.split(lead.as_str()).skip(1);
    ends.filter_map(|end| end.get(..LONGEST_END.min(end.len()))?.split_once('"'))
        .map(|(end, _)| end.to_owned())
        .collect()
}

/// More bytes than the number of a made id has.
const LONGEST_END: usize = 24;

#[cfg(test)]
mod tests {
    use rye_thread::{Opening, StopReason};

    use super::*;

    #[track_caller]
    fn check(raw: &str, expected: &[&str]) {
        let body = format!(r#"{{"choices":[{{"message":{raw},"finish_reason":"tool_calls"}}]}}"#);
        let mut reply = crate::decode(crate::Protocol::OpenAiChat, body.as_bytes()).unwrap();
        assert_eq!(reply.stop, StopReason::ToolUse);
        let opening = Opening { system: None, first_user_message: String::new() };
        number_calls(&mut reply, &Request::new(&opening, Vec::new(), 1));
        let ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn only_ids_that_we_made_are_numbered() {
        let function = r#""function":{"name":"n","arguments":"{}"}"#;
        check(
            &format!(r#"{{"tool_calls":[{{{function}}},{{{function}}}]}}"#),
            &["rye_call_1_0", "rye_call_1_1"],
        );
        check(
            &format!(r#"{{"tool_calls":[{{"id":"rye_call_7",{function}}},{{{function}}}]}}"#),
            &["rye_call_7", "rye_call_1_1"],
        );
    }
}
