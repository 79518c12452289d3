//! Threads with hooks that go on after their program was killed, and that are replayed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rye_thread::{Cancel, Decision, Hooks};
use rye_types::{HookEffect, HookEvent, HookLayer, ThreadState};
use serde_json::{Value, json};

use super::{deciding, hook, hooks, running, telling, when};
use crate::doubles::returns;
use crate::resuming::assert_effects;
use crate::world::{World, count, cuts, outcome, visible};

/// Hooks at every event that a thread without failures has.
fn busy() -> Hooks {
    let at = |turns: &'static [u64]| {
        move |data: &Value| turns.iter().any(|turn| data["cost"]["turns"] == *turn)
    };
    let step = HookEvent::AfterStep;
    let mut always = running(hook("log", HookEvent::AfterComplete), "a/read", json!({"n": 90}));
    always.layer = HookLayer::Infrastructure;
    hooks(vec![
        running(hook("find", HookEvent::ThreadStarted), "a/read", json!({"n": 80})),
        when(telling(hook("remind", step), "load knowledge k/x"), at(&[3, 7])),
        when(running(hook("once", step), "a/once", json!({"n": "${cost.turns}"})), at(&[5, 7])),
        when(deciding("ask", step, HookEffect::Escalate), at(&[9])),
        when(
            telling(
                deciding("again", HookEvent::DirectiveReturn, HookEffect::Retry),
                "load knowledge k/x",
            ),
            at(&[20]),
        ),
        running(hook("tell", HookEvent::AfterComplete), "a/set", json!({"n": 91})),
        always,
    ])
}

fn world() -> World {
    let mut world = World::new();
    with_hooks(&mut world);
    world
}

fn with_hooks(world: &mut World) {
    world.hooks = busy();
    world.model.turns.push(vec![returns("again", json!({"score": 8}))]);
    world.approves = Some(Decision::Approved);
}

/// Cut after any record: no receipt of a hook's action is repeated, no text told twice, and the end is the same.
#[tokio::test]
async fn cut_after_any_record_it_ends_the_same() {
    let whole = world();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    assert_eq!(expected.turns, 21);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    assert_eq!(count(&reading, "hook_triggered"), 9);
    for end in std::iter::once(0).chain(cuts(&bytes)) {
        let mut cut = whole.cut(&bytes[..end]);
        with_hooks(&mut cut);
        let before = cut.reading();
        let found =
            cut.resume("Begin.").await.unwrap_or_else(|error| panic!("cut at {end}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "cut at {end}");
        assert_eq!(visible(&cut.reading()), visible(&reading), "cut at {end}");
        assert_effects(&whole.effects(), &cut.effects(), &before, end);
        let ids = |world: &World| -> Vec<String> {
            let reading = world.reading();
            let triggered = reading.records.iter().filter(|it| it.name() == "hook_triggered");
            triggered.map(|it| it.payload.get().to_owned()).collect()
        };
        assert_eq!(ids(&cut), ids(&whole), "cut at {end}");
    }
}

/// Nobody is there: what an action of a hook may have done once waits for somebody, as a call of the model does.
#[tokio::test]
async fn an_action_that_may_have_happened_waits() {
    let whole = world();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let (mut end, mut waited) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let line = std::str::from_utf8(line).unwrap();
        let is_start = line.contains(r#""event":"tool_call_start","#);
        if !(is_start && line.contains(r#""hook":"once""#)) {
            continue;
        }
        waited += 1;
        let mut cut = whole.cut(&bytes[..end]);
        with_hooks(&mut cut);
        cut.approves = None;
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.state, ThreadState::Suspended);
        assert_eq!(found.asked.unwrap().item_id, "a/once");
        assert_eq!(cut.effects(), [""; 0]);
    }
    assert_eq!(waited, 2);
}

/// A thread that a hook has suspended goes on once somebody decided, and the hook does not act again.
#[tokio::test]
async fn an_escalation_outlives_its_program() {
    let mut first = world();
    first.approves = None;
    let found = first.begin(Arc::clone(&first.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(found.state, ThreadState::Suspended);
    let request = found.asked.unwrap();
    assert_eq!(
        (request.item_id.as_str(), request.reason.as_str()),
        ("hook ask at after_step", "escalated")
    );
    for (says, expected) in
        [(Decision::Approved, ThreadState::Completed), (Decision::DENIED, ThreadState::Error)]
    {
        let mut cut = first.cut(&first.bytes());
        with_hooks(&mut cut);
        cut.approves = Some(says);
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.state, expected, "{:?}", found.failure);
        let reading = cut.reading();
        let asked: BTreeSet<&str> = reading
            .records
            .iter()
            .filter(|it| it.name() == "approval_requested")
            .map(|it| it.payload.get())
            .collect();
        assert_eq!(asked.len(), 1);
    }
}

/// The real loop with its hooks over the record: nothing is requested, nothing happens.
#[tokio::test]
async fn a_replay_runs_no_action() {
    let world = world();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let (asked, effects) = (world.model.asked.load(Ordering::Relaxed), world.effects());
    let replayed = world.replay("", "").await;
    assert_eq!(replayed.divergence, None);
    assert_eq!((replayed.turns, &replayed.recorded), (21, &replayed.replayed));
    assert_eq!(world.model.asked.load(Ordering::Relaxed), asked);
    assert_eq!(world.effects(), effects);
    let changed = world.replay(r#"{"text":"Be careful."}"#, r#"{"text":"Be careless."}"#).await;
    assert_eq!(changed.divergence.unwrap().what, "the message after turn 3");
}
