//! The records of a transcript, as lines and as JSON.

use rye::thread::transcript::{Event, Record};
use rye::thread::{called_item, recorded_event};
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
            let target = payload["target"]["item_id"].as_str();
            let named = |name| called_item(name, &payload["arguments"], target).0.to_owned();
            payload["name"].as_str().map(named)
        }
        "tool_call_result" if !payload["refusal"].is_null() => {
            Some(with_words("refused", payload["refusal"]["message"].as_str()))
        }
        "tool_call_result" => payload["is_error"].as_bool().map(|is_error| match is_error {
            true => with_words("error", words_of(&payload["content"]).as_deref()),
            false => "ok".to_owned(),
        }),
        "context_injected" => payload["item_id"].as_str().map(str::to_owned),
        "hook_triggered" => payload["hook"].as_str().map(str::to_owned),
        "thread_continued" => payload["next"].as_str().map(str::to_owned),
        _ => None,
    };
    format!("{:>4}  {}  {:<18} {}", record.seq, record.at, record.event, about.unwrap_or_default())
        .trim_end()
        .to_owned()
}

/// Returns the words of a failed result: its text, its error with the last line of its standard error, or the whole result as JSON.
fn words_of(content: &Value) -> Option<String> {
    let members = ["error", "message"].into_iter().map(|name| &content[name]);
    let told = std::iter::once(content).chain(members).find_map(Value::as_str);
    let standard_error = content["stderr"].as_str().unwrap_or_default();
    let last = standard_error.lines().map(str::trim).rfind(|line| !line.is_empty());
    let text = match (told, last) {
        (Some(told), Some(last)) => format!("{told}: {last}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => content.to_string(),
    };
    (!content.is_null()).then_some(text)
}

/// Returns a state with the beginning of what is to say about it.
fn with_words(state: &str, words: Option<&str>) -> String {
    let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) else {
        return state.to_owned();
    };
    let shown: String = output::line(words).chars().take(MOST_CHARS).collect();
    let rest = if shown.len() < output::line(words).len() { "…" } else { "" };
    format!("{state}: {shown}{rest}")
}

/// The most characters of an error in a line. The whole is in the record.
const MOST_CHARS: usize = 160;

/// Returns what a program that succeeded wrote to its standard error, if the record has it.
pub(super) fn standard_error(record: &Record) -> Option<String> {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    payload["standard_error"].as_str().map(str::to_owned)
}

pub(super) fn event(record: &Record) -> Value {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    json!({ "seq": record.seq, "at": record.at.to_string(), "event": record.event, "payload": payload })
}

#[cfg(test)]
mod tests;
