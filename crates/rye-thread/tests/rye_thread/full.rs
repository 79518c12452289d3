//! Threads whose disk is full for a while, or refuses once, and which go on when it has room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rye_thread::budget::{Balance, Ledger, LedgerError, Reservation, Spending};
use rye_thread::store::{Claim, Lease, MemoryStore, Store, StoreError};
use rye_thread::{
    Cancel, Clock as _, FailureKind, Nanos, SpendLimit, ThreadId, ThreadRecord, ThreadState,
};

use crate::doubles::thread_id;
use crate::power::due;
use crate::world::{EVERY, World, outcome, visible};

/// What there is no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Lines of the journal, of which half is written.
    Append,
    /// Their way to the disk.
    Sync,
    /// The accounts.
    Ledger,
    /// All of them.
    Every,
}

/// A store that is full from some use on, for so many uses.
struct Full {
    store: Arc<MemoryStore>,
    kind: Kind,
    from: usize,
    lasts: usize,
    used: AtomicUsize,
}

impl Full {
    fn is_full(&self, kind: Kind) -> bool {
        if self.kind != Kind::Every && self.kind != kind {
            return false;
        }
        let used = self.used.fetch_add(1, Ordering::Relaxed);
        (self.from..self.from.saturating_add(self.lasts)).contains(&used)
    }

    fn paid<T>(
        &self,
        act: impl FnOnce(&MemoryStore) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        match self.is_full(Kind::Ledger) {
            true => Err(LedgerError::Store { source: full().into() }),
            false => act(&self.store),
        }
    }
}

fn full() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

impl Store for Full {
    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        self.store.acquire(thread, claim)
    }
    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.store.release(lease)
    }
    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        if !lines.is_empty() && self.is_full(Kind::Append) {
            self.store.append(lease, &lines[..lines.len() / 2])?;
            return Err(StoreError::File { path: "transcript.jsonl".into(), source: full() });
        }
        self.store.append(lease, lines)
    }
    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        match self.is_full(Kind::Sync) {
            true => Err(StoreError::File { path: "transcript.jsonl".into(), source: full() }),
            false => self.store.sync(lease),
        }
    }
    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        self.store.cut(lease, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store.journal(thread)
    }
}

impl Ledger for Full {
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        self.paid(|store| store.open(thread, cap))
    }
    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        self.paid(|store| store.reserve(thread, amount))
    }
    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        self.paid(|store| store.settle(reservation, actual))
    }
    fn draw(
        &self,
        reservation: Reservation,
        actual: Nanos,
    ) -> Result<Option<Reservation>, LedgerError> {
        self.paid(|store| store.draw(reservation, actual))
    }
    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        self.paid(|store| store.unsettled(thread))
    }
    fn open_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
    ) -> Result<Balance, LedgerError> {
        self.paid(|store| store.open_child(parent, child, cap))
    }
    fn close_child(&self, child: &ThreadId) -> Result<Balance, LedgerError> {
        self.paid(|store| store.close_child(child))
    }
    fn recall(&self, thread: &ThreadId, spending: Spending) -> Result<Balance, LedgerError> {
        self.paid(|store| store.recall(thread, spending))
    }
    fn recall_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), LedgerError> {
        self.paid(|store| store.recall_child(parent, child, cap, cost))
    }
}

/// What is found on disk once the thread has stopped: no end, and nothing that keeps anybody away.
fn left(world: &World, told: &str) {
    let folder = world.place.path().join(thread_id().as_str());
    let record = ThreadRecord::read(&folder, &[world.key.public()]).unwrap();
    let is_open = matches!(record.state, ThreadState::Created | ThreadState::Running);
    assert!(is_open && record.failure.is_none(), "{told}: {record:?}");
    let store: Arc<dyn Store> = Arc::clone(&world.store) as _;
    let lease = store.acquire(&thread_id(), &Claim::new("x", world.clock.now(), world.clock.now()));
    store.release(&lease.unwrap_or_else(|error| panic!("{told}: {error}"))).unwrap();
    let balance = world.store.open(&thread_id(), world.limits.spend).unwrap();
    let SpendLimit::AtMost(cap) = world.limits.spend else { unreachable!() };
    assert!(balance.cost().saturating_add(balance.reserved) <= cap, "{told}: {balance:?}");
}

/// Whatever there is no room for, and for however long: the thread stops, says why, and goes on to the same end.
#[tokio::test]
async fn a_full_disk_ends_no_thread() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    for kind in [Kind::Append, Kind::Sync, Kind::Ledger, Kind::Every] {
        for lasts in [1, 2, usize::MAX] {
            let (mut from, mut stopped) = (0, 0);
            loop {
                let told = format!("{kind:?}, {lasts} from {from}");
                let mut world = World::new();
                world.key = Arc::clone(&whole.key);
                let store = Arc::clone(&world.store);
                let full = Arc::new(Full { store, kind, from, lasts, used: AtomicUsize::new(0) });
                let found = world.begin(Arc::clone(&full) as _, &Cancel::new()).await.unwrap();
                if full.used.load(Ordering::Relaxed) <= from {
                    break;
                }
                let Some(failure) = &found.failure else {
                    // A look at the account that was not needed.
                    assert_eq!(outcome(&found), outcome(&expected), "{told}");
                    from += 1;
                    continue;
                };
                stopped += 1;
                assert_eq!(
                    (found.state, &failure.kind, found.outputs.is_none()),
                    (ThreadState::Running, &FailureKind::Storage, true),
                    "{told}: {failure}"
                );
                assert!(failure.message.ends_with("; make room on that disk"), "{told}: {failure}");
                left(&world, &told);
                check_resumed(&world, &whole, &told, &outcome(&expected)).await;
                from += if EVERY || kind == Kind::Ledger { 1 } else { 7 };
            }
            assert!(3 < stopped, "{kind:?} {lasts}: {stopped}");
        }
    }
}

async fn check_resumed(world: &World, whole: &World, told: &str, expected: &str) {
    let found = match world.resume("Begin.").await {
        Ok(found) => found,
        Err(error) => panic!("{told}: {error}"),
    };
    assert_eq!(outcome(&found), expected, "{told}");
    assert_eq!(visible(&world.reading()), visible(&whole.reading()), "{told}");
    assert_eq!(found.warnings, Vec::<String>::new(), "{told}");
    let balance = world.store.open(&thread_id(), world.limits.spend).unwrap();
    // A lost answer has cost what its account says, or at most its worst case.
    let (asked, (_, due)) = (world.model.asked.load(Ordering::Relaxed), due(&world.reading()));
    assert!(
        Nanos::new(asked * 110_000) <= balance.settled && balance.settled <= due,
        "{told}: {balance:?}"
    );
    assert_eq!((balance.reserved, balance.overrun), (Nanos::ZERO, Nanos::ZERO), "{told}");
}
