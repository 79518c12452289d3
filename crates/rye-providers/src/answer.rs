//! The reasoning and the calls of an answer, in the form that all protocols share.

use std::collections::BTreeSet;

use rye_thread::{Message, Reply, Request, ToolCall};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::raw::{RawObject, small};

/// The prefix of ids that this crate makes for calls that came without one.
const MADE: &str = "rye_call_";

/// Adds a call to the reply. If it has no id, one is made from its index.
///
/// Returns an error if the call has no name or repeats an id, or if there are too many calls.
pub(crate) fn add_call(
    reply: &mut Reply,
    id: Option<&str>,
    name: Option<&str>,
    arguments: Arguments<'_>,
) -> Result<(), &'static str> {
    let made = format!("{MADE}{}", reply.calls.len());
    let id = id.filter(|id| !id.is_empty()).unwrap_or(&made);
    let name = name.filter(|name| !name.is_empty()).ok_or("a tool call has no name")?;
    if MOST_CALLS <= reply.calls.len() {
        return Err(TOO_MANY_CALLS);
    }
    // Results are matched to calls by the id alone.
    if reply.calls.iter().any(|call| call.id == id) {
        return Err("a tool call has the `id` of an earlier one");
    }
    reply.calls.push(match arguments.read() {
        Ok(arguments) => ToolCall::new(id, name, arguments),
        Err(reason) => ToolCall::unreadable(id, name, &reason),
    });
    Ok(())
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
        let text = match self {
            Self::Value(value) => value.map(RawValue::get).filter(|value| *value != "null"),
            Self::Text(text) => Some(text).filter(|text| !text.is_empty()),
        };
        match text.map_or_else(|| Ok(Value::Object(Map::new())), small) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err("the arguments are not a JSON object".to_owned()),
            Err(error) => Err(unreadable(&error)),
        }
    }
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
