//! Scripted models, one for each wire protocol.

use serde_json::{Value, json};

use super::server::{Answer, Server};

pub(super) const PROTOCOLS: [&str; 4] =
    ["anthropic_messages", "gemini", "openai_chat", "openai_responses"];

/// A call of a scripted model: the name of the tool, and its arguments.
pub(super) type Call = (&'static str, Value);

/// An answer in the protocol: the call with this id, or a text.
pub(super) fn answer(protocol: &str, call: Option<(&str, &Call)>) -> Value {
    let text = "Done.";
    match protocol {
        "anthropic_messages" => {
            let (content, stop) = match call {
                Some((id, (name, input))) => (
                    json!({"type": "tool_use", "id": id, "name": name, "input": input}),
                    "tool_use",
                ),
                None => (json!({"type": "text", "text": text}), "end_turn"),
            };
            let usage = json!({"input_tokens": 10, "output_tokens": 1});
            json!({"content": [content], "stop_reason": stop, "usage": usage})
        }
        "gemini" => {
            let part = match call {
                Some((id, (name, args))) => {
                    json!({"functionCall": {"id": id, "name": name, "args": args}})
                }
                None => json!({"text": text}),
            };
            let content = json!({"role": "model", "parts": [part]});
            json!({"candidates": [{"content": content, "finishReason": "STOP"}]})
        }
        "openai_chat" => {
            let (message, reason) = match call {
                Some((id, (name, arguments))) => {
                    let function = json!({"name": name, "arguments": arguments.to_string()});
                    let call = json!({"id": id, "type": "function", "function": function});
                    (json!({"content": null, "tool_calls": [call]}), "tool_calls")
                }
                None => (json!({"content": text}), "stop"),
            };
            json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]})
        }
        _ => {
            let item = match call {
                Some((id, (name, arguments))) => json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string(),
                }),
                None => {
                    json!({"type": "message", "content": [{"type": "output_text", "text": text}]})
                }
            };
            json!({"output": [item], "status": "completed"})
        }
    }
}

/// A server in the protocol that answers with these calls in turn, and then with a text.
pub(super) fn server(protocol: &str, calls: &[Call]) -> Server {
    let ids: Vec<String> = (1..=calls.len()).map(|place| format!("call_{place}")).collect();
    let calls = ids.iter().map(String::as_str).zip(calls).map(Some).chain([None]);
    let answers = calls.map(|call| Answer::json(200, answer(protocol, call)));
    Server::once(answers.collect(), |request| request.line.starts_with("POST "))
}

/// The configuration of a provider with the model `m` for all tiers of the tests.
pub(super) fn provider(protocol: &str, server: &Server) -> String {
    format!(
        "protocol: {protocol}\nbase_url: {}\nauth: {{ env: ANTHROPIC_API_KEY, header: x-api-key }}\ntiers: {{ fast: m, general: m, haiku: m, sonnet: m }}\n\
         models: {{ m: {{ context_window: 100000, max_output: 1000, prices: {{ input: 0, output: 0 }} }} }}\n",
        server.url()
    )
}
