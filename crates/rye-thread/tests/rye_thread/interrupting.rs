//! Calls that were stopped while they ran, and again when they were run anew: each run of them is decided on by itself.

use std::sync::Arc;

use rye_thread::{ApprovalReason, Cancel, Decision, Hooks};
use rye_types::{HookEvent, ThreadState};
use serde_json::json;

use crate::doubles::{call, returns};
use crate::hooking::{hook, hooks, running};
use crate::world::{World, count};

/// A thread that calls what cannot be repeated, or whose hook does.
struct Row {
    name: &'static str,
    calls: &'static str,
    hooks: fn() -> Hooks,
}

const ROWS: [Row; 2] = [
    Row { name: "a call of the model", calls: "a_once", hooks: Hooks::none },
    Row {
        name: "a call of a hook",
        calls: "a_read",
        hooks: || {
            hooks(vec![running(hook("act", HookEvent::AfterStep), "a/once", json!({"n": 5}))])
        },
    },
];

impl Row {
    fn world(&self) -> World {
        let mut world = World::new();
        let calls = vec![call("a", self.calls, json!({"n": 1}))];
        world.model.turns = vec![calls, vec![returns("r", json!({"score": 7}))]];
        world.hooks = (self.hooks)();
        world
    }

    /// The same world, where its program was killed after so many bytes, and somebody says this when asked.
    fn cut(&self, whole: &World, bytes: &[u8], says: Option<Decision>) -> World {
        let mut cut = whole.cut(bytes);
        cut.hooks = (self.hooks)();
        cut.approves = says;
        cut
    }
}

/// What was recorded before the last receipt of a call that cannot be repeated.
fn before_the_receipt(bytes: &[u8]) -> &[u8] {
    let (mut at, mut end) = (0, None);
    let mut is_open = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = std::str::from_utf8(line).unwrap();
        is_open |= text.contains(r#""event":"tool_call_start""#) && text.contains("a/once");
        if is_open && text.contains(r#""event":"tool_call_result""#) {
            (is_open, end) = (false, Some(at));
        }
        at += line.len();
    }
    &bytes[..end.unwrap()]
}

/// What was recorded up to the last decision.
fn up_to_the_decision(bytes: &[u8]) -> &[u8] {
    let text = std::str::from_utf8(bytes).unwrap();
    let decided = text.rfind(r#""event":"approval_decided""#).unwrap();
    // The checkpoint that makes it count is the next record.
    let ends = text[decided..].match_indices('\n').nth(1).unwrap().0;
    &bytes[..=decided + ends]
}

/// Killed, approved, run again and killed again: who approved once did not approve of whatever comes.
#[tokio::test]
async fn one_approval_is_for_one_run() {
    for row in ROWS {
        let whole = row.world();
        whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
        let mut bytes = before_the_receipt(&whole.bytes()).to_vec();
        for times in 1..4 {
            let name = format!("{}, interrupted {times} times", row.name);
            let waiting = row.cut(&whole, &bytes, None);
            let found = waiting.resume("Begin.").await.unwrap();
            assert_eq!(found.state, ThreadState::Suspended, "{name}");
            assert_eq!(found.asked.unwrap().reason, ApprovalReason::Interrupted, "{name}");
            assert_eq!(count(&waiting.reading(), "approval_requested"), times, "{name}");
            let again = row.cut(&whole, &bytes, Some(Decision::Approved));
            let found = again.resume("Begin.").await.unwrap();
            assert_eq!(found.state, ThreadState::Completed, "{name}: {:?}", found.failure);
            assert_eq!(count(&again.reading(), "approval_decided"), times, "{name}");
            assert_eq!(again.replay("", "").await.divergence, None, "{name}");
            bytes = before_the_receipt(&again.bytes()).to_vec();
        }
    }
}

/// A decision that its program did not live to act on is acted on by the next one, which asks nobody.
#[tokio::test]
async fn an_approval_that_was_not_used_is_kept() {
    for row in ROWS {
        let whole = row.world();
        whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
        for says in [Decision::Approved, Decision::DENIED] {
            let stopped = row.cut(&whole, before_the_receipt(&whole.bytes()), Some(says.clone()));
            stopped.resume("Begin.").await.unwrap();
            let later = row.cut(&whole, up_to_the_decision(&stopped.bytes()), None);
            let found = later.resume("Begin.").await.unwrap();
            assert_eq!(found.state, ThreadState::Completed, "{}: {:?}", row.name, found.failure);
            let runs = later.effects().iter().filter(|it| it.starts_with("a/once")).count();
            assert_eq!(runs, usize::from(says == Decision::Approved), "{}", row.name);
            assert_eq!(later.replay("", "").await.divergence, None, "{}", row.name);
        }
    }
}
