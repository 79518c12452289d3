//! Limits on the threads that may be started: an event each time, and an error result that a model gets over.

use std::sync::Arc;

use rye_thread::{Cancel, Decision, HookEffect, HookEvent, Limit, Limits, ThreadState};
use serde_json::{Value, json};

use super::{deciding, drive_with, hook, hooks, telling, when};
use crate::doubles::{Thread, Turn, call, calls, returns, score};
use crate::resuming::assert_effects;
use crate::spawning::spawning;
use crate::world::{World, count, outcome, visible};

fn start(id: &str) -> Turn {
    calls(vec![call(id, "a_spawn", json!({}))])
}

fn done() -> Turn {
    calls(vec![returns("r", json!({"score": 1}))])
}

/// How many threads may be started; and the limit that says so, with what it tells.
fn lowered(limit: Limit) -> (Limits, u64, &'static str) {
    let mut limits = Limits::default();
    limits.turns = 5;
    match limit {
        Limit::Depth => {
            limits.depth = 0;
            (limits, 0, "limit `depth` reached: no thread may be started below this one")
        }
        Limit::Spawns => {
            limits.spawns = 1;
            (limits, 1, "limit `spawns` reached: 1 of 1 threads were started")
        }
        other => panic!("`{other}` ends a thread by itself"),
    }
}

struct Row {
    effect: Option<HookEffect>,
    says: Option<Decision>,
    state: &'static str,
    /// Whether a thread can be started in the turn after.
    is_raised: bool,
}

const ROWS: [Row; 7] = [
    Row { effect: None, says: None, state: "completed", is_raised: false },
    Row { effect: Some(HookEffect::Retry), says: None, state: "completed", is_raised: false },
    Row { effect: Some(HookEffect::Fail), says: None, state: "error", is_raised: false },
    Row { effect: Some(HookEffect::Abort), says: None, state: "cancelled", is_raised: false },
    Row { effect: Some(HookEffect::Escalate), says: None, state: "suspended", is_raised: false },
    Row {
        effect: Some(HookEffect::Escalate),
        says: Some(Decision::Denied),
        state: "completed",
        is_raised: false,
    },
    Row {
        effect: Some(HookEffect::Escalate),
        says: Some(Decision::Approved),
        state: "completed",
        is_raised: true,
    },
];

#[tokio::test]
async fn a_thread_that_may_not_be_started_is_an_event() {
    for limit in [Limit::Spawns, Limit::Depth] {
        for row in &ROWS {
            check(limit, row).await;
        }
    }
}

async fn check(limit: Limit, row: &Row) {
    let name = format!("{limit} {:?} {:?}", row.effect, row.says);
    let (limits, before, message) = lowered(limit);
    let mut script: Vec<Turn> = (0..before).map(|n| start(&format!("s{n}"))).collect();
    script.push(start("over"));
    if row.state == "completed" {
        script.extend([start("again"), done()]);
    }
    let mut thread = Thread::new(script).returning(score()).with(spawning());
    thread.limits = limits;
    thread.approves = row.says;
    let mut own = when(hook("h", HookEvent::Limit), |data: &Value| data["limit"]["final"] == false);
    own.effect = row.effect;
    let own = telling(own, "load knowledge k/x");
    let (driven, _) = drive_with(thread, vec![own]).await;
    assert_eq!(driven.outcome.state.as_str(), row.state, "{name}: {:?}", driven.outcome.failure);
    let failure = driven.outcome.failure.as_ref().map(ToString::to_string);
    assert_eq!(failure.as_deref(), (row.state == "error").then_some(message), "{name}");
    assert_eq!(driven.left, 0, "{name}");
    let triggered = driven.payloads("hook_triggered");
    let is_twice = row.state == "completed" && !row.is_raised;
    assert_eq!(triggered.len(), if is_twice { 2 } else { 1 }, "{name}");
    let expected = json!({
        "name": limit.as_str(), "value": before, "maximum": before, "message": message, "final": false,
    });
    assert_eq!(triggered[0]["data"]["limit"], expected, "{name}");
    let receipts = driven.payloads("tool_call_result");
    let over = receipts.iter().find(|it| it["call_id"] == "over").unwrap();
    assert_eq!((&over["is_error"], &over["content"]["error"]), (&json!(true), &json!(message)));
    let again = receipts.iter().find(|it| it["call_id"] == "again");
    assert_eq!(again.is_some_and(|it| it["is_error"] == false), row.is_raised, "{name}");
}

/// The thread ends with the limit, as with any other, and hooks are told of that end, too.
#[tokio::test]
async fn a_hook_that_ends_the_thread_ends_it_with_the_limit() {
    let (limits, _, message) = lowered(Limit::Depth);
    let mut thread = Thread::new(vec![start("over")]).with(spawning());
    thread.limits = limits;
    let end = when(deciding("end", HookEvent::Limit, HookEffect::Fail), |data: &Value| {
        data["limit"]["final"] == false
    });
    let last = when(hook("last", HookEvent::Limit), |data: &Value| data["limit"]["final"] == true);
    let last = telling(last, "load knowledge k/x");
    let (driven, _) = drive_with(thread, vec![end, last]).await;
    assert!(driven.failure().starts_with("Limit("), "{}", driven.failure());
    assert!(driven.failure().ends_with(message), "{}", driven.failure());
    let acted: Vec<Value> =
        driven.payloads("hook_triggered").into_iter().map(|it| it["hook"].clone()).collect();
    assert_eq!(acted, ["end", "last"]);
}

fn world() -> World {
    let mut world = World::new();
    prepared(&mut world);
    world
}

fn prepared(world: &mut World) {
    world.limits.spawns = 1;
    world.more = Box::new(|| vec![spawning()]);
    world.approves = Some(Decision::Approved);
    world.hooks = hooks(vec![telling(
        deciding("h", HookEvent::Limit, HookEffect::Escalate),
        "load knowledge k/x",
    )]);
    let start =
        |id: &str| vec![call(id, "a_spawn", json!({})), call("n", "a_read", json!({"n": 1}))];
    world.model.turns =
        vec![start("a"), start("b"), start("c"), vec![returns("r", json!({"score": 7}))]];
}

/// Cut after any record, it is asked once, the limit is raised once, and the end is the same.
#[tokio::test]
async fn cut_after_any_record_it_ends_the_same() {
    let whole = world();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    assert_eq!(count(&reading, "spawn_child"), 2);
    assert_eq!(count(&reading, "hook_triggered"), 1);
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let mut cut = whole.cut(&bytes[..end]);
        prepared(&mut cut);
        let before = cut.reading();
        let found =
            cut.resume("Begin.").await.unwrap_or_else(|error| panic!("cut at {end}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "cut at {end}");
        assert_eq!(visible(&cut.reading()), visible(&reading), "cut at {end}");
        assert_effects(&whole.effects(), &cut.effects(), &before, end);
        assert_eq!(count(&cut.reading(), "hook_triggered"), 1, "cut at {end}");
    }
    let replayed = whole.replay("", "").await;
    assert_eq!((replayed.divergence, replayed.turns), (None, 4));
}
