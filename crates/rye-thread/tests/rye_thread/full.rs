//! Threads whose disk is full for a while, or refuses once, and which go on when it has room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rye_thread::budget::{Ledger, LedgerError};
use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::{Cancel, FailureKind, Nanos, SpendLimit, ThreadId, ThreadRecord, ThreadState};

use crate::doubles::thread_id;
use crate::power::due;
use crate::tapped::{Tap, Tapped, Use};
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
}

fn full() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

impl Tap for Full {
    fn through<T>(
        &self,
        _: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        match self.is_full(Kind::Ledger) {
            true => Err(LedgerError::Store { source: full().into() }),
            false => act(self.store.ledger()),
        }
    }
}

impl Store for Tapped<Full> {
    fn ledger(&self) -> &dyn Ledger {
        self
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.0.store.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        self.0.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.0.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        if !lines.is_empty() && self.0.is_full(Kind::Append) {
            self.0.store.append(ownership, &lines[..lines.len() / 2])?;
            return Err(StoreError::File { path: "transcript.jsonl".into(), source: full() });
        }
        self.0.store.append(ownership, lines)
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        match self.0.is_full(Kind::Sync) {
            true => Err(StoreError::File { path: "transcript.jsonl".into(), source: full() }),
            false => self.0.store.sync(ownership),
        }
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.0.store.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.0.store.journal(thread)
    }
}

/// What is found on disk once the thread has stopped: no end, and nothing that keeps anybody away.
fn left(world: &World, told: &str) {
    let folder = world.place.path().join(thread_id().as_str());
    let record = ThreadRecord::read(&folder, &[world.key.public()]).unwrap();
    let is_open = matches!(record.state, ThreadState::Created | ThreadState::Running);
    assert!(is_open && record.failure.is_none(), "{told}: {record:?}");
    let store: Arc<dyn Store> = Arc::clone(&world.store) as _;
    let ownership = store.acquire(&thread_id(), &thread_id());
    store.release(&ownership.unwrap_or_else(|error| panic!("{told}: {error}")));
    let balance = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
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
                let full =
                    Arc::new(Tapped(Full { store, kind, from, lasts, used: AtomicUsize::new(0) }));
                let found = world.begin(Arc::clone(&full) as _, &Cancel::new()).await.unwrap();
                if full.0.used.load(Ordering::Relaxed) <= from {
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
    // A request that was cut off is told, and nothing else.
    let is_of_kill = |it: &String| it.starts_with("the program was stopped while turn ");
    assert!(found.warnings.iter().all(is_of_kill), "{told}: {:?}", found.warnings);
    let balance = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
    // A lost answer has cost what its account says, or at most its worst case.
    let (asked, (_, due)) = (world.model.asked.load(Ordering::Relaxed), due(&world.reading()));
    assert!(
        Nanos::new(asked * 110_000) <= balance.settled && balance.settled <= due,
        "{told}: {balance:?}"
    );
    assert_eq!((balance.reserved, balance.overrun), (Nanos::ZERO, Nanos::ZERO), "{told}");
}
