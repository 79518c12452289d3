//! Threads with children, cut off anywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rye_caps::{Capability, Kind, Primary};
use rye_thread::budget::Ledger as _;
use rye_thread::store::Store as _;
use rye_thread::transcript::Reading;
use rye_thread::{
    Children, Ended, Ending, HookEffect, HookEvent, Nanos, PaletteEntry, Spawn, SpawnRequest,
    Spawned, ThreadId, ThreadState, ToolCall, ToolOutput, ToolSpec, Waiting, handed_over,
};
use serde_json::{Value, json};

use crate::doubles::{Thread, call, calls, thread_id};
use crate::family::{Home, child, few_turns, many_turns};
use crate::hooking::{deciding, hooks};
use crate::world::{EVERY, count, outcome, visible};

/// How often an effect has a receipt, in whichever of these threads.
fn receipts(home: &Home, threads: &[ThreadId]) -> Vec<String> {
    let mut found = Vec::new();
    for thread in threads {
        let Reading { records, .. } = home.reading(thread);
        for record in records.iter().filter(|record| record.event == "tool_call_result") {
            let payload: Value = serde_json::from_str(record.payload.get()).unwrap();
            if let Some(did) = payload["content"].get("did") {
                let name = payload["name"].as_str().unwrap();
                // In the words of [`Home::effects`].
                found.push(format!("{} {did}", name.replacen('_', "/", 1)));
            }
        }
    }
    found
}

/// A tree that came to its end, and what every other one like it must come to, wherever it was cut.
struct Whole {
    home: Home,
    outcome: String,
    threads: Vec<ThreadId>,
    visible: Vec<Vec<String>>,
}

impl Whole {
    async fn new(home: Home, children: u64) -> Self {
        let found = home.drive().await.unwrap();
        assert_eq!(found.state, ThreadState::Completed, "{:?}", found.failure);
        let threads: Vec<ThreadId> =
            std::iter::once(thread_id()).chain((0..children).map(child)).collect();
        assert_eq!(home.effects.lock().unwrap().len(), receipts(&home, &threads).len());
        let visible = threads.iter().map(|thread| visible(&home.reading(thread))).collect();
        Self { outcome: outcome(&found), home, threads, visible }
    }

    /// The power goes after so many bytes, and somebody goes on in these folders: the same ends, the same histories, no
    /// effect again that has a receipt, no child twice, and all money given back.
    async fn check(&self, folders: &Home, bytes: usize) {
        let home = folders.cut(bytes);
        let before = receipts(&home, &self.threads);
        let found = home.drive().await.unwrap_or_else(|error| panic!("cut at {bytes}: {error}"));
        assert_eq!(outcome(&found), self.outcome, "cut at {bytes}");
        for (thread, expected) in self.threads.iter().zip(&self.visible) {
            assert_eq!(&visible(&home.reading(thread)), expected, "cut at {bytes}: {thread}");
        }
        let spawned = count(&home.reading(&thread_id()), "spawn_child");
        assert_eq!(spawned + 1, self.threads.len(), "cut at {bytes}");
        let again = home.effects.lock().unwrap().clone();
        for done in &before {
            assert!(!again.contains(done), "cut at {bytes}: {done} again");
        }
        let balance = home.store.open(&thread_id(), Home::limits().spend).unwrap();
        let left = (balance.reserved, balance.overrun);
        assert_eq!(left, (Nanos::ZERO, Nanos::ZERO), "cut at {bytes}");
    }

    /// The same at each of these places, on all processors.
    fn check_all(&self, places: &[usize]) {
        let next = AtomicUsize::new(0);
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let (runtime, folders) = (runtime.unwrap(), self.home.elsewhere());
            while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                runtime.block_on(self.check(&folders, *place));
            }
        };
        on_all_processors(&work);
        assert!(places.len() <= next.load(Ordering::Relaxed));
    }

    /// Cut inside of a record, wherever that is, a journal is opened as the one that ends before it, byte for byte: what goes
    /// on from there is what goes on from the end of a record. Looked at are every `step` bytes.
    fn check_openings(&self, step: usize) {
        for thread in &self.threads {
            let bytes = self.home.store.journal(thread).unwrap();
            let next = AtomicUsize::new(0);
            on_all_processors(&|| {
                loop {
                    let cut = next.fetch_add(step, Ordering::Relaxed);
                    if bytes.len() < cut {
                        break;
                    }
                    let kept = bytes[..cut].iter().rposition(|byte| *byte == b'\n');
                    let kept = kept.map_or(0, |end| end + 1);
                    let (opened, torn) = self.home.opened(thread, &bytes[..cut]);
                    assert_eq!(opened, &bytes[..kept], "{thread} cut at {cut}");
                    assert_eq!(torn, (kept < cut).then_some(kept..cut), "{thread} cut at {cut}");
                }
            });
        }
    }
}

fn on_all_processors(work: &(dyn Fn() + Sync)) {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

fn whole(turns: Vec<Vec<ToolCall>>, children: u64) -> Whole {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(Whole::new(Home::new(turns), children))
}

/// Where a journal was cut after a record of any thread, or at every byte.
fn places(whole: &Whole) -> Vec<usize> {
    if EVERY { (0..=whole.home.written()).collect() } else { whole.home.ends() }
}

/// Twenty turns and six children.
#[test]
fn cut_anywhere_a_tree_ends_the_same() {
    let whole = whole(many_turns(), 6);
    assert!(whole.outcome.contains(" 20 "), "{}", whole.outcome);
    whole.check_openings(if EVERY { 1 } else { 211 });
    whole.check_all(&places(&whole));
}

/// Few turns and two children, opened at every byte.
#[test]
fn cut_anywhere_a_small_tree_ends_the_same() {
    let whole = whole(few_turns(), 2);
    whole.check_openings(1);
    whole.check_all(&places(&whole));
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
