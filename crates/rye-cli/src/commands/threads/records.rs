//! The records of a transcript, as lines and as JSON.

use rye::thread::recorded_event;
use rye::thread::transcript::{Event, Record};
use serde_json::{Value, json};

use crate::output;

pub(super) fn line(record: &Record) -> String {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    let about = match record.event.as_str() {
        "approval_requested" => payload["item_id"].as_str().map(|item| {
            let why = match recorded_event(record) {
                Ok(Event::ApprovalRequested(request)) => format!("; {}", request.why()),
                _ => String::new(),
            };
            format!("{}{why}", output::line(item))
        }),
        "approval_decided" => payload["decision"].as_str().map(|decision| {
            let reason = payload["reason"].as_str().map(output::line);
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            format!("{}{reason}", decision.replace('_', " "))
        }),
        "child_ended" | "spawn_child" => payload["thread"].as_str().map(str::to_owned),
        "request_failed" => payload["class"].as_str().map(str::to_owned),
        "request_retried" => {
            let number = |name: &str| payload[name].as_u64().unwrap_or_default();
            let attempt = number("attempt");
            let attempts = number("attempts");
            payload["class"].as_str().map(|class| format!("{class} ({attempt} of {attempts})"))
        }
        "thread_resumed" => payload["opening"].as_u64().map(|opening| {
            let raised = if payload["limits"].is_null() { "" } else { ", limits raised" };
            format!("opening {opening}{raised}")
        }),
        "tool_call_start" => {
            // A call of an unknown tool has no target. Its name may be in the arguments only.
            let places = [&payload["target"]["item_id"], &payload["arguments"]["item_id"]];
            let named = |name: &str| match name {
                EXECUTE => places.into_iter().find_map(Value::as_str).unwrap_or(name).to_owned(),
                _ => places[0].as_str().unwrap_or(name).to_owned(),
            };
            payload["name"].as_str().map(named)
        }
        "tool_call_result" if !payload["refusal"].is_null() => Some("refused".to_owned()),
        "tool_call_result" => {
            payload["is_error"].as_bool().map(|error| if error { "error" } else { "ok" }.to_owned())
        }
        "context_injected" => payload["item_id"].as_str().map(str::to_owned),
        "hook_triggered" => payload["hook"].as_str().map(str::to_owned),
        "thread_continued" => payload["next"].as_str().map(str::to_owned),
        _ => None,
    };
    format!("{:>4}  {}  {:<18} {}", record.seq, record.at, record.event, about.unwrap_or_default())
        .trim_end()
        .to_owned()
}

/// The tool that calls other tools.
const EXECUTE: &str = "rye_execute";

pub(super) fn event(record: &Record) -> Value {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    json!({ "seq": record.seq, "at": record.at.to_string(), "event": record.event, "payload": payload })
}

#[cfg(test)]
mod tests;
