//! The progress of a plan, read from the conversation.

use std::collections::BTreeMap;

use rye_thread::{Message, ToolResult};
use serde_json::{Map, Value};

use super::plan::{PlannedCall, Turn};

/// The progress of a plan: the number of turns, and the result of each call.
pub(super) struct History<'a> {
    pub(super) n_turns: usize,
    results: BTreeMap<&'a str, &'a ToolResult>,
}

impl<'a> History<'a> {
    pub(super) fn of(messages: &'a [Message]) -> Self {
        let mut history = Self { n_turns: 0, results: BTreeMap::new() };
        for message in messages {
            match message {
                Message::Assistant { .. } => history.n_turns += 1,
                Message::ToolResults { results } => {
                    history
                        .results
                        .extend(results.iter().map(|result| (result.call_id.as_str(), result)));
                }
                _ => {}
            }
        }
        history
    }

    /// Returns the results of a turn, or the reason why the plan cannot continue after it.
    pub(super) fn results_of<'b>(
        &self,
        turn: &'b Turn,
    ) -> Result<Vec<(&'b PlannedCall, &'a Value)>, String> {
        let mut results = Vec::new();
        for (id, call) in &turn.calls {
            let shown = format!("the step `{}` failed: `{}`", turn.name, call.label());
            match self.results.get(id.as_str()) {
                None => return Err(format!("{shown} has no result in the conversation")),
                Some(result) if result.is_error => {
                    return Err(format!("{shown} answered: {}", error_text(&result.content)));
                }
                Some(_) if call.is_return() => {}
                Some(result) => results.push((call, &result.content)),
            }
        }
        Ok(results)
    }

    /// The error that a call returned, if it failed.
    pub(super) fn error_of(&self, id: &str) -> Option<String> {
        self.results
            .get(id)
            .filter(|result| result.is_error)
            .map(|result| error_text(&result.content))
    }
}

/// A finished step with the results of its calls, in order.
pub(super) struct Finished<'a> {
    pub(super) step: String,
    pub(super) results: Vec<&'a Value>,
}

/// Joins the `causes` of an error, outermost first.
fn causes(error: &Value) -> Option<String> {
    let causes = error.get("causes")?.as_array()?.iter().filter_map(Value::as_str);
    Some(causes.collect::<Vec<_>>().join(": "))
}

/// Returns the message with what else the result tells of the failure. A value that the message has already is left out.
fn with_details(message: &str, result: &Map<String, Value>) -> String {
    let detail = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Array(values) => {
                let texts = values
                    .iter()
                    .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                texts.collect::<Vec<_>>().join("; ")
            }
            other => other.to_string(),
        };
        // What a program says last is mostly why it failed.
        let text = match name.as_str() {
            "stderr" | "stdout" => end_of(&text),
            _ => text,
        };
        match name.as_str() {
            _ if text.is_empty() || message.contains(&text) => None,
            "hint" | "problems" | "stderr" => Some(text),
            _ => Some(format!("{name} {text}")),
        }
    };
    let details: Vec<String> = result.iter().filter_map(detail).collect();
    if details.is_empty() {
        message.to_owned()
    } else {
        format!("{message}: {}", details.join("; "))
    }
}

/// The most characters of an output, and of a whole message.
const MOST_OF_OUTPUT: usize = 600;
const MOST: usize = 2000;

/// Returns the end of a program's output.
fn end_of(text: &str) -> String {
    match text.chars().count().checked_sub(MOST_OF_OUTPUT) {
        None | Some(0) => text.to_owned(),
        Some(left_out) => format!("…{}", text.chars().skip(left_out).collect::<String>()),
    }
}

/// Returns the message of an error, shortened.
fn error_text(content: &Value) -> String {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Object(object) => match object.get("error") {
            Some(Value::String(text)) => with_details(text, object),
            Some(error) => causes(error).unwrap_or_else(|| content.to_string()),
            None => content.to_string(),
        },
        other => other.to_string(),
    };
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
