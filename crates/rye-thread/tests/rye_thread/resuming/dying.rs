//! Threads whose store was gone at some use of it.

use super::*;

/// A store that is gone after so many uses, as everything is when the power goes.
struct Dying {
    store: Arc<MemoryStore>,
    left: AtomicU64,
    /// How often it was used since.
    missed: AtomicU64,
}

impl Dying {
    fn lives(&self) -> bool {
        let lives = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok();
        if !lives {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        lives
    }

    fn store(&self) -> Result<&MemoryStore, StoreError> {
        let gone = || StoreError::Database { source: "the power is gone".into() };
        self.lives().then_some(&*self.store).ok_or_else(gone)
    }
}

impl Store for Dying {
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.store.account(ownership)
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.store()?.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        // The system gives back what a process owned that died.
        self.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        match self.store() {
            Ok(store) => store.append(ownership, lines),
            Err(error) => {
                // What is written while the power goes is written by half, and nothing after it.
                if self.missed.load(Ordering::Relaxed) == 1 {
                    drop(self.store.append(ownership, &lines[..lines.len() / 2]));
                }
                Err(error)
            }
        }
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store()?.sync(ownership)
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.store()?.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store()?.journal(thread)
    }
}

/// The power goes at every use of the store in turn, money included: every request that was answered is paid at its
/// price, and one that was not at most once more at its worst.
#[tokio::test]
async fn whenever_the_power_goes_it_ends_the_same() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let mut uses = 0;
    loop {
        let mut world = World::new();
        world.key = Arc::clone(&whole.key);
        let left = AtomicU64::new(uses);
        let (store, missed) = (Arc::clone(&world.store), AtomicU64::new(0));
        let dying = Arc::new(Dying { store, left, missed });
        let died = world.begin(Arc::clone(&dying) as _, &Cancel::new()).await;
        if died.is_some_and(|outcome| outcome.failure.is_none()) {
            break;
        }
        drop(dying);
        let before = world.account();
        let found =
            world.resume("Begin.").await.unwrap_or_else(|error| panic!("after {uses}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "after {uses}");
        let reading = world.reading();
        assert_eq!(visible(&reading), visible(&whole.reading()), "after {uses}");
        let account = world.account();
        assert_eq!((account.reserved, account.is_overrun), (Nanos::ZERO, false), "after {uses}");
        assert!(before.cost <= account.cost, "after {uses}: nothing settled is lost");
        let more = account.cost.get() - expected.cost.get();
        assert!(
            more == 0 || more <= before.reserved.get(),
            "after {uses}: {more} more than needed"
        );
        uses += if EVERY { 1 } else { 17 };
    }
    assert!(60 < uses, "{uses}");
    progress(&format!(
        "the store was gone after each of {uses} uses: all went on, nothing settled is lost"
    ));
}
