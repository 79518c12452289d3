//! Threads with children, cut off anywhere.

use std::sync::Arc;

use async_trait::async_trait;
use rye_caps::{Capability, Kind, Primary};
use rye_thread::budget::Ledger as _;
use rye_thread::transcript::Reading;
use rye_thread::{
    Children, Ended, Ending, HookEffect, HookEvent, Nanos, PaletteEntry, Spawn, SpawnRequest,
    Spawned, ThreadId, ThreadState, ToolOutput, ToolSpec, Waiting, handed_over,
};
use serde_json::{Value, json};

use crate::doubles::{Thread, call, calls, thread_id};
use crate::family::{Home, child};
use crate::hooking::{deciding, hooks};
use crate::world::{EVERY, count, outcome, visible};

const CHILDREN: u64 = 6;

fn threads() -> Vec<ThreadId> {
    std::iter::once(thread_id()).chain((0..CHILDREN).map(child)).collect()
}

/// How often an effect has a receipt, in whichever thread.
fn receipts(home: &Home) -> Vec<String> {
    let mut found = Vec::new();
    for thread in threads() {
        let Reading { records, .. } = home.reading(&thread);
        for record in records.iter().filter(|record| record.event == "tool_call_result") {
            let payload: serde_json::Value = serde_json::from_str(record.payload.get()).unwrap();
            if let Some(did) = payload["content"].get("did") {
                found.push(format!("{} {did}", payload["name"].as_str().unwrap()));
            }
        }
    }
    found
}

/// The power goes after so many bytes, and somebody goes on: the same ends, the same histories, no effect again that has a
/// receipt, no child twice, and all money given back.
async fn check(whole: &Home, expected: &str, bytes: usize) {
    let home = whole.cut(bytes);
    let before = receipts_of(&home);
    let found = home.drive().await.unwrap_or_else(|error| panic!("cut at {bytes}: {error}"));
    assert_eq!(outcome(&found), expected, "cut at {bytes}");
    for thread in threads() {
        assert_eq!(
            visible(&home.reading(&thread)),
            visible(&whole.reading(&thread)),
            "cut at {bytes}: {thread}"
        );
    }
    let spawned = count(&home.reading(&thread_id()), "spawn_child");
    assert_eq!(spawned, usize::try_from(CHILDREN).unwrap(), "cut at {bytes}");
    let again = home.effects.lock().unwrap().clone();
    for done in &before {
        assert!(!again.contains(done), "cut at {bytes}: {done} again");
    }
    let balance = home.store.open(&thread_id(), Home::limits().spend).unwrap();
    assert_eq!((balance.reserved, balance.overrun), (Nanos::ZERO, Nanos::ZERO), "cut at {bytes}");
}

/// The same in the words of [`Home::effects`].
fn receipts_of(home: &Home) -> Vec<String> {
    receipts(home).into_iter().map(|row| row.replacen('_', "/", 1)).collect()
}

#[tokio::test]
async fn cut_anywhere_a_tree_ends_the_same() {
    let whole = Home::new();
    let expected = whole.drive().await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    assert_eq!(expected.turns, 20);
    assert_eq!(whole.effects.lock().unwrap().len(), receipts(&whole).len());
    let expected = outcome(&expected);
    let log = whole.store.log.lock().unwrap().clone();
    let mut end = 0;
    check(&whole, &expected, 0).await;
    for (place, (_, lines)) in log.iter().enumerate() {
        // What is cut inside of a record is cut off before it, whatever the place: some are enough, or all.
        let torn = match place % 6 {
            _ if EVERY => (1..lines.len()).collect(),
            0 => vec![place % lines.len().max(1)],
            _ => Vec::new(),
        };
        for inside in torn.into_iter().filter(|inside| 0 < *inside && *inside < lines.len()) {
            check(&whole, &expected, end + inside).await;
        }
        end += lines.len();
        if !lines.is_empty() {
            check(&whole, &expected, end).await;
        }
    }
}

/// Children that are done as soon as they are started.
struct Quick;

#[async_trait]
impl Children for Quick {
    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (id, limits) = (child(request.number), request.left.clone());
        Ok(Spawn::new(&request.call_id, id, "test/child", Waiting::ForTheEnd, limits))
    }

    async fn run(&self, spawn: &Spawn, _: &Value) -> Spawned {
        Spawned::Returned(ToolOutput::ok(json!(spawn.child.as_str())))
    }

    async fn adopt(&self, _: &[Spawn]) -> Result<(), String> {
        Ok(())
    }

    async fn end(&self, _: Ending) -> Ended {
        Ended::All
    }
}

fn spawning() -> PaletteEntry {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
    let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
    PaletteEntry::spawning("a/spawn", spec, capability, Arc::new(Quick))
}

/// A conversation that goes on in another thread starts no more threads for it.
#[tokio::test]
async fn a_continuation_has_what_is_left_of_the_threads_to_start() {
    for (count, left) in [(0, 4), (1, 3), (4, 0)] {
        let spawn = |n: usize| call(&format!("s{n}"), "a_spawn", json!({}));
        let mut made: Vec<_> = (0..count).map(spawn).collect();
        made.push(call("x", "a_gone", json!({})));
        let mut thread = Thread::new(vec![calls(made)]).with(spawning());
        thread.limits.spawns = 4;
        thread.info.context_window = 120;
        thread.info.prices = Some(rye_thread::Prices::free());
        let full = HookEvent::ContextLimitReached;
        thread.hooks = hooks(vec![deciding("on", full, HookEffect::Continue)]);
        let driven = thread.drive().await;
        driven.check_consistent();
        assert_eq!(driven.outcome.state, ThreadState::Continued, "{:?}", driven.outcome.failure);
        let limits = handed_over(&driven.transcript()).unwrap().limits;
        assert_eq!((limits.spawns, limits.depth), (left, 5), "after {count}");
    }
}
