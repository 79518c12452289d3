//! Progress of descendants, with the name of the thread in each line.

use rye::thread::ThreadId;
use rye::thread::transcript::Event;
use rye::thread::transcript::payload::{ThreadComplete, ThreadError};

use crate::output;

/// Returns the line for an event of a descendant at `depth`, or `None` for most events.
///
/// Each line needs a name, because threads run concurrently.
pub(super) fn line(thread: &ThreadId, depth: usize, event: &Event) -> Option<String> {
    let text = match event {
        Event::ThreadComplete(ThreadComplete { turns, cost, .. }) => {
            format!("completed ({}, {cost})", output::turns(*turns))
        }
        Event::ThreadError(ThreadError { state, failure: Some(failure), turns, cost, .. }) => {
            format!("{state}: {failure} ({}, {cost})", output::turns(*turns))
        }
        Event::ThreadError(ThreadError { state, turns, cost, .. }) => {
            format!("{state} ({}, {cost})", output::turns(*turns))
        }
        Event::ApprovalRequested(request) => {
            format!("waits for approval: `{}`; {}", output::line(&request.item_id), request.why())
        }
        event => super::line(event)?,
    };
    Some(with_name(thread, depth, &text))
}

/// Returns a text with the name of its thread in each line.
pub(super) fn with_name(thread: &ThreadId, depth: usize, text: &str) -> String {
    let lead = format!("{}{}: ", "    ".repeat(depth), name(thread));
    text.lines().map(|line| format!("{lead}{line}")).collect::<Vec<_>>().join("\n")
}

/// Returns a name that is long enough to distinguish the threads of a tree, and short enough for each line.
fn name(thread: &ThreadId) -> String {
    const UUID: usize = 36;
    const TOLD: usize = 4;
    let id = thread.as_str();
    let directive = id.get(..id.len().saturating_sub(UUID)).unwrap_or_default();
    let last = id.get(id.len().saturating_sub(TOLD)..).unwrap_or_default();
    format!("{directive}…{last}")
}

#[cfg(test)]
mod tests {
    use rye::thread::transcript::payload::Said;
    use rye::types::{Nanos, Usage};

    use super::*;

    #[test]
    fn every_line_has_a_name() {
        let thread = "notes-019a0000-0000-7000-8000-00000000abcd".parse().unwrap();
        let said = Event::AssistantText(Said { text: "One\nTwo".to_owned() });
        let told = "        notes-…abcd:   One\n        notes-…abcd:   Two";
        assert_eq!(line(&thread, 2, &said).unwrap(), told);
        let ended = Event::ThreadComplete(ThreadComplete {
            outputs: None,
            text: String::new(),
            turns: 2,
            usage: Usage::default(),
            cost: Nanos::new(5_000_000),
        });
        let told = "    notes-…abcd: completed (2 turns, 0.005 USD)";
        assert_eq!(line(&thread, 1, &ended).unwrap(), told);
        assert_eq!(line(&thread, 1, &Event::UserMessage(Said { text: "Hi".to_owned() })), None);
    }
}
