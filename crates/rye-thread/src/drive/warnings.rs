//! Warnings for the operator about a resumed thread, by its records alone.

use rye_types::Nanos;
use serde_json::Value;

use crate::transcript::{Event, Reading, Record};

use crate::transcript::payload::{Receipt, RequestFailed, RequestRetried, StepFinish};
use crate::{Counted, Reply, StopReason};

/// The warnings that the records of a thread hold, oldest first: actions of hooks that failed or were refused,
/// and requests whose cost is not known. Before them stand the records that this version cannot read.
#[must_use]
pub fn thread_warnings(reading: &Reading) -> Vec<String> {
    let warnings = |record: &Record| record.event().ok().map(|event| of_event(&event));
    let unread = |(record, problem): (&Record, String)| {
        format!("record {} cannot be used, and a resume refuses it: {problem}", record.seq)
    };
    let mut told = reading.unread().map(unread).collect();
    reading.records.iter().filter_map(warnings).for_each(|more| add_new(&mut told, more));
    told
}

/// Adds the warnings that were not told yet: a hook that is refused at each event is one warning.
pub(super) fn add_new(told: &mut Vec<String>, more: Vec<String>) {
    for warning in more {
        if !told.contains(&warning) {
            told.push(warning);
        }
    }
}

/// The warnings of an event as it happens.
pub(super) fn of_event(event: &Event) -> Vec<String> {
    let empty = match event {
        Event::StepFinish(StepFinish { turn, reply, .. }) if ends_with_nothing(reply) => {
            Some(format!("the answer of turn {turn} was empty"))
        }
        _ => None,
    };
    of_its_kind(event).into_iter().chain(empty).collect()
}

fn ends_with_nothing(reply: &Reply) -> bool {
    reply.is_blank() && matches!(reply.stop, StopReason::EndTurn | StopReason::StopSequence)
}

fn of_its_kind(event: &Event) -> Option<String> {
    match event {
        Event::ToolCallResult(receipt) => of_action(receipt),
        Event::RequestFailed(RequestFailed { turn, class, cost, .. }) if class == KILLED => {
            of_killed(*turn, *cost)
        }
        Event::RequestRetried(RequestRetried { turn, class, message, cost, .. }) => {
            match class.is_of_reply() {
                true => Some(of_unusable(*turn, message, *cost)),
                false => of_attempt(*turn, message, *cost),
            }
        }
        Event::StepFinish(StepFinish { turn, reply, cost })
            if reply.counted == Counted::Unreported =>
        {
            Some(of_uncounted(*turn, *cost))
        }
        _ => None,
    }
}

/// The class of a request whose program was stopped before its answer was recorded.
pub(super) const KILLED: &str = "killed";

fn of_action(receipt: &Receipt) -> Option<String> {
    let hook = receipt.hook.as_ref()?;
    let why = match &receipt.refusal {
        Some(refusal) => format!("was refused: {}", refusal.message),
        None if receipt.is_error => format!("failed: {}", reason(&receipt.content)),
        None => return None,
    };
    Some(format!("an action of hook `{hook}` {why}"))
}

/// The text of an error result, without the JSON around it where it has a text of its own.
fn reason(content: &Value) -> String {
    let error = content.get("error").and_then(Value::as_str);
    match (error, content.get("problems")) {
        (Some(error), Some(problems)) => format!("{error}: {problems}"),
        (Some(error), None) => error.to_owned(),
        (None, _) => content.to_string(),
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

fn of_unusable(turn: u64, message: &str, cost: Nanos) -> String {
    format!(
        "an answer of turn {turn} was not used and was asked for again, at a cost of {cost}: {message}"
    )
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
        "the provider did not count all tokens of turn {turn}, so that the most that it may have cost, {cost}, counts as spent"
    )
}
