//! What a thread may still spend while children have some of it.

use super::*;

/// Children that spend half of what they have. The end of the first is not on disk.
#[derive(Default)]
struct Spending(Mutex<Vec<ThreadId>>);

#[async_trait]
impl Children for Spending {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (id, mut limits) = (child(request.number), request.left.clone());
        limits.spend = match request.arguments["spend"].as_u64() {
            Some(nanos) => SpendLimit::AtMost(Nanos::new(nanos)),
            None => SpendLimit::Unlimited,
        };
        Ok(Spawn::new(&request.call_id, id, "test/child", Waiting::ForTheEnd, limits))
    }

    async fn run(&self, spawn: &Spawn, _: &Value) -> Spawned {
        self.0.lock().unwrap().push(spawn.child.clone());
        Spawned::Returned(ToolOutput::ok(json!(spawn.child.as_str())))
    }

    fn ends(&self) -> Vec<ChildEnd> {
        let cost = Nanos::new(50_000_000);
        let end = rye_thread::TranscriptClaim::new(7, "00ff".to_owned(), false);
        let ended = self.0.lock().unwrap().iter().skip(1).cloned().collect::<Vec<_>>();
        let end = |child| ChildEnd::new(child, ThreadState::Completed, cost, end.clone());
        ended.into_iter().map(end).collect()
    }

    async fn adopt(&self, _: &[RecordedSpawn]) -> Result<(), String> {
        Ok(())
    }

    async fn end(&self, _: Ending) -> Ended {
        Ended::All
    }
}

fn spender() -> PaletteEntry {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
    let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
    PaletteEntry::spawning("a/spawn", spec, capability, Arc::new(Spending::default()))
}

/// The share of a child whose end is not recorded is not free for the thread that goes on: the child may have spent it.
#[tokio::test]
async fn rule_04_a_continuation_has_no_money_of_a_child_without_an_end() {
    let share = json!({"spend": 100_000_000});
    for (started, left) in [(1, 400_000_000), (2, 350_000_000)] {
        let made = (0..started).map(|n| call(&format!("s{n}"), "a_spawn", share.clone())).collect();
        let mut thread = Thread::new(vec![calls(made)]).with(spender());
        thread.info.context_window = 120;
        thread.info.prices = Some(rye_types::Prices::free());
        let full = HookEvent::ContextLimitReached;
        thread.hooks = hooks(vec![deciding("on", full, HookEffect::Continue)]);
        let driven = thread.drive().await;
        assert_eq!(driven.outcome.state, ThreadState::Continued, "{:?}", driven.outcome.failure);
        let account = account(&driven.transcript());
        assert_eq!(account.held.get(), 100_000_000, "the first one's share is taken");
        let limits = handed_over(&driven.transcript()).unwrap().limits;
        assert_eq!(limits.spend, SpendLimit::AtMost(Nanos::new(left)), "{started}");
    }
}

/// A share that is not free is refused before anything is recorded of the child.
#[tokio::test]
async fn rule_04_a_child_has_no_more_than_its_parent_has_left() {
    for share in [json!({"spend": 500_000_001}), json!({})] {
        let made = vec![call("s", "a_spawn", share.clone())];
        let driven =
            Thread::new(vec![calls(made), says("No child.")]).with(spender()).drive().await;
        driven.check_consistent();
        assert_eq!(driven.payloads("spawn_child"), Vec::<Value>::new(), "{share}");
        let told = driven.results().remove(0)["error"].as_str().unwrap().to_owned();
        assert!(told.ends_with("is more than its parent has left"), "{told}");
    }
}
