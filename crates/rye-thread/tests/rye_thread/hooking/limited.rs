//! Limits on the threads that may be started: an event each time, and an error result that a model gets over.

use std::sync::Arc;

use rye_caps::Grant;
use rye_thread::transcript::Reading;
use rye_thread::{
    Cancel, Decision, Effect, HookEffect, HookEvent, HookLayer, Limit, Limits, ThreadState,
};
use serde_json::{Value, json};

use super::{deciding, drive_with, hook, hooks, note, running, telling, when};
use crate::doubles::{Thread, Turn, call, calls, echo, returns, score};
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

/// What is raised for one call is raised for all that stood at the same limit.
#[tokio::test]
async fn a_limit_that_was_raised_is_asked_about_once() {
    let starts = |ids: &[&str]| {
        calls(ids.iter().map(|id| call(id, "a_spawn", json!({}))).collect::<Vec<_>>())
    };
    let script = vec![starts(&["a", "b", "c", "d"]), starts(&["e", "f"]), done()];
    let mut thread = Thread::new(script).returning(score()).with(spawning());
    thread.limits.spawns = 1;
    thread.approves = Some(Decision::Approved);
    let own = deciding("h", HookEvent::Limit, HookEffect::Escalate);
    let (driven, _) = drive_with(thread, vec![own]).await;
    assert_eq!(driven.outcome.state, ThreadState::Completed, "{:?}", driven.outcome.failure);
    let texts: Vec<Value> =
        driven.payloads("user_message").into_iter().map(|it| it["text"].clone()).collect();
    let raised = |to: u64| json!(format!("The limit `spawns` was raised to {to}. Go on."));
    assert_eq!(texts, [json!("Begin."), raised(2), raised(4)]);
    assert_eq!(driven.payloads("approval_requested").len(), 2);
}

/// A hook that acted when a call was kept from starting a thread, or was refused, does not act again at the end for it, which
/// other hooks are told of; nor is somebody asked once more who said no.
#[tokio::test]
async fn one_failure_is_told_to_a_hook_once() {
    use HookEffect::{Escalate, Fail};
    let rows = [
        (HookEvent::Limit, "limit", "a_spawn", Fail),
        (HookEvent::Error, "error", "b_forbidden", Fail),
        (HookEvent::Error, "error", "b_forbidden", Escalate),
    ];
    for (event, name, tool, effect) in rows {
        let thread = Thread::new(vec![calls(vec![call("x", tool, json!({}))])]).with(spawning());
        let thread = thread.with(echo("b/forbidden", Effect::Once));
        let mut thread = thread.granting(Grant::of_items("execute", "tool", "a.*"));
        thread.limits.spawns = 0;
        thread.approves = Some(Decision::Denied);
        let mut own = note("own", event, HookLayer::Directive, 1);
        own.effect = Some(effect);
        let is_final = move |data: &Value| data[name]["final"] == true;
        let last = when(note("last", event, HookLayer::Directive, 2), is_final);
        let (driven, notes) = drive_with(thread, vec![own, last]).await;
        assert_eq!(driven.outcome.state, ThreadState::Error, "{event} {effect:?}");
        assert_eq!(notes, [1, 2], "{event} {effect:?}");
        let asked = usize::from(effect == Escalate);
        assert_eq!(driven.payloads("approval_requested").len(), asked, "{event} {effect:?}");
        assert_eq!(driven.replayed.unwrap().divergence, None, "{event} {effect:?}");
    }
}

fn world(effect: HookEffect) -> World {
    let mut world = World::new();
    prepared(&mut world, effect);
    world
}

fn prepared(world: &mut World, effect: HookEffect) {
    world.limits.spawns = 1;
    world.more = Box::new(|| vec![spawning()]);
    world.approves = Some(Decision::Approved);
    let own = telling(deciding("h", HookEvent::Limit, effect), "load knowledge k/x");
    let last = when(hook("last", HookEvent::Limit), |data: &Value| data["limit"]["final"] == true);
    world.hooks = hooks(vec![
        running(own, "a/set", json!({"n": 8})),
        running(last, "a/set", json!({"n": 9})),
    ]);
    let start = |ids: &[&str]| {
        let spawns = ids.iter().map(|id| call(id, "a_spawn", json!({})));
        spawns.chain([call("n", "a_read", json!({"n": 1}))]).collect()
    };
    let end = vec![returns("r", json!({"score": 7}))];
    world.model.turns = vec![start(&["a"]), start(&["b", "c"]), start(&["d"]), end];
}

/// Cut after any record, it is asked once, the limit is raised once, and the end is the same.
#[tokio::test]
async fn cut_after_any_record_it_ends_the_same() {
    check_cut(HookEffect::Escalate, (ThreadState::Completed, 2, &["h"], 4)).await;
}

/// Cut after any record, no hook acts twice for the limit that ends the thread.
#[tokio::test]
async fn cut_after_any_record_it_fails_the_same() {
    check_cut(HookEffect::Fail, (ThreadState::Error, 1, &["h", "last"], 2)).await;
}

/// The state at the end, the threads that were started, the hooks that acted, and the turns.
async fn check_cut(effect: HookEffect, expected: (ThreadState, usize, &[&str], u64)) {
    let (state, spawns, acted, turns) = expected;
    let whole = world(effect);
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, state, "{:?}", expected.failure);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    assert_eq!(count(&reading, "spawn_child"), spawns);
    assert_eq!(hooks_of(&reading), acted);
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let mut cut = whole.cut(&bytes[..end]);
        prepared(&mut cut, effect);
        let before = cut.reading();
        let found =
            cut.resume("Begin.").await.unwrap_or_else(|error| panic!("cut at {end}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "cut at {end}");
        assert_eq!(visible(&cut.reading()), visible(&reading), "cut at {end}");
        assert_effects(&whole.effects(), &cut.effects(), &before, end);
        assert_eq!(hooks_of(&cut.reading()), acted, "cut at {end}");
    }
    let replayed = whole.replay("", "").await;
    assert_eq!((replayed.divergence, replayed.turns), (None, turns));
}

/// The hooks that acted, in turn.
fn hooks_of(reading: &Reading) -> Vec<String> {
    let triggered = reading.records.iter().filter(|it| it.event == "hook_triggered");
    let payloads = triggered.map(|it| serde_json::from_str::<Value>(it.payload.get()).unwrap());
    payloads.map(|it| it["hook"].as_str().unwrap().to_owned()).collect()
}
