//! The turn after each answer of the conformance tables: what is sent back of the answer and of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use rye_providers::{Delivery, ModelChoice, Protocol, body, decode};
use rye_thread::{Message, Opening, Reply, Request, ToolResult};
use serde_json::{Value, json};

use crate::fixtures::{fixtures, stream};

/// The body of the turn after an answer, with a result for each of its calls.
fn next_turn(protocol: Protocol, reply: &Reply) -> String {
    let opening = Opening { system: None, first_user_message: "Go.".to_owned() };
    let mut request = Request::new(&opening, Vec::new(), 100);
    let results: Vec<ToolResult> =
        reply.calls.iter().map(|call| ToolResult::ok(call, json!("done"))).collect();
    request.messages.push(Message::Assistant { reply: Arc::new(reply.clone()) });
    if results.is_empty() {
        request.messages.push(Message::User { text: "And?".to_owned() });
    } else {
        request.messages.push(Message::ToolResults { results });
    }
    body(protocol, &request, &ModelChoice::new("m", 1_000, 100), Delivery::Whole).unwrap()
}

/// The ids and the arguments of the calls in a body, and the ids of the results.
#[derive(Default)]
struct Sent {
    calls: Vec<(Value, Value)>,
    results: Vec<Value>,
}

impl Sent {
    fn of(body: &Value) -> Self {
        let mut sent = Self::default();
        let list = ["messages", "input", "contents"].into_iter().find_map(|it| body.get(it));
        for item in list.and_then(Value::as_array).unwrap() {
            sent.read(item);
            for member in ["content", "parts", "tool_calls"] {
                let parts = item.get(member).and_then(Value::as_array);
                parts.into_iter().flatten().for_each(|part| sent.read(part));
            }
        }
        sent
    }

    fn read(&mut self, part: &Value) {
        let member = |name: &str| part.get(name).cloned().unwrap_or_default();
        if let Some(function) = part.get("function") {
            self.calls.push((member("id"), function["arguments"].clone()));
        }
        if let Some(call) = part.get("functionCall") {
            self.calls.push((call["id"].clone(), call["args"].clone()));
        }
        if let Some(response) = part.get("functionResponse") {
            self.results.push(response["id"].clone());
        }
        match part.get("type").and_then(Value::as_str) {
            Some("tool_use") => self.calls.push((member("id"), member("input"))),
            Some("tool_result") => self.results.push(member("tool_use_id")),
            Some("function_call") => self.calls.push((member("call_id"), member("arguments"))),
            Some("function_call_output") => self.results.push(member("call_id")),
            _ => {}
        }
        if part.get("role") == Some(&json!("tool")) {
            self.results.push(member("tool_call_id"));
        }
    }
}

/// The object that sent arguments mean.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) if text.is_empty() => json!({}),
        Value::String(text) => serde_json::from_str(text).map_or(json!({}), |it| object(&it)),
        Value::Null => json!({}),
        other => other.clone(),
    }
}

#[track_caller]
fn check(protocol: Protocol, name: &str, reply: &Reply) {
    let told = format!("{}, {name}", protocol.as_str());
    let text = next_turn(protocol, reply);
    // This also fails for half of a character.
    let body: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{told}: {error}: {text}"));
    let Sent { calls, results } = Sent::of(&body);
    let ids: Vec<Value> = calls.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(ids, results, "{told}: each result names its call: {text}");
    let given: Vec<&Value> = ids.iter().filter(|id| !id.is_null()).collect();
    let unique: BTreeSet<String> = given.iter().map(ToString::to_string).collect();
    assert!(unique.len() == given.len() && !unique.contains("\"\""), "{told}: {text}");
    assert_eq!(calls.len(), reply.calls.len(), "{told}: {text}");
    for ((_, arguments), call) in calls.iter().zip(&reply.calls) {
        if let Ok(run) = &call.arguments {
            assert_eq!(&object(arguments), run, "{told}: what was run is sent back: {text}");
        }
    }
}

/// What is recorded reads as it was read at first, and is not mended again.
#[track_caller]
fn check_record(protocol: Protocol, name: &str, reply: &Reply) {
    let raw = reply.raw().get();
    let body = match protocol {
        Protocol::AnthropicMessages => format!(r#"{{"content":{raw},"stop_reason":"end_turn"}}"#),
        Protocol::Gemini => {
            format!(r#"{{"candidates":[{{"content":{raw},"finishReason":"STOP"}}]}}"#)
        }
        Protocol::OpenAiChat => {
            format!(r#"{{"choices":[{{"message":{raw},"finish_reason":"stop"}}]}}"#)
        }
        _ => format!(r#"{{"output":{raw},"status":"completed"}}"#),
    };
    let again = decode(protocol, body.as_bytes()).unwrap();
    let [first, second] =
        [reply, &again].map(|reply| (reply.raw().get(), &reply.text, &reply.reasoning));
    assert_eq!(first, second, "{}, {name}", protocol.as_str());
    for (first, second) in reply.calls.iter().zip(&again.calls) {
        let is_same = first.arguments.is_err() || first.arguments == second.arguments;
        assert!(is_same && first.name == second.name, "{}, {name}", protocol.as_str());
    }
}

#[test]
fn every_answer_is_fit_to_be_sent_back() {
    for &protocol in Protocol::ALL {
        for fixture in fixtures(protocol) {
            let whole = fixture.whole().and_then(|body| decode(protocol, body.as_bytes()).ok());
            let events = fixture.events();
            let streamed = events.and_then(|it| stream(protocol, &it, 1 << 20, &()).ok());
            for reply in whole.iter().chain(&streamed) {
                check(protocol, &fixture.name, reply);
                check_record(protocol, &fixture.name, reply);
            }
        }
    }
}

/// Writes code units as a JSON string of escapes.
fn escaped(units: &[u16]) -> String {
    let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{escapes}\"")
}

/// An answer with this text, written as JSON, in one piece.
fn whole(protocol: Protocol, text: &str) -> String {
    match protocol {
        Protocol::AnthropicMessages => format!(
            r#"{{"content":[{{"type":"text","text":{text}}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        ),
        Protocol::Gemini => format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":{text}}}]}},"finishReason":"STOP"}}]}}"#
        ),
        Protocol::OpenAiChat => format!(
            r#"{{"choices":[{{"message":{{"role":"assistant","content":{text}}},"finish_reason":"stop"}}]}}"#
        ),
        _ => format!(
            r#"{{"status":"completed","output":[{{"type":"message","content":[{{"type":"output_text","text":{text}}}]}}]}}"#
        ),
    }
}

/// An answer with these pieces of text, written as JSON, as events.
fn streamed(protocol: Protocol, pieces: &[String]) -> String {
    let (begin, end): (Vec<String>, Vec<String>) = match protocol {
        Protocol::AnthropicMessages => (
            vec![r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned()],
            vec![
                r#"{"type":"content_block_stop","index":0}"#.to_owned(),
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned(),
                r#"{"type":"message_stop"}"#.to_owned(),
            ],
        ),
        Protocol::Gemini => (vec![], vec![r#"{"candidates":[{"finishReason":"STOP"}]}"#.to_owned()]),
        Protocol::OpenAiChat => (
            vec![],
            vec![r#"{"choices":[{"finish_reason":"stop"}]}"#.to_owned(), "[DONE]".to_owned()],
        ),
        _ => (
            vec![],
            vec![r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#.to_owned()],
        ),
    };
    let piece = |text: &String| match protocol {
        Protocol::AnthropicMessages => format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#
        ),
        Protocol::Gemini => format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":{text}}}]}}}}]}}"#
        ),
        Protocol::OpenAiChat => format!(r#"{{"choices":[{{"delta":{{"content":{text}}}}}]}}"#),
        _ => format!(
            r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":{text}}}"#
        ),
    };
    let pieces = pieces.iter().map(piece);
    begin.into_iter().chain(pieces).chain(end).map(|data| format!("data: {data}\n\n")).collect()
}

proptest! {
    /// The text is that of the code units on every wire, with U+FFFD for each lone half. It is sent back so.
    #[test]
    fn the_text_recorded_is_the_text_sent(
        units in proptest::collection::vec(
            prop_oneof![Just(0x61_u16), Just(0x5c), Just(0xd83d), Just(0xde00), any::<u16>()], 1..12),
        cuts in proptest::collection::vec(0_usize..12, 0..4),
    ) {
        let expected = String::from_utf16_lossy(&units);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(units.len())).collect();
        cuts.extend([0, units.len()]);
        cuts.sort_unstable();
        let pieces: Vec<String> = cuts.windows(2).map(|it| escaped(&units[it[0]..it[1]])).collect();
        for &protocol in Protocol::ALL {
            let replies = [
                decode(protocol, whole(protocol, &escaped(&units)).as_bytes()).unwrap(),
                stream(protocol, &streamed(protocol, &pieces), 1 << 20, &()).unwrap(),
            ];
            for reply in replies {
                prop_assert_eq!(&reply.text, &expected, "{:?}", protocol);
                check(protocol, "random text", &reply);
                check_record(protocol, "random text", &reply);
                let raw: Value = serde_json::from_str(reply.raw().get()).unwrap();
                let quoted = serde_json::to_string(&expected).unwrap();
                prop_assert!(raw.to_string().contains(&quoted), "{}", raw);
            }
        }
    }
}
