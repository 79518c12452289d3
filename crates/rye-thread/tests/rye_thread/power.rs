//! Threads that go on after the machine lost its power.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::transcript::{Reading, Record};
use rye_thread::{Cancel, ThreadId, TreeAccount};
use rye_types::Nanos;
use serde_json::Value;

use crate::doubles::thread_id;
use crate::world::{EVERY, World, outcome, progress, visible};

#[derive(Default)]
struct Log {
    /// How many bytes of the journal no loss of power can undo.
    synced: usize,
    left: usize,
}

/// A store that remembers what was waited for, and whose power goes after so many uses.
struct Unsteady {
    store: MemoryStore,
    log: Mutex<Log>,
}

impl Unsteady {
    fn new(left: usize) -> Self {
        Self { store: MemoryStore::new(), log: Mutex::new(Log { left, synced: 0 }) }
    }

    fn journaled<T>(
        &self,
        act: impl FnOnce(&MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut log = self.log.lock().unwrap();
        let lives = 0 < log.left;
        log.left = log.left.saturating_sub(1);
        drop(log);
        match lives {
            true => act(&self.store),
            false => Err(StoreError::Database { source: "the power is gone".into() }),
        }
    }

    /// What is found when the power is back: of what was not waited for the last bytes of the journal are gone.
    fn found(&self, lost: usize) -> MemoryStore {
        let store = MemoryStore::new();
        let bytes = self.store.journal(&thread_id()).unwrap();
        let length = bytes.len().saturating_sub(lost).max(self.log.lock().unwrap().synced);
        let ownership = store.acquire(&thread_id(), &thread_id()).unwrap();
        store.append(&ownership, &bytes[..length]).unwrap();
        store.release(&ownership);
        store
    }
}

impl Store for Unsteady {
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.store.account(ownership)
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.journaled(|store| store.acquire(thread, root))
    }
    fn release(&self, ownership: &Ownership) {
        // The system gives back what a process owned that died.
        self.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        self.journaled(|store| store.append(ownership, lines))
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.journaled(|store| store.sync(ownership))?;
        let length = self.store.journal(ownership.thread())?.len();
        self.log.lock().unwrap().synced = length;
        Ok(())
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.journaled(|store| store.cut(ownership, length))
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.journaled(|store| store.journal(thread))
    }
}

/// The power goes at every use of the store in turn, and takes along more or less of what was not waited for. The thread
/// goes on to the same end, no request was sent that is not on record, and the account says what the transcript says: each answer at
/// its price, and each request without one at its worst.
#[tokio::test]
async fn whatever_the_power_takes_along_the_account_is_right() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let mut uses = 0;
    loop {
        let mut before = World::new();
        before.key = Arc::clone(&whole.key);
        let unsteady = Arc::new(Unsteady::new(uses));
        let died = before.begin(Arc::clone(&unsteady) as _, &Cancel::new()).await;
        if died.is_some_and(|outcome| outcome.failure.is_none()) {
            break;
        }
        for lost in [0, 90, usize::MAX] {
            let mut world = World::new();
            world.key = Arc::clone(&whole.key);
            world.store = Arc::new(unsteady.found(lost));
            let found = world.resume("Begin.").await;
            let found = found.unwrap_or_else(|error| panic!("{uses} {lost}: {error}"));
            assert_eq!(outcome(&found), outcome(&expected), "{uses} {lost}");
            let reading = world.reading();
            assert_eq!(visible(&reading), visible(&whole.reading()), "{uses} {lost}");
            let (account, (sent, due)) = (world.account(), due(&reading));
            assert_eq!(
                (account.cost, account.reserved, account.is_overrun),
                (due, Nanos::ZERO, false),
                "{uses} {lost}"
            );
            let asked = |world: &World| world.model.asked.load(Ordering::Relaxed);
            assert!(asked(&before) + asked(&world) <= sent, "{uses} {lost}");
        }
        uses += if EVERY { 1 } else { 13 };
        if EVERY && uses.is_multiple_of(25) {
            progress(&format!("the power went at {uses} uses of the store, three losses each"));
        }
    }
    assert!(40 < uses, "{uses}");
    progress(&format!(
        "the power went at {uses} uses of the store: all went on, every account right"
    ));
}

/// How many requests may have been sent, and what they cost at the most, by the transcript.
pub(crate) fn due(reading: &Reading) -> (u64, Nanos) {
    let steps = |record: &&Record| ["step_start", "step_finish"].contains(&record.name());
    let steps: Vec<&Record> = reading.records.iter().filter(steps).collect();
    let (mut sent, mut due) = (0, 0);
    for (index, step) in steps.iter().enumerate() {
        let payload: Value = serde_json::from_str(step.payload.get()).unwrap();
        if step.name() == "step_finish" {
            due += payload["cost_nanos"].as_u64().unwrap();
            continue;
        }
        sent += 1;
        if steps.get(index + 1).is_none_or(|next| next.name() == "step_start") {
            due += payload["reserved_nanos"].as_u64().unwrap();
        }
    }
    (sent, Nanos::new(due))
}
