//! The waits for the disk of a whole conversation.

use std::path::Path;
use std::sync::{Condvar, Mutex};

use rye_caps::{Capability, Grant, Kind, Layer, LayerName, Primary};
use rye_types::Effect;
use serde_json::json;

use super::*;
use crate::database::Database;
use crate::durability::counted;
use crate::store::{LocalStore, MemoryStore, Ownership, Store, StoreError};
use crate::{AuthorisedCall, PaletteEntry, Tool, ToolCall, ToolOutput, ToolSpec, TreeAccount};

const CALLS: u64 = 20;

/// Calls the tool that often, and then says one word.
#[derive(Default)]
struct Caller(Word);

#[async_trait]
impl Provider for Caller {
    fn describe(&self) -> ProviderInfo {
        self.0.describe()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        let mut reply = self.0.complete(request).await?;
        let asked = self.0.0.load(Ordering::Relaxed);
        if asked <= CALLS {
            reply.stop = StopReason::ToolUse;
            reply.calls = vec![ToolCall::new(&asked.to_string(), "a_look", json!({}))];
        }
        Ok(reply)
    }
}

struct Look;

#[async_trait]
impl Tool for Look {
    async fn call(&self, _: AuthorisedCall) -> ToolOutput {
        ToolOutput::ok(json!("seen"))
    }
}

fn palette(effect: Effect) -> Palette {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/look").unwrap();
    let spec = ToolSpec::new("a_look", "Looks.", json!({"type": "object"}));
    let look = PaletteEntry::new("a/look", spec, capability, effect, Arc::new(Look));
    Palette::new(vec![look]).unwrap()
}

/// Drives a conversation of 20 calls on disk and returns the number of its waits.
async fn waits(effect: Effect) -> usize {
    let place = tempfile::tempdir().unwrap();
    let store = Arc::new(LocalStore::open(&place.path().join("threads")).unwrap());
    let outcome = converse(place.path(), store, 1, effect).await;
    assert_eq!((outcome.failure, outcome.turns), (None, CALLS + 1));
    counted::below(place.path())
}

/// Drives a conversation of 20 calls. `number` is the number of its thread.
async fn converse(place: &Path, store: Arc<dyn Store>, number: u8, effect: Effect) -> Outcome {
    let registry = Arc::new(Registry::open(&place.join("index.db")).unwrap());
    let thread = ThreadId::new("d", &format!("019a0000-0000-7000-8000-00000000000{number}"));
    let record = ThreadRecord::new(&thread.unwrap(), "d", &LimitSet::default(), Still.now());
    let key = Arc::new(SigningKey::generate().unwrap());
    let threads = place.join("threads");
    let mut journal = Journal::create(&threads, record, key, registry, store).unwrap();
    let palette = palette(effect);
    let opening = Opening { system: None, first_user_message: "Look.".to_owned() };
    let contract = OutputContract::default();
    let limits = LimitSet { turns: CALLS + 1, ..LimitSet::default() };
    let run = Run::new(opening, palette.specs(&contract), contract, limits, 100);
    let operator = Layer::new(LayerName::Operator, Grant::everything());
    let context = DriveContext {
        provider: &Caller::default(),
        palette: &palette,
        authority: &Authority::new(operator),
        journal: &mut journal,
        clock: &Still,
        observer: &(),
        approver: &(),
        cancel: &Cancel::new(),
        injected: &[],
        hooks: &crate::Hooks::none(),
    };
    drive(run, context).await
}

/// One wait for each request, one for the end, and two for the names of the transcript and of its folder.
#[tokio::test]
async fn rule_18_a_turn_waits_for_the_disk_once() {
    assert_eq!(waits(Effect::ReadOnly).await, usize::try_from((CALLS + 1) + 1 + 2).unwrap());
}

/// An intent is on disk before its effect, too.
#[tokio::test]
async fn rule_18_a_call_that_changes_something_waits_once_more() {
    assert_eq!(waits(Effect::Once).await, usize::try_from((CALLS + 1) + CALLS + 1 + 2).unwrap());
}

/// The index is derived, so SQLite does not wait for it. No count of this crate holds its waits.
#[test]
fn rule_18_the_index_never_waits_for_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let database = Database::open(&place.path().join("registry.db")).unwrap();
    let synchronous =
        database.read().query_row("PRAGMA synchronous", [], |row| row.get::<_, u8>(0));
    assert_eq!(synchronous, Ok(0), "0 is `off`");
}

/// A disk that is ready once a second thread waits for it.
#[derive(Default)]
struct SharedDisk {
    store: MemoryStore,
    waits: Mutex<u64>,
    changed: Condvar,
}

impl Store for SharedDisk {
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.store.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        self.store.release(ownership);
    }
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.store.account(ownership)
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        self.store.append(ownership, lines)
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        let mut waits = self.waits.lock().unwrap();
        *waits += 1;
        self.changed.notify_all();
        let longest = Duration::from_secs(10);
        let waited = self.changed.wait_timeout_while(waits, longest, |waits| *waits < 2).unwrap();
        match waited.1.timed_out() {
            true => Err(StoreError::NotOwned { thread: ownership.thread().clone() }),
            false => self.store.sync(ownership),
        }
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.store.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store.journal(thread)
    }
}

/// One task drives a parent and its children.
#[tokio::test]
async fn rule_19_waits_for_the_disk_overlap() {
    let _parent = Driven::new();
    let place = tempfile::tempdir().unwrap();
    let disk: Arc<SharedDisk> = Arc::default();
    let converse = |number| converse(place.path(), Arc::clone(&disk) as _, number, Effect::Once);
    let (one, other) = tokio::join!(converse(1), converse(2));
    assert_eq!((one.failure, other.failure), (None, None));
}

/// A program that serves others drives its thread in a task, which another task interrupts.
#[tokio::test]
async fn rule_19_a_thread_in_a_task_blocks_no_other_task() {
    let place = tempfile::tempdir().unwrap();
    let disk: Arc<SharedDisk> = Arc::default();
    let store = Arc::clone(&disk);
    let path = place.path().to_owned();
    let driven = tokio::spawn(async move { converse(&path, store, 1, Effect::Once).await });
    let ready = tokio::spawn(async move {
        *disk.waits.lock().unwrap() += 1;
        disk.changed.notify_all();
    });
    ready.await.unwrap();
    assert_eq!(driven.await.unwrap().failure, None);
}
