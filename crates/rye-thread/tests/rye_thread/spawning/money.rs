//! What a thread may still spend while children have some of it.

use super::*;

/// A ledger that fails to close the account of a child once.
#[derive(Default)]
struct FailsOnce {
    ledger: MemoryLedger,
    has_failed: AtomicBool,
}

impl Tap for FailsOnce {
    fn through<T>(
        &self,
        used: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        match used {
            Use::CloseChild if !self.has_failed.swap(true, Ordering::Relaxed) => {
                Err(LedgerError::Store { source: "the disk is full".into() })
            }
            _ => act(&self.ledger),
        }
    }
}

/// Children that spend half of what they have, and whose accounts are closed where that works.
struct Spending(Arc<Tapped<FailsOnce>>);

#[async_trait]
impl Children for Spending {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (id, mut limits) = (child(request.number), request.left.clone());
        limits.spend = SpendLimit::AtMost(Nanos::new(100_000_000));
        Ok(Spawn::new(&request.call_id, id, "test/child", Waiting::ForTheEnd, limits))
    }

    async fn run(&self, spawn: &Spawn, _: &Value) -> Spawned {
        let Self(ledger) = self;
        ledger.open_child(&thread_id(), &spawn.child, spawn.limits.spend).unwrap();
        let half = ledger.reserve(&spawn.child, Nanos::new(50_000_000)).unwrap();
        ledger.settle(half, Nanos::new(50_000_000)).unwrap();
        drop(ledger.close_child(&spawn.child));
        Spawned::Returned(ToolOutput::ok(json!(spawn.child.as_str())))
    }

    async fn adopt(&self, _: &[Spawn]) -> Result<(), String> {
        Ok(())
    }

    async fn end(&self, _: Ending) -> Ended {
        Ended::All
    }
}

/// What is still set aside for a child whose account could not be closed is not free for the thread that goes on: the child may
/// have spent it.
#[tokio::test]
async fn a_continuation_has_no_money_that_is_set_aside() {
    for (started, left) in [(1, 400_000_000), (2, 350_000_000)] {
        let ledger = Arc::new(Tapped::<FailsOnce>::default());
        let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
        let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
        let family = Arc::new(Spending(Arc::clone(&ledger)));
        let entry = PaletteEntry::spawning("a/spawn", spec, capability, family);
        let made = (0..started).map(|n| call(&format!("s{n}"), "a_spawn", json!({}))).collect();
        let mut thread = Thread::new(vec![calls(made)]).with(entry);
        thread.ledger = Arc::clone(&ledger) as _;
        thread.info.context_window = 120;
        thread.info.prices = Some(rye_thread::Prices::free());
        let full = HookEvent::ContextLimitReached;
        thread.hooks = hooks(vec![deciding("on", full, HookEffect::Continue)]);
        let cap = thread.limits.spend;
        let driven = thread.drive().await;
        assert_eq!(driven.outcome.state, ThreadState::Continued, "{:?}", driven.outcome.failure);
        let balance = ledger.open(&thread_id(), cap).unwrap();
        assert_eq!(balance.reserved.get(), 100_000_000, "the first one's is still set aside");
        assert_eq!(balance.free().map(Nanos::get), Some(left));
        let limits = handed_over(&driven.transcript()).unwrap().limits;
        assert_eq!(limits.spend, SpendLimit::AtMost(Nanos::new(left)), "{started}");
    }
}
