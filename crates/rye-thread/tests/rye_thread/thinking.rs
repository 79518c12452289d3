//! The time that people think, which is none of a thread's, however it waits for them, and whoever goes on with it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rye_caps::{Capability, Kind, Primary};
use rye_thread::{
    ApprovalRequest, Approver, Asking, AuthorisedCall, Cancel, Children, Decider, Decision, Ended,
    Ending, FailureKind, PaletteEntry, RecordedSpawn, Spawn, SpawnRequest, Spawned, Tool,
    ToolOutput, ToolSpec, Waiting,
};
use rye_types::{Effect, ThreadState};
use serde_json::{Value, json};

use crate::doubles::{FakeClock, call, returns, tool};
use crate::family::child;
use crate::spawning::a_little_of;
use crate::world::{World, outcome};

/// What a wait comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Well,
    Interrupted,
    Suspended,
    /// Only the parting takes its time.
    AtTheParting,
}

/// A child, or a tool that waits for one: it takes so many seconds, of which somebody thinks for some, and those come first.
#[derive(Clone)]
struct Waits {
    clock: Arc<FakeClock>,
    cancel: Cancel,
    took: u64,
    thought: u64,
    ends: Ends,
    /// What a child of it waits with.
    asked: Option<ApprovalRequest>,
}

impl Waits {
    async fn wait(&self) {
        for _ in 0..self.took {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.clock.advance(1);
        }
    }

    fn so_far(&self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_secs(5_000)).min(Duration::from_secs(self.thought))
    }
}

#[async_trait]
impl Children for Waits {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (waiting, limits) = (Waiting::ForTheEnd, a_little_of(&request.left));
        Ok(Spawn::new(&request.call_id, child(0), "d", waiting, limits))
    }
    async fn run(&self, _: &Spawn, _: &Value) -> Spawned {
        if self.ends != Ends::AtTheParting {
            self.wait().await;
        }
        match self.ends {
            Ends::Well | Ends::AtTheParting => Spawned::Returned(ToolOutput::ok(json!("done"))),
            Ends::Interrupted => {
                self.cancel.interrupt();
                std::future::pending().await
            }
            Ends::Suspended => Spawned::Suspended(Box::new(self.asked.clone().unwrap())),
        }
    }
    async fn adopt(&self, _: &[RecordedSpawn]) -> Result<(), String> {
        Ok(())
    }
    async fn end(&self, ending: Ending) -> Ended {
        if self.ends == Ends::AtTheParting && ending == Ending::Await {
            self.wait().await;
            return Ended::Interrupted;
        }
        Ended::All
    }
    fn approval_wait(&self, now: Duration) -> Duration {
        self.so_far(now)
    }
}

#[async_trait]
impl Tool for Waits {
    async fn call(&self, _: AuthorisedCall) -> ToolOutput {
        self.wait().await;
        if self.ends == Ends::Interrupted {
            self.cancel.interrupt();
            std::future::pending::<()>().await;
        }
        ToolOutput::ok(json!("done"))
    }
    fn approval_wait(&self, now: Duration) -> Duration {
        self.so_far(now)
    }
}

#[async_trait]
impl Approver for Waits {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        self.wait().await;
        match self.ends {
            Ends::Interrupted => {
                self.cancel.interrupt();
                std::future::pending().await
            }
            Ends::Suspended => None,
            _ => Some((Decision::Approved, Decider::prompt())),
        }
    }
}

/// How a thread waits for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// They are asked about a call of a child that a call waits for.
    Child,
    /// The same, of one that a tool waits for.
    Tool,
    /// They are asked about a call of its own.
    Own,
}

const WAYS: [Way; 3] = [Way::Child, Way::Tool, Way::Own];

/// The thread makes this call, and then returns.
fn waiting(world: &mut World, way: Way, waits: Waits) {
    let name = match way {
        Way::Child => "a_spawn",
        Way::Tool => "a_wait",
        Way::Own => "a_once",
    };
    world.asking = Asking::Always;
    if way == Way::Own {
        world.approver = Some(Arc::new(waits.clone()));
    }
    world.model.turns =
        vec![vec![call("s", name, json!({}))], vec![returns("r", json!({"score": 7}))]];
    world.more = Box::new(move || {
        let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
        let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
        vec![
            PaletteEntry::spawning("a/spawn", spec, capability, Arc::new(waits.clone())),
            tool("a/wait", Effect::ReadOnly, waits.clone()),
        ]
    });
}

fn waits(world: &World, cancel: &Cancel, took: u64, thought: u64, ends: Ends) -> Waits {
    let (clock, cancel) = (Arc::clone(&world.clock), cancel.clone());
    Waits { clock, cancel, took, thought, ends, asked: None }
}

/// What is over the limit is what the thread took beside what people thought; and whoever goes on from any record counts alike.
#[tokio::test(start_paused = true)]
async fn rule_20_the_time_of_decisions_is_not_the_time_of_the_thread() {
    let rows = [(500, 0, true), (700, 0, false), (5_000, 4_900, true), (5_000, 4_000, false)];
    for way in WAYS {
        // All of the time that an own question takes is somebody's.
        for (took, thought, is_in_time) in rows.into_iter().filter(|row| way != Way::Own || row.2) {
            let told = format!("{way:?} {took} {thought}");
            let (mut whole, cancel) = (World::new(), Cancel::new());
            let waits_for = waits(&whole, &cancel, took, thought, Ends::Well);
            waiting(&mut whole, way, waits_for);
            let found = whole.begin(Arc::clone(&whole.store) as _, &cancel).await.unwrap();
            let failure = found.failure.as_ref().map(|failure| &failure.kind);
            let is_limit = matches!(failure, Some(FailureKind::Limit(_)));
            assert_eq!(
                (failure.is_none(), is_limit),
                (is_in_time, !is_in_time),
                "{told}: {failure:?}"
            );
            if is_in_time {
                check_resumed(&whole, way, &told, &outcome(&found)).await;
            }
        }
    }
}

/// After each record in turn the program is killed.
async fn check_resumed(whole: &World, way: Way, told: &str, expected: &str) {
    let (bytes, mut length) = (whole.bytes(), 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        let mut cut = whole.cut(&bytes[..length]);
        let waits_for = waits(&cut, &Cancel::new(), 500, 0, Ends::Well);
        waiting(&mut cut, way, waits_for);
        let found = cut.resume("Begin.").await;
        let Ok(found) = found else { panic!("{told}, after {length}: {:?}", found.err()) };
        assert_eq!(outcome(&found), expected, "{told}, after {length}");
    }
}

/// Whoever stops while somebody thinks, or has them decide later, leaves the time that they thought to nobody.
#[tokio::test(start_paused = true)]
async fn rule_20_a_resume_does_not_count_the_time_of_an_open_decision() {
    let mut asked = None;
    for (way, ends, free) in [
        (Way::Own, Ends::Suspended, true),
        (Way::Own, Ends::Interrupted, true),
        (Way::Child, Ends::Interrupted, false),
        (Way::Child, Ends::Suspended, false),
        (Way::Child, Ends::AtTheParting, true),
        (Way::Tool, Ends::Interrupted, false),
    ] {
        let told = format!("{way:?} {ends:?}");
        let (mut world, cancel) = (World::new(), Cancel::new());
        let waits_for =
            Waits { asked: asked.clone(), ..waits(&world, &cancel, 5_000, 4_990, ends) };
        waiting(&mut world, way, waits_for);
        let left = world.begin(Arc::clone(&world.store) as _, &cancel).await.unwrap();
        let is_suspended = ends == Ends::Suspended;
        let state = if is_suspended { ThreadState::Suspended } else { ThreadState::Running };
        assert_eq!((left.state, &left.failure), (state, &None), "{told}");
        asked = left.asked.or(asked);
        // What it takes beside that counts, where it waits again.
        for (took, is_in_time) in [(580, true), (601, false)] {
            let mut cut = world.cut(&world.bytes());
            let goes_on = waits(&cut, &Cancel::new(), took, 0, Ends::Well);
            waiting(&mut cut, way, goes_on);
            let found = cut.resume("Begin.").await.unwrap();
            assert_eq!(found.failure.is_none(), is_in_time || free, "{told} {took}: {found:?}");
        }
    }
}
