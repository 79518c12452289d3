//! Threads with children, cut off anywhere.

mod money;
mod taken;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rye_caps::{Capability, Kind, Primary};
use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::transcript::Reading;
use rye_thread::{
    Cancel, ChildEnd, Children, Ended, Ending, FailureKind, PaletteEntry, RecordedSpawn, Spawn,
    SpawnRequest, Spawned, ThreadId, ThreadRecord, ToolCall, ToolOutput, ToolSpec, TreeAccount,
    Waiting, handed_over,
};
use rye_types::{HookEffect, HookEvent, LimitSet, Nanos, SpendLimit, ThreadState};
use serde_json::{Value, json};

use crate::doubles::{FakeClock, Thread, account, call, calls, returns, says, thread_id};
use crate::family::{Home, child, few_turns, many_turns};
use crate::hooking::{deciding, hooks};
use crate::sweep::{is_whole, sweep};
use crate::world::{World, count, counted, outcome, progress, stride, visible};

/// How often an effect has a receipt, in whichever of these threads.
fn receipts(home: &Home, threads: &[ThreadId]) -> Vec<String> {
    let mut found = Vec::new();
    for thread in threads {
        let Reading { records, .. } = home.reading(thread);
        for record in records.iter().filter(|record| record.name() == "tool_call_result") {
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
        let account = home.account();
        let left = (account.reserved, account.held, account.is_overrun);
        assert_eq!(left, (Nanos::ZERO, Nanos::ZERO, false), "cut at {bytes}");
    }

    /// The same at these ends of records of whichever thread, on all processors.
    fn check_at(&self, places: &[usize]) {
        let next = AtomicUsize::new(0);
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let (runtime, folders) = (runtime.unwrap(), self.home.elsewhere());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(place) = places.get(number) else { break };
                runtime.block_on(self.check(&folders, *place));
                if number.is_multiple_of(50) {
                    progress(&format!("resumed after {number} of {} records", places.len()));
                }
            }
        };
        on_all_processors(&work);
        assert!(places.len() <= next.load(Ordering::Relaxed));
        progress(&format!(
            "resumed after {} records: the same end, no effect twice, settled + reserved within the cap",
            places.len()
        ));
    }

    /// Cut inside of a record, wherever that is, a journal is opened as the one that ends before it, byte for byte: what goes
    /// on from there is what goes on from the end of a record, which is looked at by [`Whole::check_at`]. Looked at are every
    /// `step` bytes.
    fn check_openings(&self, step: usize) {
        let cuts = AtomicUsize::new(0);
        for thread in &self.threads {
            let (next, bytes) = (AtomicUsize::new(0), self.home.store.journal(thread).unwrap());
            on_all_processors(&|| {
                loop {
                    let cut = next.fetch_add(step, Ordering::Relaxed);
                    if bytes.len() < cut {
                        break;
                    }
                    self.check_opening(thread, &bytes, cut);
                    if cuts.fetch_add(1, Ordering::Relaxed).is_multiple_of(5_000) {
                        progress(&format!("{thread} opened at byte {cut} of {}", bytes.len()));
                    }
                }
            });
        }
        let (threads, cuts) = (self.threads.len(), cuts.into_inner());
        progress(&format!(
            "{threads} transcripts opened at {cuts} bytes, each as the record before ended"
        ));
    }

    #[track_caller]
    fn check_opening(&self, thread: &ThreadId, bytes: &[u8], cut: usize) {
        let kept = counted(&bytes[..cut]);
        let (opened, torn) = self.home.opened(thread, &bytes[..cut]);
        assert_eq!(opened, &bytes[..kept], "{thread} cut at {cut}");
        assert_eq!(torn, (kept < cut).then_some(kept..cut), "{thread} cut at {cut}");
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

/// Twenty turns and six children.
#[test]
fn cut_anywhere_a_tree_ends_the_same() {
    let whole = whole(many_turns(), 6);
    assert!(whole.outcome.contains(" 20 "), "{}", whole.outcome);
    whole.check_openings(stride(97));
    whole.check_at(&sweep(whole.home.ends(), 0, 16));
}

/// Few turns and two children, opened at every byte in a whole sweep, and else at every sixteenth one.
#[test]
fn cut_anywhere_a_small_tree_ends_the_same() {
    let whole = whole(few_turns(), 2);
    whole.check_openings(if is_whole() { 1 } else { 16 });
    whole.check_at(&sweep(whole.home.ends(), 0, 2));
}

/// Children that are done as soon as they are started, and cost nothing.
#[derive(Default)]
struct Quick(Mutex<Vec<ThreadId>>);

#[async_trait]
impl Children for Quick {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (id, limits) = (child(request.number), request.left.clone());
        Ok(Spawn::new(&request.call_id, id, "test/child", Waiting::ForTheEnd, limits))
    }

    async fn run(&self, spawn: &Spawn, _: &Value) -> Spawned {
        self.0.lock().unwrap().push(spawn.child.clone());
        Spawned::Returned(ToolOutput::ok(json!(spawn.child.as_str())))
    }

    async fn adopt(&self, spawns: &[RecordedSpawn]) -> Result<(), String> {
        self.0.lock().unwrap().extend(spawns.iter().map(|it| it.spawn.child.clone()));
        Ok(())
    }

    fn ends(&self) -> Vec<ChildEnd> {
        let end = |child: &ThreadId| {
            let end = rye_thread::TranscriptClaim::new(7, "00ff".to_owned(), false);
            ChildEnd::new(child.clone(), ThreadState::Completed, Nanos::ZERO, end)
        };
        self.0.lock().unwrap().iter().map(end).collect()
    }

    async fn end(&self, _: Ending) -> Ended {
        Ended::All
    }
}

pub(crate) fn spawning() -> PaletteEntry {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
    let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
    PaletteEntry::spawning("a/spawn", spec, capability, Arc::new(Quick::default()))
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
        thread.info.prices = Some(rye_types::Prices::free());
        let full = HookEvent::ContextLimitReached;
        thread.hooks = hooks(vec![deciding("on", full, HookEffect::Continue)]);
        let driven = thread.drive().await;
        driven.check_consistent();
        assert_eq!(driven.outcome.state, ThreadState::Continued, "{:?}", driven.outcome.failure);
        let limits = handed_over(&driven.transcript()).unwrap().limits;
        assert_eq!((limits.spawns, limits.depth), (left, 5), "after {count}");
    }
}

/// Limits that leave the parent nearly all of its money.
pub(crate) fn a_little_of(left: &LimitSet) -> LimitSet {
    let mut limits = left.clone();
    limits.spend = SpendLimit::AtMost(Nanos::new(1_000));
    limits
}

/// A child that takes so many seconds, of which somebody thinks about a call of it for some.
struct Asked {
    clock: Arc<FakeClock>,
    took: u64,
    thought: u64,
}

#[async_trait]
impl Children for Asked {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (waiting, limits) = (Waiting::ForTheEnd, a_little_of(&request.left));
        Ok(Spawn::new(&request.call_id, child(0), "d", waiting, limits))
    }
    async fn run(&self, _: &Spawn, _: &Value) -> Spawned {
        for _ in 0..self.took {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.clock.advance(1);
        }
        Spawned::Returned(ToolOutput::ok(json!("done")))
    }
    async fn adopt(&self, _: &[RecordedSpawn]) -> Result<(), String> {
        Ok(())
    }
    async fn end(&self, _: Ending) -> Ended {
        Ended::All
    }
    /// The question comes first.
    fn approval_wait(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_secs(5_000)).min(Duration::from_secs(self.thought))
    }
}

/// What somebody thinks about a call of a child is none of its parent's time, and what the child takes beside that is.
#[tokio::test(start_paused = true)]
async fn what_people_think_is_none_of_the_time_of_who_waits() {
    let rows = [(500, 0, true), (700, 0, false), (5_000, 4_900, true), (5_000, 4_000, false)];
    for (took, thought, is_in_time) in rows {
        let mut thread = Thread::new(vec![calls(vec![call("s", "a_spawn", json!({}))])]);
        thread.script.push(says("Done."));
        let children = Arc::new(Asked { clock: Arc::clone(&thread.clock), took, thought });
        let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
        let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
        let driven = thread
            .with(PaletteEntry::spawning("a/spawn", spec, capability, children))
            .drive()
            .await;
        let failure = driven.outcome.failure.as_ref().map(|failure| failure.kind.clone());
        let is_limit = matches!(failure, Some(FailureKind::Limit(_)));
        assert_eq!((failure.is_none(), is_limit), (is_in_time, !is_in_time), "{took}: {failure:?}");
    }
}
