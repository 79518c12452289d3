//! Answers of many small parts. Each part takes many times the memory of its text and is found by linear
//! search.

use std::fmt::Write as _;

use rye_providers::{Ending, Protocol, StreamDecoder, decode};

/// The error of reading an answer, with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(error_chain).unwrap_or_default();
    format!("{error}; {cause}")
}

#[track_caller]
fn refused_whole(protocol: Protocol, body: &str, expected: &str) {
    let error = error_chain(&decode(protocol, body.as_bytes()).unwrap_err());
    assert!(error.contains(expected), "{error}");
}

#[track_caller]
fn refused_stream(protocol: Protocol, events: &str, expected: &str) {
    let mut decoder = StreamDecoder::new(protocol);
    let fed = decoder.feed(events.as_bytes(), &());
    let error = match fed {
        Err(error) => error_chain(&error),
        Ok(()) => error_chain(&decoder.finish().unwrap_err()),
    };
    assert!(error.contains(expected), "{error}");
}

const PARTS: &str = "the answer has more than 10000 parts";
const MEMBERS: &str = "an object of the answer has more than 100 members";
const CALLS: &str = "the answer has more than 1000 tool calls";

fn many(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(",")
}

#[test]
fn a_whole_answer_has_a_bound_on_its_parts() {
    let empty = many(10_001, |_| "{}".to_owned());
    let call = |id: usize| {
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"n","arguments":"{{}}"}}}}"#)
    };
    let members = many(101, |name| format!("\"{name}\":0"));
    let chat = |message: &str| format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
    let calls = |calls: &str| chat(&format!(r#"{{"tool_calls":[{calls}]}}"#));
    refused_whole(Protocol::OpenAiChat, &calls(&empty), PARTS);
    refused_whole(Protocol::OpenAiChat, &calls(&many(1_001, call)), CALLS);
    refused_whole(Protocol::OpenAiChat, &calls(&format!("{{{members}}}")), MEMBERS);
    let values = many(100_001, |_| "0".to_owned());
    let content = format!(r#"{{"content":[{values}]}}"#);
    refused_whole(Protocol::OpenAiChat, &chat(&content), PARTS);
    let anthropic = format!(
        r#"{{"content":[{empty}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
    );
    refused_whole(Protocol::AnthropicMessages, &anthropic, PARTS);
    let gemini =
        format!(r#"{{"candidates":[{{"content":{{"parts":[{empty}]}},"finishReason":"STOP"}}]}}"#);
    refused_whole(Protocol::Gemini, &gemini, PARTS);
    let responses = format!(r#"{{"status":"completed","output":[{empty}]}}"#);
    refused_whole(Protocol::OpenAiResponses, &responses, PARTS);
}

#[test]
fn a_streamed_answer_has_a_bound_on_its_parts() {
    let events = |count: usize, event: &dyn Fn(usize) -> String| {
        (0..count).fold(String::new(), |mut text, number| {
            write!(text, "data: {}\n\n", event(number)).unwrap();
            text
        })
    };
    let chat = |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let member = |number: usize| chat(&format!(r#"{{"m{number}":"x"}}"#));
    refused_stream(Protocol::OpenAiChat, &events(101, &member), MEMBERS);
    let call = |number: usize| {
        chat(&format!(r#"{{"tool_calls":[{{"index":{number},"function":{{"name":"n"}}}}]}}"#))
    };
    refused_stream(Protocol::OpenAiChat, &events(1_001, &call), CALLS);
    let growing =
        |number: usize| chat(&format!(r#"{{"tool_calls":[{{"index":0,"m{number}":1}}]}}"#));
    refused_stream(Protocol::OpenAiChat, &events(101, &growing), MEMBERS);
    let signed = |_: usize| {
        r#"{"candidates":[{"content":{"parts":[{"text":"x","thoughtSignature":"s"}]}}]}"#.to_owned()
    };
    refused_stream(Protocol::Gemini, &events(10_001, &signed), PARTS);
}

/// Pieces behind the whole text are compared with it once, and not each time.
#[test]
fn many_pieces_behind_a_whole_text_take_little_time() {
    let event = |kind: &str, member: &str, text: &str| {
        let place = r#""item_id":"m","output_index":0,"content_index":0"#;
        format!(
            "data: {{\"type\":\"response.output_text.{kind}\",{place},\"{member}\":\"{text}\"}}\n\n"
        )
    };
    let piece = event("delta", "delta", &"a".repeat(16));
    let whole = "a".repeat(16 * 60_000);
    let mut decoder = StreamDecoder::new(Protocol::OpenAiResponses);
    decoder.feed(event("done", "text", &whole).as_bytes(), &()).unwrap();
    decoder.feed(piece.repeat(60_000).as_bytes(), &()).unwrap();
    decoder.end(Ending::Marked, &()).unwrap();
    assert_eq!(decoder.finish().unwrap().text, whole);

    let mut decoder = StreamDecoder::new(Protocol::OpenAiResponses);
    decoder.feed(event("done", "text", "ab").as_bytes(), &()).unwrap();
    let fed = decoder.feed(event("delta", "delta", "ac").as_bytes(), &());
    decoder.end(Ending::Marked, &()).unwrap();
    let error = fed
        .map_or_else(|error| error_chain(&error), |()| error_chain(&decoder.finish().unwrap_err()));
    assert!(error.contains("a text of an item differs between its events"), "{error}");
}

/// Arguments with too many values make their call fail, with a message to the model.
#[test]
fn arguments_have_a_bound_on_their_values() {
    let values = many(100_001, |_| "0".to_owned());
    let body = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"1","function":{{"name":"n","arguments":{{"a":[{values}]}}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let reply = decode(Protocol::OpenAiChat, body.as_bytes()).unwrap();
    let reason = reply.calls[0].arguments.as_ref().unwrap_err();
    assert_eq!(reason, "the arguments cannot be read: there are more than 100000 values");
}

/// Lists of an unknown member are joined.
#[test]
fn lists_of_a_member_are_put_together() {
    let events = [
        r#"{"role":"assistant","notes":[]}"#,
        r#"{"notes":[1, [2]]}"#,
        r#"{"notes":[ ]}"#,
        r#"{"notes":[{"a":3}],"content":"x"}"#,
    ];
    let mut decoder = StreamDecoder::new(Protocol::OpenAiChat);
    for delta in events {
        let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
        decoder.feed(event.as_bytes(), &()).unwrap();
    }
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    decoder.feed(end.as_bytes(), &()).unwrap();
    let reply = decoder.finish().unwrap();
    assert_eq!(reply.raw().get(), r#"{"role":"assistant","notes":[1, [2],{"a":3}],"content":"x"}"#);
}
