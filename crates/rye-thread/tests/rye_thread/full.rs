//! Threads whose disk is full for a while, or refuses once, and which go on when it has room.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::{Cancel, FailureKind, ThreadId, ThreadRecord, TreeAccount};
use rye_types::{Nanos, SpendLimit, ThreadState};

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

impl Store for Full {
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.store.account(ownership)
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.store.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        self.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        if !lines.is_empty() && self.is_full(Kind::Append) {
            self.store.append(ownership, &lines[..lines.len() / 2])?;
            return Err(StoreError::File { path: "transcript.jsonl".into(), source: full() });
        }
        self.store.append(ownership, lines)
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        match self.is_full(Kind::Sync) {
            true => Err(StoreError::File { path: "transcript.jsonl".into(), source: full() }),
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

/// What is found on disk once the thread has stopped: no end, and nothing that keeps anybody away.
fn left(world: &World, told: &str) {
    let folder = world.place.path().join(thread_id().as_str());
    let record = ThreadRecord::read(&folder, &[world.key.public()]).unwrap();
    let is_open = matches!(record.state, ThreadState::Created | ThreadState::Running);
    assert!(is_open && record.failure.is_none(), "{told}: {record:?}");
    let store: Arc<dyn Store> = Arc::clone(&world.store) as _;
    let ownership = store.acquire(&thread_id(), &thread_id());
    store.release(&ownership.unwrap_or_else(|error| panic!("{told}: {error}")));
    let account = world.account();
    let SpendLimit::AtMost(cap) = world.limits.spend else { unreachable!() };
    assert!(account.cost.saturating_add(account.held) <= cap, "{told}: {account:?}");
}

/// Whatever there is no room for, and for however long: the thread stops, says why, and goes on to the same end.
#[tokio::test]
async fn a_full_disk_ends_no_thread() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    for kind in [Kind::Append, Kind::Sync, Kind::Every] {
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
                let failure = found.failure.as_ref().unwrap_or_else(|| panic!("{told}"));
                stopped += 1;
                assert_eq!(
                    (found.state, &failure.kind, found.outputs.is_none()),
                    (ThreadState::Running, &FailureKind::Storage, true),
                    "{told}: {failure}"
                );
                assert!(failure.message.ends_with("; make room on that disk"), "{told}: {failure}");
                left(&world, &told);
                check_resumed(&world, &whole, &told, &outcome(&expected)).await;
                from += if EVERY { 1 } else { 7 };
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
    let account = world.account();
    // A lost answer has cost what its account says, or at most its worst case.
    let (asked, (_, due)) = (world.model.asked.load(Ordering::Relaxed), due(&world.reading()));
    assert!(
        Nanos::new(asked * 110_000) <= account.cost && account.cost <= due,
        "{told}: {account:?}"
    );
    assert_eq!((account.reserved, account.is_overrun), (Nanos::ZERO, false), "{told}");
}
