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

impl Tap for Dying {
    fn through<T>(
        &self,
        _: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        match self.lives() {
            true => act(self.store.ledger()),
            false => Err(LedgerError::Store { source: "the power is gone".into() }),
        }
    }
}

impl Store for Tapped<Dying> {
    fn ledger(&self) -> &dyn Ledger {
        self
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.0.store()?.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        // The system gives back what a process owned that died.
        self.0.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.0.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        match self.0.store() {
            Ok(store) => store.append(ownership, lines),
            Err(error) => {
                // What is written while the power goes is written by half, and nothing after it.
                if self.0.missed.load(Ordering::Relaxed) == 1 {
                    drop(self.0.store.append(ownership, &lines[..lines.len() / 2]));
                }
                Err(error)
            }
        }
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.0.store()?.sync(ownership)
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.0.store()?.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.0.store()?.journal(thread)
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
        let dying = Arc::new(Tapped(Dying { store, left, missed }));
        let died = world.begin(Arc::clone(&dying) as _, &Cancel::new()).await;
        if died.is_some_and(|outcome| outcome.failure.is_none()) {
            break;
        }
        drop(dying);
        let before = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
        let found =
            world.resume("Begin.").await.unwrap_or_else(|error| panic!("after {uses}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "after {uses}");
        let reading = world.reading();
        assert_eq!(visible(&reading), visible(&whole.reading()), "after {uses}");
        let balance = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
        assert_eq!((balance.reserved, balance.overrun), (Nanos::ZERO, Nanos::ZERO), "after {uses}");
        assert!(before.settled <= balance.settled, "after {uses}: nothing settled is lost");
        let more = balance.settled.get() - expected.cost.get();
        assert!(
            more == 0 || more <= before.reserved.get(),
            "after {uses}: {more} more than needed"
        );
        uses += if EVERY { 1 } else { 17 };
    }
    assert!(100 < uses, "{uses}");
    progress(&format!(
        "the store was gone after each of {uses} uses: all went on, nothing settled is lost"
    ));
}
