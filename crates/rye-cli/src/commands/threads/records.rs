//! The records of a transcript, as lines and as JSON.

use rye::thread::called_item;
use rye::thread::transcript::payload::{Intent, RequestRetried};
use rye::thread::transcript::{Event, Record};
use serde_json::{Value, json};

use crate::output;

pub(super) fn line(record: &Record) -> String {
    let about = record.event().ok().and_then(about).unwrap_or_default();
    format!("{:>4}  {}  {:<18} {about}", record.seq, record.at, record.name()).trim_end().to_owned()
}

/// Returns what is to say about an event beside its name.
fn about(event: Event) -> Option<String> {
    Some(match event {
        Event::ApprovalRequested(asked) => {
            format!("{}; {}", output::line(&asked.item_id), asked.why())
        }
        Event::ApprovalDecided(decided) => {
            let reason = decided.decision.reason().map(|reason| output::line(reason.as_str()));
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            format!("{}{reason}", decided.decision.as_str().replace('_', " "))
        }
        Event::ChildEnded(end) => end.child.to_string(),
        Event::SpawnChild(spawn) => spawn.child.to_string(),
        Event::RequestFailed(failed) => failed.class,
        Event::RequestRetried(RequestRetried { class, attempt, attempts, .. }) => {
            format!("{class} ({attempt} of {attempts})")
        }
        Event::ThreadResumed(resumed) => {
            let raised = if resumed.limits.is_some() { ", limits raised" } else { "" };
            format!("opening {}{raised}", resumed.opening)
        }
        Event::ToolCallStart(Intent { name, arguments, target, .. }) => {
            let target = target.as_ref().map(|target| target.item_id.as_str());
            called_item(&name, &arguments, target).0.to_owned()
        }
        Event::ToolCallResult(receipt) => match receipt.refusal {
            Some(refusal) => with_words("refused", Some(&refusal.message)),
            None if receipt.is_error => with_words("error", words_of(&receipt.content).as_deref()),
            None => "ok".to_owned(),
        },
        Event::ContextInjected(injected) => injected.item_id?,
        Event::HookTriggered(triggered) => triggered.hook,
        Event::ThreadContinued(continued) => continued.next.to_string(),
        _ => return None,
    })
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
    match record.event() {
        Ok(Event::ToolCallResult(receipt)) => receipt.standard_error,
        _ => None,
    }
}

pub(super) fn event(record: &Record) -> Value {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    json!({ "seq": record.seq, "at": record.at.to_string(), "event": record.name(), "payload": payload })
}

#[cfg(test)]
mod tests;
