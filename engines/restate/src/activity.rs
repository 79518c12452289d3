//! The work of the threads of a tree, as their records tell it.

use std::collections::{BTreeMap, BTreeSet};

use rye::thread::transcript::{Event, EventKind, UnverifiedRecord};

use rye::thread::transcript::payload::Intent;

/// The meaning of a record for the work of its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A request to the model follows.
    Asks,
    /// The request has an answer, or failed.
    Answered,
    /// A call begins, or is about to.
    Begins(String),
    /// The call has a result.
    Ends(String),
    /// The call waits for a child, which has records of its own.
    Waits(String),
    /// The thread has ended, or waits for a decision.
    Over,
}

/// The tool with which a thread waits for its children. It changes nothing, so that another worker may call it again.
const WAIT: &str = "rye/agent/threads/wait";

impl Note {
    /// Reads the note of one record.
    ///
    /// The record is parsed, because arguments and results may hold text that looks like a record. They may be unreadable for
    /// themselves.
    pub fn of(line: &str) -> Option<Self> {
        let record = UnverifiedRecord::read(line.as_bytes())?;
        match record.kind() {
            EventKind::StepStart => Some(Self::Asks),
            EventKind::StepFinish | EventKind::RequestFailed => Some(Self::Answered),
            EventKind::ToolCallStart => record.intent().map(Self::of_intent),
            EventKind::ToolCallResult => {
                record.receipt().map(|receipt| Self::Ends(receipt.call_id))
            }
            EventKind::SpawnChild => match record.event()? {
                Event::SpawnChild(spawn) => Some(Self::Waits(spawn.call_id)),
                _ => None,
            },
            EventKind::ApprovalRequested
            | EventKind::ThreadComplete
            | EventKind::ThreadContinued
            | EventKind::ThreadError => Some(Self::Over),
            _ => None,
        }
    }

    /// The note of a call, whatever its arguments are.
    fn of_intent<A>(Intent { call_id, target, .. }: Intent<A>) -> Self {
        match target {
            Some(target) if target.item_id == WAIT => Self::Waits(call_id),
            _ => Self::Begins(call_id),
        }
    }
}

/// The requests and calls that are under way in a tree.
#[derive(Debug, Default)]
pub struct Activity(BTreeMap<String, Work>);

#[derive(Debug, Default)]
struct Work {
    asks: bool,
    calls: BTreeSet<String>,
}

impl Activity {
    /// Takes over the notes of a thread, in the order of its records.
    pub fn note(&mut self, thread: &str, notes: &[Note]) {
        for note in notes {
            let work = self.0.entry(thread.to_owned()).or_default();
            match note {
                Note::Asks => work.asks = true,
                Note::Answered => work.asks = false,
                Note::Begins(call) => _ = work.calls.insert(call.clone()),
                Note::Ends(call) | Note::Waits(call) => _ = work.calls.remove(call),
                Note::Over => *work = Work::default(),
            }
        }
    }

    /// Returns `true` if no request and no call is under way. A call that waits for a child is none.
    pub fn is_idle(&self) -> bool {
        self.0.values().all(|work| !work.asks && work.calls.is_empty())
    }
}

/// A line with this event and without its place in a chain.
#[cfg(test)]
pub fn line(event: &str, payload: &str) -> String {
    format!(
        "{{\"ts\":\"2026-11-20T18:00:00.000Z\",\"thread_id\":\"one-019a0000-0000-7000-8000-000000000000\",\"directive\":\"one\",\"event\":\"{event}\",\"payload\":{payload}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_of_a_record_counts_and_no_text_in_it() {
        let note = |event, payload| Note::of(&line(event, payload));
        let call = r#"{"call_id":"1","name":"x","arguments":{"event":"step_start"}}"#;
        assert_eq!(note("tool_call_start", call), Some(Note::Begins("1".to_owned())));
        let wait = r#"{"call_id":"1","name":"x","arguments":{},"target":{"item_id":"rye/agent/threads/wait","capability":"c","effect":"read_only"}}"#;
        assert_eq!(note("tool_call_start", wait), Some(Note::Waits("1".to_owned())));
        let end = r#"{"call_id":"1","name":"x","content":{"event":"step_start"},"is_error":false}"#;
        assert_eq!(note("tool_call_result", end), Some(Note::Ends("1".to_owned())));
        let unreadable = r#"{"call_id":"1","name":"x","content":"\ud800","is_error":false}"#;
        assert_eq!(note("tool_call_result", unreadable), Some(Note::Ends("1".to_owned())));
        assert_eq!(note("assistant_text", r#"{"event":"step_start"}"#), None);
        assert_eq!(note("step_start", r#"{"turn":1}"#), Some(Note::Asks));
        assert_eq!(Note::of("\"event\":\"step_start\""), None);
    }

    #[test]
    fn a_tree_is_idle_while_calls_wait_for_children_alone() {
        let mut activity = Activity::default();
        let call = || "1".to_owned();
        activity.note("root", &[Note::Begins(call())]);
        assert!(!activity.is_idle());
        activity.note("root", &[Note::Waits(call())]);
        assert!(activity.is_idle());
        activity.note("child", &[Note::Asks]);
        assert!(!activity.is_idle());
        activity.note("child", &[Note::Answered]);
        assert!(activity.is_idle());
        activity.note("child", &[Note::Begins(call()), Note::Over]);
        assert!(activity.is_idle());
    }
}
