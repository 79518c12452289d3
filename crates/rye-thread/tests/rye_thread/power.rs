//! Threads that go on after the machine lost its power.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rye_thread::budget::{Ledger, LedgerError, Reservation};
use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::transcript::{Reading, Record};
use rye_thread::{Cancel, Nanos, ThreadId};
use serde_json::Value;

use crate::doubles::thread_id;
use crate::tapped::{Tap, Tapped, Use};
use crate::world::{EVERY, World, outcome, progress, visible};

#[derive(Default)]
struct Log {
    /// What was done to the money.
    done: Vec<Use>,
    /// How many of them no loss of power can undo.
    durable: usize,
    /// How many bytes of the journal likewise.
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
        let log = Mutex::new(Log { left, ..Log::default() });
        Self { store: MemoryStore::new(), log }
    }

    fn lives(&self) -> bool {
        let mut log = self.log.lock().unwrap();
        let lives = 0 < log.left;
        log.left = log.left.saturating_sub(1);
        lives
    }

    fn journaled<T>(
        &self,
        act: impl FnOnce(&MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.lives() {
            true => act(&self.store),
            false => Err(StoreError::Database { source: "the power is gone".into() }),
        }
    }

    /// What is found when the power is back: of what was not waited for the last changes to the money and the last bytes of
    /// the journal are gone.
    fn found(&self, undone: usize, lost: usize) -> MemoryStore {
        let log = self.log.lock().unwrap();
        let (store, mut open) = (MemoryStore::new(), BTreeMap::new());
        let kept = log.done.len().saturating_sub(undone).max(log.durable);
        for used in &log.done[..kept] {
            redo(store.ledger(), *used, &mut open);
        }
        let bytes = self.store.journal(&thread_id()).unwrap();
        let length = bytes.len().saturating_sub(lost).max(log.synced);
        let ownership = store.acquire(&thread_id(), &thread_id()).unwrap();
        store.append(&ownership, &bytes[..length]).unwrap();
        store.release(&ownership);
        store
    }
}

fn redo(ledger: &dyn Ledger, used: Use, open: &mut BTreeMap<u64, Reservation>) {
    let left = match used {
        Use::Open { cap } => return drop(ledger.open(&thread_id(), cap)),
        Use::Reserve { amount } => Some(ledger.reserve(&thread_id(), amount).unwrap()),
        Use::Draw { number, actual } => ledger.draw(open.remove(&number).unwrap(), actual).unwrap(),
        Use::Settle { number, actual } => {
            ledger.settle(open.remove(&number).unwrap(), actual).unwrap();
            None
        }
        other => unreachable!("{other:?} is nothing that a thread without children begins with"),
    };
    open.extend(left.map(|left| (left.number(), left)));
}

impl Tap for Unsteady {
    fn through<T>(
        &self,
        used: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if !self.lives() {
            return Err(LedgerError::Store { source: "the power is gone".into() });
        }
        let value = act(self.store.ledger())?;
        let mut log = self.log.lock().unwrap();
        log.done.push(used);
        if matches!(used, Use::Reserve { .. }) {
            log.durable = log.done.len();
        }
        Ok(value)
    }
}

impl Store for Tapped<Unsteady> {
    fn ledger(&self) -> &dyn Ledger {
        self
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.0.journaled(|store| store.acquire(thread, root))
    }
    fn release(&self, ownership: &Ownership) {
        // The system gives back what a process owned that died.
        self.0.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.0.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        self.0.journaled(|store| store.append(ownership, lines))
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.0.journaled(|store| store.sync(ownership))?;
        let length = self.0.store.journal(ownership.thread())?.len();
        self.0.log.lock().unwrap().synced = length;
        Ok(())
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.0.journaled(|store| store.cut(ownership, length))
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.0.journaled(|store| store.journal(thread))
    }
}

/// The power goes at every use of the store in turn, and takes along more or less of what was not waited for. The thread
/// goes on to the same end, and the account says what the transcript says: each answer at its price, and each request
/// without one at its worst.
#[tokio::test]
async fn whatever_the_power_takes_along_the_account_is_right() {
    check(World::new).await;
}

/// As above, with answers so slow that each is settled by itself.
#[tokio::test]
async fn whatever_the_power_takes_along_of_slow_answers_the_account_is_right() {
    check(|| {
        let mut world = World::new();
        world.model.slow = Some(Arc::clone(&world.clock));
        world
    })
    .await;
}

async fn check(world: impl Fn() -> World) {
    let whole = world();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let mut uses = 0;
    loop {
        let mut before = world();
        before.key = Arc::clone(&whole.key);
        let unsteady = Arc::new(Tapped(Unsteady::new(uses)));
        let died = before.begin(Arc::clone(&unsteady) as _, &Cancel::new()).await;
        if died.is_some_and(|outcome| outcome.failure.is_none()) {
            break;
        }
        for (undone, lost) in [(0, 0), (1, 0), (0, 90), (2, usize::MAX), (usize::MAX, 0)] {
            let mut world = world();
            world.key = Arc::clone(&whole.key);
            world.store = Arc::new(unsteady.0.found(undone, lost));
            let found = world.resume("Begin.").await;
            let found = found.unwrap_or_else(|error| panic!("{uses} {undone} {lost}: {error}"));
            assert_eq!(outcome(&found), outcome(&expected), "{uses} {undone} {lost}");
            let reading = world.reading();
            assert_eq!(visible(&reading), visible(&whole.reading()), "{uses} {undone} {lost}");
            let balance = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
            let (sent, due) = due(&reading);
            assert_eq!(
                (balance.settled, balance.reserved, balance.overrun),
                (due, Nanos::ZERO, Nanos::ZERO),
                "{uses} {undone} {lost}"
            );
            let asked =
                |world: &World| world.model.asked.load(std::sync::atomic::Ordering::Relaxed);
            assert!(asked(&before) + asked(&world) <= sent, "{uses} {undone} {lost}");
        }
        uses += if EVERY { 1 } else { 13 };
        if EVERY && uses.is_multiple_of(25) {
            progress(&format!("the power went at {uses} uses of the store, five losses each"));
        }
    }
    assert!(60 < uses, "{uses}");
    progress(&format!(
        "the power went at {uses} uses of the store: all went on, every account right"
    ));
}

/// How many requests may have been sent, and what they cost at the most, by the transcript.
pub(crate) fn due(reading: &Reading) -> (u64, Nanos) {
    let steps = |record: &&Record| ["step_start", "step_finish"].contains(&record.event.as_str());
    let steps: Vec<&Record> = reading.records.iter().filter(steps).collect();
    let (mut sent, mut due) = (0, 0);
    for (index, step) in steps.iter().enumerate() {
        let payload: Value = serde_json::from_str(step.payload.get()).unwrap();
        if step.event == "step_finish" {
            due += payload["cost_nanos"].as_u64().unwrap();
            continue;
        }
        sent += 1;
        if steps.get(index + 1).is_none_or(|next| next.event == "step_start") {
            due += payload["reserved_nanos"].as_u64().unwrap();
        }
    }
    (sent, Nanos::new(due))
}
