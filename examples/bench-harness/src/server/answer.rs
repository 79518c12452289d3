//! What each API is answered.

use serde_json::{Value, json};

use super::http::Answer;

/// The answer to a request at this path: a call of `add`, or the text once it holds as many results as there are turns.
pub(super) fn answer(path: &str, body: &[u8], turns: u64) -> Answer {
    let body = String::from_utf8_lossy(body);
    let is_streamed = body.contains("\"stream\":true") || body.contains("\"stream\": true");
    // In a string the quotes would be escaped, so that these are the conversation's own words.
    let results = |word: &str| u64::try_from(body.matches(word).count()).unwrap_or(u64::MAX);
    match path.trim_start_matches("/v1") {
        "/chat/completions" => chat(call(results("\"tool_call_id\""), turns), is_streamed),
        "/messages" => messages(call(results("\"tool_use_id\""), turns), is_streamed),
        "/responses" => responses(call(results("\"function_call_output\""), turns), is_streamed),
        _ => Answer::Whole(404, r#"{"error":{"message":"there is no such path"}}"#.to_owned()),
    }
}

/// The number of the call to make, unless all were made.
fn call(results: u64, turns: u64) -> Option<u64> {
    (results < turns).then_some(results)
}

fn id(call: u64) -> String {
    format!("call_{call}")
}

fn arguments(call: u64) -> Value {
    json!({ "a": call, "b": 1 })
}

const TEXT: &str = "The sum is 1.";

fn chat(call: Option<u64>, is_streamed: bool) -> Answer {
    let reason = if call.is_some() { "tool_calls" } else { "stop" };
    let calls = call.map(|call| {
        let function = json!({ "name": "add", "arguments": arguments(call).to_string() });
        json!([{ "index": 0, "id": id(call), "type": "function", "function": function }])
    });
    let mut message = json!({ "role": "assistant", "content": calls.is_none().then_some(TEXT) });
    if let Some(calls) = calls {
        message["tool_calls"] = calls;
    }
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    if !is_streamed {
        if let Some(Value::Object(call)) = message.pointer_mut("/tool_calls/0") {
            call.shift_remove("index");
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        let answer =
            json!({ "id": "c", "object": "chat.completion", "choices": [choice], "usage": usage });
        return Answer::Whole(200, answer.to_string());
    }
    let chunk = |delta: &Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] })
    };
    let last =
        json!({ "id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage });
    let chunks = [chunk(&message, None), chunk(&json!({}), Some(reason)), last];
    let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push("data: [DONE]\n\n".to_owned());
    Answer::Events(events)
}

fn messages(call: Option<u64>, is_streamed: bool) -> Answer {
    let (reason, block) = match call {
        Some(call) => (
            "tool_use",
            json!({ "type": "tool_use", "id": id(call), "name": "add", "input": arguments(call) }),
        ),
        None => ("end_turn", json!({ "type": "text", "text": TEXT })),
    };
    let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
    let message = |content: Value, reason: Option<&str>| {
        json!({
            "id": "m", "type": "message", "role": "assistant", "model": "bench",
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage,
        })
    };
    if !is_streamed {
        return Answer::Whole(200, message(json!([block]), Some(reason)).to_string());
    }
    let (start, delta) = match call {
        Some(call) => {
            let start = json!({ "type": "tool_use", "id": id(call), "name": "add", "input": {} });
            let text = arguments(call).to_string();
            (start, json!({ "type": "input_json_delta", "partial_json": text }))
        }
        None => {
            let start = json!({ "type": "text", "text": "" });
            (start, json!({ "type": "text_delta", "text": TEXT }))
        }
    };
    let stop = json!({ "stop_reason": reason, "stop_sequence": null });
    Answer::Events(named(&[
        json!({ "type": "message_start", "message": message(json!([]), None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": stop, "usage": { "output_tokens": 10 } }),
        json!({ "type": "message_stop" }),
    ]))
}

fn responses(call: Option<u64>, is_streamed: bool) -> Answer {
    let item = match call {
        Some(call) => json!({
            "type": "function_call", "id": format!("fc_{call}"), "call_id": id(call),
            "name": "add", "arguments": arguments(call).to_string(), "status": "completed",
        }),
        None => {
            let text = json!({ "type": "output_text", "text": TEXT, "annotations": [] });
            json!({
                "type": "message", "id": "msg", "role": "assistant",
                "status": "completed", "content": [text],
            })
        }
    };
    let response = |status: &str, output: Value| {
        json!({
            "id": "r", "object": "response", "status": status, "model": "bench", "output": output,
            "usage": { "input_tokens": 100, "output_tokens": 10, "total_tokens": 110 },
        })
    };
    if !is_streamed {
        return Answer::Whole(200, response("completed", json!([item])).to_string());
    }
    let event = |number: u64, kind: &str, name: &str, value: &Value| json!({ "type": kind, "sequence_number": number, "output_index": 0, name: value });
    Answer::Events(named(&[
        event(0, "response.created", "response", &response("in_progress", json!([]))),
        event(1, "response.output_item.added", "item", &item),
        event(2, "response.output_item.done", "item", &item),
        event(3, "response.completed", "response", &response("completed", json!([item]))),
    ]))
}

/// Events with the name of their type, as Anthropic and OpenAI send them.
fn named(events: &[Value]) -> Vec<String> {
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}
