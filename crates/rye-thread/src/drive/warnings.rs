//! Warnings for the operator about a resumed thread, by its records alone.

use super::hooks::Entry;
use super::recover::Recorded;
use crate::transcript::{Event, Reading, Record};
use crate::{Counted, Nanos, Refusal, ToolResult};

/// The warnings that the records of a thread hold, oldest first: actions of hooks that failed or were refused,
/// and requests whose cost is not known.
#[must_use]
pub fn thread_warnings(reading: &Reading) -> Vec<String> {
    reading.records.iter().filter_map(of_record).collect()
}

/// The warning of an event as it happens.
pub(super) fn of_event(event: &Event) -> Option<String> {
    match event {
        Event::HookCallResult { hook, result, refusal } => {
            of_action(hook, result, refusal.as_ref())
        }
        Event::RequestFailed { turn, class, cost, .. } if class == KILLED => {
            of_killed(*turn, *cost)
        }
        Event::RequestRetried { turn, retry, cost, .. } => of_attempt(*turn, &retry.message, *cost),
        Event::StepFinish { turn, reply, cost } if reply.counted == Counted::Unreported => {
            Some(of_uncounted(*turn, *cost))
        }
        _ => None,
    }
}

fn of_record(record: &Record) -> Option<String> {
    let payload: serde_json::Value = match record.event.as_str() {
        "request_failed" | "request_retried" | "step_finish" => {
            serde_json::from_str(record.payload.get()).ok()?
        }
        "tool_call_result" => serde_json::Value::Null,
        _ => return None,
    };
    let turn = payload["turn"].as_u64().unwrap_or_default();
    let cost = Nanos::new(payload["cost_nanos"].as_u64().unwrap_or_default());
    match (record.event.as_str(), Recorded::read(record).ok()?) {
        (_, Recorded::Hook(Entry::Result { hook, returned })) => {
            of_action(&hook, &returned.result, returned.refusal.as_ref())
        }
        ("request_failed", _) if payload["class"] == KILLED => of_killed(turn, cost),
        ("request_retried", _) => {
            of_attempt(turn, payload["message"].as_str().unwrap_or_default(), cost)
        }
        (_, Recorded::StepFinish { reply, cost }) => {
            let is_uncounted = reply.into_reply().counted == Counted::Unreported;
            is_uncounted.then(|| of_uncounted(turn, cost))
        }
        _ => None,
    }
}

/// The class of a request whose program was stopped before its answer was recorded.
pub(super) const KILLED: &str = "killed";

fn of_action(hook: &str, result: &ToolResult, refusal: Option<&Refusal>) -> Option<String> {
    let why = match refusal {
        Some(refusal) => format!("was refused: {}", refusal.message),
        None if result.is_error => format!("failed: {}", reason(result)),
        None => return None,
    };
    Some(format!("an action of hook `{hook}` {why}"))
}

/// The text of an error result, without the JSON around it where it has a text of its own.
fn reason(result: &ToolResult) -> String {
    let error = result.content.get("error").and_then(serde_json::Value::as_str);
    match (error, result.content.get("problems")) {
        (Some(error), Some(problems)) => format!("{error}: {problems}"),
        (Some(error), None) => error.to_owned(),
        (None, _) => result.content.to_string(),
    }
}

fn of_attempt(turn: u64, message: &str, cost: Nanos) -> Option<String> {
    (Nanos::ZERO < cost).then(|| {
        format!(
            "an attempt of turn {turn} failed and was made again: {message}; {cost} counts as spent, because the provider may \
             charge for it"
        )
    })
}

fn of_killed(turn: u64, cost: Nanos) -> Option<String> {
    (Nanos::ZERO < cost).then(|| {
        format!(
            "the program was stopped while turn {turn} had no answer; {cost} counts as spent, because the provider may charge for it"
        )
    })
}

fn of_uncounted(turn: u64, cost: Nanos) -> String {
    format!(
        "the provider did not count the tokens of turn {turn}, so that all that was reserved for it, {cost}, counts as spent"
    )
}
