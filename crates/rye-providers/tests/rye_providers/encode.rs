//! Encoded requests.

use std::sync::Arc;

use rye_providers::{Delivery, ModelChoice, anthropic};
use rye_thread::{Message, Opening, Reply, Request, StopReason, ToolCall, ToolResult, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn request() -> Request {
    let opening = Opening {
        system: Some("You keep notes.".to_owned()),
        first_user_message: "List them.".to_owned(),
    };
    let schema =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let tools = vec![
        ToolSpec::new("rye_file_system_read", "Reads a file.", schema("path")),
        ToolSpec::new("rye_execute", "Runs a tool.", schema("item_id"))
            .with_output_schema(json!({ "type": "object" })),
    ];
    Request::new(&opening, tools, 4_000)
}

fn assistant(raw: &str) -> Message {
    let raw = RawValue::from_string(raw.to_owned()).unwrap();
    Message::Assistant { reply: Arc::new(Reply::new(raw, StopReason::ToolUse)) }
}

fn result(id: &str, content: Value) -> ToolResult {
    ToolResult::ok(&ToolCall::new(id, "rye_execute", json!({})), content)
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

/// Encodes a request twice and checks that the bodies are equal.
#[track_caller]
fn encode(request: &Request) -> String {
    let choice = ModelChoice::new("claude-sonnet-5", 200_000, 64_000);
    let body = anthropic::encode(request, &choice, Delivery::Whole).unwrap();
    assert_eq!(body, anthropic::encode(request, &choice, Delivery::Whole).unwrap());
    body
}

/// The body, indented for reading. The sent body is compact, with the same keys in the same order.
fn pretty(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body.lines().count(), 1);
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn a_first_request() {
    insta::assert_snapshot!(pretty(&encode(&request())));
}

/// A conversation with reasoning, two calls, their results and a reminder. The results come first, in one
/// user message.
#[test]
fn a_conversation() {
    let mut request = request();
    request.messages.push(assistant(
        r#"[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"redacted_thinking","data":"eA=="},{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"rye_execute","input":{"item_id":"a"}},{"type":"tool_use","id":"toolu_2","name":"rye_execute","input":{"item_id":"b"}}]"#,
    ));
    let failed = ToolResult::error(
        &ToolCall::new("toolu_2", "rye_execute", json!({})),
        json!("not allowed"),
    );
    let results = vec![result("toolu_1", json!({ "path": "a", "n": 1 })), failed];
    request.messages.push(user("Be brief."));
    request.messages.push(Message::ToolResults { results });
    request.messages.push(user("Return the results."));
    insta::assert_snapshot!(pretty(&encode(&request)));
}

#[test]
fn what_the_model_said_is_sent_back_byte_for_byte() {
    for raw in [
        r#"[ {"type" : "text","text":"\u00e9\/é 😀 \ud83d\ude00"} ]"#,
        r#"[{"z":1e400,"a":1.0,"a":2,"type":"server_tool_use","n":12345678901234567890123}]"#,
        r#"[{"type":"thinking","thinking":"","signature":"abc=="}]"#,
        r#"[{"type":"text","text":"  \t"}]"#,
    ] {
        let mut request = request();
        request.messages.push(assistant(raw));
        let body = encode(&request);
        assert!(body.ends_with(&format!(r#"{{"role":"assistant","content":{raw}}}]}}"#)), "{body}");
    }
}

#[test]
fn history_that_grows_keeps_its_beginning() {
    let mut request = request();
    let first = encode(&request);
    request
        .messages
        .push(assistant(r#"[{"type":"tool_use","id":"t","name":"rye_execute","input":{}}]"#));
    request.messages.push(Message::ToolResults { results: vec![result("t", json!("x"))] });
    let second = encode(&request);
    assert!(second.starts_with(first.strip_suffix("]}").unwrap()));
}

#[track_caller]
fn check_messages(messages: Vec<Message>, expected: &Value) {
    let mut request = request();
    request.messages = messages.into();
    let body: Value = serde_json::from_str(&encode(&request)).unwrap();
    assert_eq!(&body["messages"], expected);
}

#[test]
fn texts_of_one_turn_are_one_message() {
    let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    check_messages(vec![user("a"), user("b")], &json!([{ "role": "user", "content": blocks }]));
}

#[test]
fn an_empty_answer_is_left_out() {
    let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "go on" }]);
    check_messages(
        vec![user("a"), assistant("[]"), user("go on")],
        &json!([{ "role": "user", "content": blocks }]),
    );
}

#[test]
fn results_that_are_text_stay_text() {
    let results = Message::ToolResults {
        results: vec![result("t", json!("a \"b\"")), result("u", json!(null))],
    };
    let blocks = json!([
        { "type": "tool_result", "tool_use_id": "t", "content": "a \"b\"" },
        { "type": "tool_result", "tool_use_id": "u", "content": "null" },
    ]);
    check_messages(vec![results], &json!([{ "role": "user", "content": blocks }]));
}

#[test]
fn the_models_own_maximum_holds() {
    let mut request = request();
    request.max_output_tokens = 1_000_000;
    let body: Value = serde_json::from_str(&encode(&request)).unwrap();
    assert_eq!(body["max_tokens"], 64_000);
}

#[test]
fn empty_parts_are_left_out() {
    let opening = Opening { system: Some(String::new()), first_user_message: "Go.".to_owned() };
    let body = encode(&Request::new(&opening, Vec::new(), 10));
    let expected = r#"{"model":"claude-sonnet-5","max_tokens":10,"messages":[{"role":"user","content":"Go."}]}"#;
    assert_eq!(body, expected);
}

#[test]
fn another_formats_answer_is_refused() {
    let mut request = request();
    request.messages.push(assistant(r#"{"role":"assistant","content":"hi"}"#));
    let error =
        anthropic::encode(&request, &ModelChoice::new("m", 1, 1), Delivery::Whole).unwrap_err();
    let expected = "message 1 of the conversation was given by a provider with another format; begin a new thread";
    assert_eq!(error.to_string(), expected);
}
