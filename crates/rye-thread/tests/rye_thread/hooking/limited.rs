//! Limits on the threads that may be started: an event each time, and an error result that a model gets over.

use std::sync::Arc;

use rye_caps::Grant;
use rye_thread::transcript::Reading;
use rye_thread::{ApprovalReason, ApprovalRequest, Asking, Cancel, Decision};
use rye_types::{Effect, HookEffect, HookEvent, HookLayer, Limit, LimitSet, ThreadState};
use serde_json::{Value, json};

use super::{deciding, drive_with, hook, hooks, note, running, telling, when};
use crate::doubles::{Judge, Thread, Turn, call, calls, echo, returns, score};
use crate::resuming::assert_effects;
use crate::spawning::spawning;
use crate::world::{World, count, cuts, outcome, visible};

fn start(id: &str) -> Turn {
    calls(vec![call(id, "a_spawn", json!({}))])
}

fn done() -> Turn {
    calls(vec![returns("r", json!({"score": 1}))])
}

/// How many threads may be started; and the limit that says so, with what it tells.
fn lowered(limit: Limit) -> (LimitSet, u64, &'static str) {
    let mut limits = LimitSet { turns: 5, ..LimitSet::default() };
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
        says: Some(Decision::DENIED),
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
    thread.approves = row.says.clone();
    let mut own = when(hook("h", HookEvent::Limit), |data: &Value| data["limit"]["final"] == false);
    own.effect = row.effect;
    let own = telling(own, "load knowledge k/x");
    let (driven, _) = drive_with(thread, vec![own]).await;
    assert_eq!(driven.outcome.state.as_str(), row.state, "{name}: {:?}", driven.outcome.failure);
    let failure = driven.outcome.failure.as_ref().map(ToString::to_string);
    let aborted = "hook `h` of directive `test/greet` aborted the thread";
    let told = match row.effect {
        Some(HookEffect::Abort) => Some(aborted),
        _ => (row.state == "error").then_some(message),
    };
    assert_eq!(failure.as_deref(), told, "{name}");
    assert_eq!(driven.left, 0, "{name}");
    let triggered = driven.payloads("hook_triggered");
    let is_twice = row.state == "completed" && !row.is_raised;
    assert_eq!(triggered.len(), if is_twice { 2 } else { 1 }, "{name}");
    let expected = json!({
        "name": limit.as_str(), "value": before, "maximum": before, "message": message, "final": false,
    });
    assert_eq!(triggered[0]["data"]["limit"], expected, "{name}");
    let asked = usize::from(row.effect == Some(HookEffect::Escalate));
    assert_eq!(driven.payloads("approval_requested").len(), asked, "{name}");
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

/// Somebody who said no to more is not asked again for as long as the limit stands where it stood, whichever hook asks and in
/// whichever turn; the hooks still act each time.
#[tokio::test]
async fn a_limit_that_was_not_raised_is_asked_about_once() {
    let starts = |ids: &[&str]| {
        calls(ids.iter().map(|id| call(id, "a_spawn", json!({}))).collect::<Vec<_>>())
    };
    // Whoever may have up to so many threads; what they are asked about, and how often hooks act.
    let rows: [(Judge, &[u64], usize); 3] = [
        (|_| Decision::DENIED, &[1], 8),
        (|request| up_to(request, 2), &[1, 2], 6),
        (|request| up_to(request, 4), &[1, 2, 4], 4),
    ];
    for (judge, asked_at, acted) in rows {
        let last = starts(&["f", "g", "h", "i"]);
        let script = vec![starts(&["a", "b", "c"]), starts(&["d", "e"]), last];
        let mut thread = Thread::new(script.into_iter().chain([done()]).collect());
        thread = thread.returning(score()).with(spawning());
        thread.limits.spawns = 1;
        thread.decides = Some(judge);
        let odd = |data: &Value| data["cost"]["turns"] != 2;
        let own = vec![
            when(deciding("odd", HookEvent::Limit, HookEffect::Escalate), odd),
            deciding("any", HookEvent::Limit, HookEffect::Escalate),
        ];
        let (driven, _) = drive_with(thread, own).await;
        let name = format!("{asked_at:?}");
        assert_eq!(driven.outcome.state, ThreadState::Completed, "{name}");
        let asked = driven.payloads("approval_requested");
        let maximum = |it: &Value| it["arguments"]["limit"]["maximum"].as_u64().unwrap();
        assert_eq!(asked.iter().map(maximum).collect::<Vec<_>>(), asked_at, "{name}");
        assert_eq!(driven.payloads("hook_triggered").len(), acted, "{name}");
    }
}

fn up_to(request: &ApprovalRequest, most: u64) -> Decision {
    let maximum = request.arguments["limit"]["maximum"].as_u64().unwrap();
    if maximum < most { Decision::Approved } else { Decision::DENIED }
}

/// That one limit was not raised says nothing about another one.
#[tokio::test]
async fn each_limit_is_asked_about_by_itself() {
    let script =
        vec![calls(vec![call("a", "a_spawn", json!({})), call("b", "a_spawn", json!({}))])];
    let mut thread = Thread::new(script.into_iter().chain([done()]).collect());
    thread = thread.returning(score()).with(spawning());
    (thread.limits.spawns, thread.limits.turns) = (1, 1);
    thread.decides = Some(|request| match request.arguments["limit"]["name"] == "spawns" {
        true => Decision::DENIED,
        false => Decision::Approved,
    });
    let own = vec![deciding("h", HookEvent::Limit, HookEffect::Escalate)];
    let (driven, _) = drive_with(thread, own).await;
    let asked = driven.payloads("approval_requested");
    let names = asked.iter().map(|it| it["arguments"]["limit"]["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["spawns", "turns"]);
    assert_eq!(driven.outcome.state, ThreadState::Completed);
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
        thread.approves = Some(Decision::DENIED);
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

/// What is cut: what a hook does at the limit, what somebody says whom it asks, and what the thread comes to.
#[derive(Clone)]
struct Cut {
    effect: HookEffect,
    /// What is said of the limit; calls are approved.
    says: Decision,
    state: ThreadState,
    /// How many threads are started.
    spawns: usize,
    /// The hooks that act.
    acted: &'static [&'static str],
    /// How often somebody is asked about the limit.
    asked: usize,
    turns: u64,
}

const CUTS: [Cut; 3] = [
    Cut {
        effect: HookEffect::Escalate,
        says: Decision::Approved,
        state: ThreadState::Completed,
        spawns: 2,
        acted: &["h"],
        asked: 1,
        turns: 4,
    },
    Cut {
        effect: HookEffect::Escalate,
        says: Decision::DENIED,
        state: ThreadState::Completed,
        spawns: 1,
        acted: &["h", "h", "h"],
        asked: 1,
        turns: 4,
    },
    Cut {
        effect: HookEffect::Fail,
        says: Decision::DENIED,
        state: ThreadState::Error,
        spawns: 1,
        acted: &["h", "last"],
        asked: 0,
        turns: 2,
    },
];

impl Cut {
    fn prepare(&self, world: &mut World) {
        world.limits.spawns = 1;
        world.more = Box::new(|| vec![spawning()]);
        // Of what its hook does once, somebody approves each.
        world.asking = Asking::Always;
        world.approves = Some(Decision::Approved);
        if self.says == Decision::DENIED {
            world.decides = Some(|request| match request.reason {
                ApprovalReason::Escalated => Decision::DENIED,
                _ => Decision::Approved,
            });
        }
        let own = telling(deciding("h", HookEvent::Limit, self.effect), "load knowledge k/x");
        let own = running(own, "a/set", json!({"n": 8}));
        let last =
            when(hook("last", HookEvent::Limit), |data: &Value| data["limit"]["final"] == true);
        world.hooks = hooks(vec![
            running(own, "a/once", json!({"n": 10})),
            running(last, "a/set", json!({"n": 9})),
        ]);
        let start = |ids: &[&str]| {
            let spawns = ids.iter().map(|id| call(id, "a_spawn", json!({})));
            spawns.chain([call("n", "a_read", json!({"n": 1}))]).collect()
        };
        let end = vec![returns("r", json!({"score": 7}))];
        world.model.turns = vec![start(&["a"]), start(&["b", "c"]), start(&["d"]), end];
    }

    fn world(&self) -> World {
        let mut world = World::new();
        self.prepare(&mut world);
        world
    }
}

/// Cut after any record, no hook acts twice for one call or end, somebody is asked about a limit once, it is raised once, and
/// the end is the same.
#[tokio::test]
async fn cut_after_any_record_it_ends_the_same() {
    for cut in CUTS {
        check_cut(cut).await;
    }
}

async fn check_cut(row: Cut) {
    let whole = row.world();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, row.state, "{:?}", expected.failure);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    assert_eq!(count(&reading, "spawn_child"), row.spawns);
    assert_eq!((hooks_of(&reading), asked(&reading)), (names(row.acted), row.asked));
    for end in cuts(&bytes) {
        let name = format!("{} {}: cut at {end}", row.effect, row.says);
        let mut cut = whole.cut(&bytes[..end]);
        row.prepare(&mut cut);
        let before = cut.reading();
        let found = cut.resume("Begin.").await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "{name}");
        assert_eq!(visible(&cut.reading()), visible(&reading), "{name}");
        assert_effects(&whole.effects(), &cut.effects(), &before, end);
        let acted = (hooks_of(&cut.reading()), asked(&cut.reading()));
        assert_eq!(acted, (names(row.acted), row.asked), "{name}");
    }
    let replayed = whole.replay("", "").await;
    assert_eq!((replayed.divergence, replayed.turns), (None, row.turns));
}

fn names(hooks: &[&str]) -> Vec<String> {
    hooks.iter().copied().map(str::to_owned).collect()
}

/// The hooks that acted, in turn.
fn hooks_of(reading: &Reading) -> Vec<String> {
    let triggered = reading.records.iter().filter(|it| it.name() == "hook_triggered");
    let payloads = triggered.map(|it| serde_json::from_str::<Value>(it.payload.get()).unwrap());
    payloads.map(|it| it["hook"].as_str().unwrap().to_owned()).collect()
}

/// How often somebody was asked about a limit.
fn asked(reading: &Reading) -> usize {
    let requested = reading.records.iter().filter(|it| it.name() == "approval_requested");
    requested.filter(|it| it.payload.get().contains(r#""reason":"escalated""#)).count()
}
