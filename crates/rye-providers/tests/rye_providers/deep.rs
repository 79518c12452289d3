//! Arguments that are nested too deeply to parse: the call cannot be run, and the rest of the answer is kept.

use rye_providers::{Protocol, decode};
use serde_json::{Value, json};

use crate::fixtures::stream;

/// An object with this many levels.
fn nested(levels: usize) -> String {
    format!(r#"{{"a":{}1{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
}

/// An answer with a text and two calls, whole and as events. The first call has the arguments `deep`.
fn answer(protocol: Protocol, deep: &str) -> (String, Vec<String>) {
    match protocol {
        Protocol::AnthropicMessages => anthropic_messages(deep),
        Protocol::Gemini => gemini(deep),
        Protocol::OpenAiChat => openai_chat(deep),
        Protocol::OpenAiResponses => openai_responses(deep),
        _ => panic!("a protocol without an answer"),
    }
}

fn text(json: &str) -> String {
    Value::from(json).to_string()
}

fn anthropic_messages(deep: &str) -> (String, Vec<String>) {
    let blocks = [
        r#"{"type":"text","text":"Hi."}"#.to_owned(),
        format!(r#"{{"type":"tool_use","id":"1","name":"x","input":{deep}}}"#),
        r#"{"type":"tool_use","id":"2","name":"y","input":{"n":1}}"#.to_owned(),
    ];
    let usage = r#"{"input_tokens":1,"output_tokens":1}"#;
    let whole =
        format!(r#"{{"content":[{}],"stop_reason":"tool_use","usage":{usage}}}"#, blocks.join(","));
    let mut events = vec![format!(r#"{{"type":"message_start","message":{{"usage":{usage}}}}}"#)];
    let begun = blocks[1].replace(deep, "{}");
    for (index, block) in [&blocks[0], &begun, &blocks[2]].iter().enumerate() {
        events.push(format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#
        ));
        if index == 1 {
            let piece = text(deep);
            events.push(format!(
                r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#
            ));
        }
        events.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    }
    events.push(format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"tool_use"}},"usage":{usage}}}"#
    ));
    events.push(r#"{"type":"message_stop"}"#.to_owned());
    (whole, events)
}

fn gemini(deep: &str) -> (String, Vec<String>) {
    let body = format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":"Hi."}},{{"functionCall":{{"id":"1","name":"x","args":{deep}}}}},{{"functionCall":{{"id":"2","name":"y","args":{{"n":1}}}}}}]}},"finishReason":"STOP"}}]}}"#
    );
    (body.clone(), vec![body])
}

fn openai_chat(deep: &str) -> (String, Vec<String>) {
    let message = |index: &str| {
        format!(
            r#"{{"content":"Hi.","tool_calls":[{{{}"id":"1","type":"function","function":{{"name":"x","arguments":{}}}}},{{{}"id":"2","type":"function","function":{{"name":"y","arguments":"{{\"n\":1}}"}}}}]}}"#,
            index.replace('#', "0"),
            text(deep),
            index.replace('#', "1")
        )
    };
    let choice = |member: &str, message: String| {
        format!(
            r#"{{"choices":[{{"index":0,"{member}":{message},"finish_reason":"tool_calls"}}]}}"#
        )
    };
    let piece = choice("delta", message(r##""index":#,"##));
    (choice("message", message("")), vec![piece, "[DONE]".to_owned()])
}

fn openai_responses(deep: &str) -> (String, Vec<String>) {
    let items = [
        r#"{"type":"message","content":[{"type":"output_text","text":"Hi."}]}"#.to_owned(),
        format!(
            r#"{{"type":"function_call","call_id":"1","name":"x","arguments":{}}}"#,
            text(deep)
        ),
        r#"{"type":"function_call","call_id":"2","name":"y","arguments":"{\"n\":1}"}"#.to_owned(),
    ];
    let whole = format!(r#"{{"output":[{}],"status":"completed"}}"#, items.join(","));
    let ends = format!(r#"{{"type":"response.completed","response":{whole}}}"#);
    (whole, vec![ends])
}

#[track_caller]
fn check(protocol: Protocol, levels: usize, (whole, events): &(String, Vec<String>)) {
    let told = format!("{}, {levels} levels", protocol.as_str());
    let events: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    let whole = decode(protocol, whole.as_bytes()).unwrap_or_else(|it| panic!("{told}: {it:?}"));
    let streamed = stream(protocol, &events, usize::MAX, &());
    let streamed = streamed.unwrap_or_else(|error| panic!("{told}: {error:?}"));
    for reply in [&whole, &streamed] {
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("Hi.", 2), "{told}");
        let [deep, flat] = &reply.calls[..] else { unreachable!() };
        let refused = "the arguments are nested deeper than 64 levels".to_owned();
        assert_eq!(deep.arguments.clone().err(), (64 < levels).then_some(refused), "{told}");
        assert_eq!(flat.arguments, Ok(json!({"n": 1})), "{told}");
        assert!(serde_json::from_str::<Value>(reply.raw().get()).is_ok(), "a record that is read");
    }
}

#[test]
fn arguments_that_are_too_deep_fail_their_call_alone() {
    for &protocol in Protocol::ALL {
        for levels in [1, 64, 65, 100, 126, 127, 128, 129, 500, 100_000] {
            check(protocol, levels, &answer(protocol, &nested(levels)));
        }
    }
}

/// Some compatible servers send the arguments as an object and not as text.
#[test]
fn arguments_without_a_text_around_them_are_read_alike() {
    for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses] {
        for levels in [1, 64, 65, 127, 128, 500] {
            let deep = nested(levels);
            let text = Value::from(deep.as_str()).to_string();
            let (whole, events) = answer(protocol, &deep);
            let plain = |json: &String| json.replace(&text, &deep);
            let events: Vec<String> = events.iter().map(plain).collect();
            check(protocol, levels, &(plain(&whole), events));
        }
    }
}
