//! The texts of the record that the model read or wrote.

use rye_sign::Digest;
use serde_json::Value;

use crate::transcript::Record;

/// One thing that a model saw or said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VisibleText {
    pub(super) what: String,
    pub(super) text: String,
}

/// All of it, in order.
pub(super) fn visible(records: &[Record]) -> Vec<VisibleText> {
    let mut turn = 0_u64;
    let mut calls = 0_u64;
    let mut results = 0_u64;
    let mut seen = Vec::new();
    let mut is_again = false;
    for record in records {
        let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
        match record.event.as_str() {
            "approval_requested" => is_again = payload["reason"] == "interrupted",
            "tool_call_result" => is_again = false,
            // The model made the call once, however often it had to be run.
            "tool_call_start" if is_again => continue,
            _ => {}
        }
        let (what, text) = match record.event.as_str() {
            "thread_start" => ("the tools".to_owned(), pretty(&payload["tools"])),
            "system_prompt" => ("the system prompt".to_owned(), words(&payload["text"])),
            "user_message" if turn == 0 => {
                ("the first message".to_owned(), words(&payload["text"]))
            }
            "user_message" => (format!("the message after turn {turn}"), words(&payload["text"])),
            "step_finish" => {
                (turn, calls, results) = (turn + 1, 0, 0);
                (format!("the answer of turn {turn}"), answer(record, &payload))
            }
            "hook_triggered" => {
                let hook = words(&payload["hook"]);
                let event = words(&payload["hook_event"]);
                (format!("a hook after turn {turn}"), format!("{hook} at {event}"))
            }
            "tool_call_start" if !payload["hook"].is_null() => (
                format!("a call of hook `{}` after turn {turn}", words(&payload["hook"])),
                call(&payload),
            ),
            "tool_call_result" if !payload["hook"].is_null() => {
                let hook = words(&payload["hook"]);
                (
                    format!("the result of a call of hook `{hook}` after turn {turn}"),
                    result(&payload),
                )
            }
            "tool_call_start" => {
                calls += 1;
                (format!("call {calls} of turn {turn}"), call(&payload))
            }
            "tool_call_result" => {
                results += 1;
                (format!("the result of call {results} of turn {turn}"), result(&payload))
            }
            "thread_complete" => ("the end".to_owned(), end(&payload)),
            "thread_continued" => ("the end".to_owned(), "continued".to_owned()),
            _ => continue,
        };
        seen.push(VisibleText { what, text });
    }
    seen
}

/// Returns `true` if [`visible`] shows an event of this name.
pub(super) fn is_seen(event: &str) -> bool {
    [
        "hook_triggered",
        "step_finish",
        "system_prompt",
        "thread_complete",
        "thread_continued",
        "thread_start",
        "tool_call_result",
        "tool_call_start",
        "user_message",
    ]
    .contains(&event)
}

/// The SHA-256 over all of it, in hex.
pub(super) fn digest(seen: &[VisibleText]) -> String {
    let line =
        |VisibleText { what, text }: &VisibleText| format!("{what}\n{}\n{text}\n", text.len());
    Digest::of(seen.iter().map(line).collect::<String>().as_bytes()).to_string()
}

/// The answer as received, with the view of it that the run reads.
fn answer(record: &Record, payload: &Value) -> String {
    let reply = &payload["reply"];
    let raw = record.payload.get();
    let exact = raw.find(r#""reply":{"raw":"#).and_then(|at| raw.get(at..)).unwrap_or(raw);
    let digest: String = Digest::of(exact.as_bytes()).to_string().chars().take(16).collect();
    format!("{}\n{}\nexact: {digest}", words(&reply["text"]), pretty(&reply["calls"]))
}

fn call(payload: &Value) -> String {
    let arguments = pretty(&payload["arguments"]);
    format!("{} ({})\n{arguments}", words(&payload["name"]), words(&payload["target"]["item_id"]))
}

fn result(payload: &Value) -> String {
    let sort = if payload["is_error"] == true { "error" } else { "ok" };
    format!("{} {sort}\n{}", words(&payload["name"]), pretty(&payload["content"]))
}

fn end(payload: &Value) -> String {
    format!("{}\n{}", words(&payload["text"]), pretty(&payload["outputs"]))
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(String::new, str::to_owned)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
