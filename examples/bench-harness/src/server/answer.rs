//! Answers in each API.

use serde_json::{Value, json};

use super::http::Answer;

/// Returns the answer to a request at this path: a call, or the text once the request has a result for each
/// turn.
pub(super) fn answer(path: &str, body: &[u8], script: &Script) -> Answer {
    let body = String::from_utf8_lossy(body);
    let is_streamed = body.contains("\"stream\":true") || body.contains("\"stream\": true");
    // Quotes within strings are escaped, so these matches are keys and types of the request itself.
    let results = |word: &str| u64::try_from(body.matches(word).count()).unwrap_or(u64::MAX);
    match path.trim_start_matches("/v1") {
        "/chat/completions" => chat(script.call(results("\"tool_call_id\"")), is_streamed),
        "/messages" => messages(script.call(results("\"tool_use_id\"")), is_streamed),
        "/responses" => responses(script.call(results("\"function_call_output\"")), is_streamed),
        _ => Answer::Whole(404, r#"{"error":{"message":"there is no such path"}}"#.to_owned()),
    }
}

/// The calls of every conversation.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) turns: u64,
    /// The tool and its arguments; `None` means `add` with two numbers.
    pub(super) tool: Option<(String, String)>,
}

/// A call to make.
struct Call {
    id: String,
    /// The name of the tool for the model.
    name: String,
    /// The arguments, as JSON.
    arguments: Value,
}

impl Script {
    /// The call after `results` results, or `None` if all calls were made.
    fn call(&self, results: u64) -> Option<Call> {
        let id = format!("call_{results}");
        let call = match &self.tool {
            None => Call { id, name: "add".to_owned(), arguments: json!({ "a": results, "b": 1 }) },
            Some((name, arguments)) => {
                let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
                Call { id, name: name.clone(), arguments }
            }
        };
        (results < self.turns).then_some(call)
    }
}

const TEXT: &str = "The sum is 1.";

fn chat(call: Option<Call>, is_streamed: bool) -> Answer {
    let reason = if call.is_some() { "tool_calls" } else { "stop" };
    let calls = call.map(|call| {
        let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
        json!([{ "index": 0, "id": call.id, "type": "function", "function": function }])
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

fn messages(call: Option<Call>, is_streamed: bool) -> Answer {
    let (reason, block) = match &call {
        Some(Call { id, name, arguments }) => {
            ("tool_use", json!({ "type": "tool_use", "id": id, "name": name, "input": arguments }))
        }
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
        Some(Call { id, name, arguments }) => {
            let start = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
            let text = arguments.to_string();
            (start, json!({ "type": "input_json_delta", "partial_json": text }))
        }
        None => {
            let start = json!({ "type": "text", "text": "" });
            (start, json!({ "type": "text_delta", "text": TEXT }))
        }
    };
    let stop = json!({ "stop_reason": reason, "stop_sequence": null });
    Answer::Events(name_events(&[
        json!({ "type": "message_start", "message": message(json!([]), None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": stop, "usage": { "output_tokens": 10 } }),
        json!({ "type": "message_stop" }),
    ]))
}

fn responses(call: Option<Call>, is_streamed: bool) -> Answer {
    let item = match call {
        Some(Call { id, name, arguments }) => json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id,
            "name": name, "arguments": arguments.to_string(), "status": "completed",
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
    Answer::Events(name_events(&[
        event(0, "response.created", "response", &response("in_progress", json!([]))),
        event(1, "response.output_item.added", "item", &item),
        event(2, "response.output_item.done", "item", &item),
        event(3, "response.completed", "response", &response("completed", json!([item]))),
    ]))
}

/// Writes events with their types as names, as Anthropic and OpenAI send them.
fn name_events(events: &[Value]) -> Vec<String> {
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}
