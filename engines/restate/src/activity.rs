//! The work of the threads of a tree, as their records tell it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

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

/// A record, as far as it is read here.
#[derive(Deserialize)]
struct Line {
    event: String,
}

#[derive(Deserialize)]
struct CallLine {
    payload: Call,
}

#[derive(Deserialize)]
struct Call {
    call_id: String,
    #[serde(default)]
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    item_id: String,
}

/// The tool with which a thread waits for its children. It changes nothing, so that another worker may call it again.
const WAIT: &str = "rye/agent/threads/wait";

impl Note {
    /// Reads the note of one record.
    ///
    /// The whole record is parsed, because arguments and results may hold text that looks like a record.
    pub fn of(line: &str) -> Option<Self> {
        let Line { event } = serde_json::from_str(line).ok()?;
        let payload = || serde_json::from_str(line).ok().map(|line: CallLine| line.payload);
        let call = || payload().map(|call| call.call_id);
        match event.as_str() {
            "step_start" => Some(Self::Asks),
            "step_finish" | "request_failed" => Some(Self::Answered),
            "tool_call_start" => payload().map(Self::of_call),
            "tool_call_result" => call().map(Self::Ends),
            "spawn_child" => call().map(Self::Waits),
            "approval_requested" | "thread_complete" | "thread_continued" | "thread_error" => {
                Some(Self::Over)
            }
            _ => None,
        }
    }

    fn of_call(call: Call) -> Self {
        let waits = call.target.is_some_and(|target| target.item_id == WAIT);
        if waits { Self::Waits(call.call_id) } else { Self::Begins(call.call_id) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_of_a_record_counts_and_no_text_in_it() {
        let call = r#"{"event":"tool_call_start","payload":{"call_id":"1","arguments":{"event":"step_start"}}}"#;
        assert_eq!(Note::of(call), Some(Note::Begins("1".to_owned())));
        let wait = r#"{"event":"tool_call_start","payload":{"call_id":"1","target":{"item_id":"rye/agent/threads/wait"}}}"#;
        assert_eq!(Note::of(wait), Some(Note::Waits("1".to_owned())));
        let text = r#"{"event":"assistant_text","payload":{"event":"step_start"}}"#;
        assert_eq!(Note::of(text), None);
        assert_eq!(Note::of(r#"{"event":"step_start","payload":{"turn":1}}"#), Some(Note::Asks));
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
