//! Every event and every limit, one row each: a thread in which it happens, and the hook that is told of it.

use std::sync::Arc;

use rye_thread::{Decision, ProviderErrorClass, StopReason};
use rye_types::{HookEffect, HookEvent, Limit, Prices, Usage};
use serde_json::{Value, json};

use super::{deciding, drive_with, hook, hooks, running, telling};
use crate::doubles::{Driven, Thread, Turn, after, call, calls, fails, reply, returns, score};
use crate::spawning::spawning;

fn done() -> Turn {
    calls(vec![returns("r", json!({"score": 1}))])
}

fn step() -> Turn {
    calls(vec![call("a", "a_note", json!({"n": 1}))])
}

/// A thread in which the event happens once, and the state that it comes to.
fn with(event: HookEvent) -> (Thread, &'static str) {
    let whole = || Thread::new(vec![step(), done()]).returning(score());
    match event {
        HookEvent::AfterComplete
        | HookEvent::AfterStep
        | HookEvent::DirectiveReturn
        | HookEvent::ThreadContinued
        | HookEvent::ThreadStarted => (whole(), "completed"),
        HookEvent::ContextLimitReached => {
            let mut thread = whole();
            thread.info.context_window = 120;
            thread.info.prices = Some(Prices::free());
            (thread, "completed")
        }
        HookEvent::Error => (Thread::new(vec![fails(ProviderErrorClass::Auth)]), "error"),
        HookEvent::Limit => {
            let mut thread = Thread::new(vec![step()]);
            thread.limits.turns = 1;
            (thread, "error")
        }
        HookEvent::ResolveExtends => panic!("there is no thread yet"),
    }
}

#[tokio::test]
async fn each_event_is_told_when_it_happens() {
    for event in HookEvent::of_threads() {
        let (mut thread, state) = with(event);
        let own = hooks(vec![telling(hook("h", event), "load knowledge k/x")]);
        let is_continuation = event == HookEvent::ThreadContinued;
        thread.hooks = if is_continuation { own.continuing() } else { own };
        let note = crate::doubles::echo("a/note", rye_types::Effect::ReadOnly);
        let driven = thread.with(note).drive().await;
        driven.check_consistent();
        assert_eq!(driven.outcome.state.as_str(), state, "{event}: {:?}", driven.outcome.failure);
        let triggered = driven.payloads("hook_triggered");
        let told: Vec<&Value> = triggered.iter().map(|it| &it["data"]["event"]).collect();
        assert_eq!(told, [event.as_str()]);
    }
}

/// A thread that comes to the limit, and what it then has used, in the limit's own unit.
fn at(limit: Limit) -> (Thread, u64) {
    let spawn = || calls(vec![call("s", "a_spawn", json!({}))]);
    let thread = |script| Thread::new(script).with(spawning());
    match limit {
        Limit::Depth => {
            let mut thread = thread(vec![spawn(), spawn()]);
            thread.limits.depth = 0;
            (thread, 0)
        }
        Limit::Duration => {
            let mut thread = thread(Vec::new());
            let clock = Arc::clone(&thread.clock);
            thread.script = vec![after(move || clock.advance(700), step())];
            (thread, 700)
        }
        Limit::Spawns => {
            let mut thread = thread(vec![spawn(), spawn()]);
            thread.limits.spawns = 0;
            (thread, 0)
        }
        Limit::Spend => {
            let mut dear =
                reply("", vec![call("a", "a_note", json!({"n": 1}))], StopReason::ToolUse);
            dear.usage = Usage::new(2_000, 1_000);
            let mut thread = thread(vec![Turn::Reply(dear)]);
            thread.limits.spend = "0.004".parse().unwrap();
            (thread, 4_000_001)
        }
        Limit::Tokens => {
            let mut thread = thread(vec![step()]);
            thread.limits.tokens = 110;
            (thread, 110)
        }
        Limit::Turns => {
            let mut thread = thread(vec![step()]);
            thread.limits.turns = 1;
            (thread, 1)
        }
    }
}

async fn limited(limit: Limit, effect: Option<HookEffect>) -> (Driven, u64) {
    let (thread, value) = at(limit);
    let mut own = running(hook("h", HookEvent::Limit), "a/note", json!({"n": 5}));
    own.effect = effect;
    let (driven, _) = drive_with(thread, vec![own]).await;
    (driven, value)
}

/// Each is an event, whether it ends the thread or keeps it from starting another one; a hook that fails the thread ends it with
/// the same failure.
#[tokio::test]
async fn each_limit_is_told_when_it_is_reached() {
    for &limit in Limit::ALL {
        for effect in [None, Some(HookEffect::Fail)] {
            let is_final = ![Limit::Depth, Limit::Spawns].contains(&limit);
            if !is_final && effect.is_none() {
                // The model gets over it, which `limited` has rows for.
                continue;
            }
            let (driven, least) = limited(limit, effect).await;
            let failure = driven.outcome.failure.as_ref().unwrap_or_else(|| panic!("{limit}"));
            let rye_thread::FailureKind::Limit(hit) = &failure.kind else { panic!("{failure}") };
            assert_eq!(hit.limit, limit);
            assert!(least <= hit.value && hit.maximum <= hit.value, "{hit}");
            let triggered = driven.payloads("hook_triggered");
            assert_eq!(triggered.len(), 1, "{limit}");
            let told = &triggered[0]["data"]["limit"];
            assert_eq!(told["name"], limit.as_str());
            assert_eq!(
                (&told["value"], &told["maximum"]),
                (&json!(hit.value), &json!(hit.maximum))
            );
            assert_eq!(told["final"], is_final, "{limit}");
        }
    }
}

/// What somebody may raise is raised, money never is.
#[tokio::test]
async fn each_limit_but_money_can_be_raised() {
    for &limit in Limit::ALL {
        let (mut thread, _) = at(limit);
        let more = if limit == Limit::Spend { vec![] } else { vec![done()] };
        if [Limit::Depth, Limit::Spawns].contains(&limit) {
            thread.script.truncate(1);
        }
        thread.script.extend(more);
        thread = thread.returning(score());
        thread.approves = Some(Decision::Approved);
        let own = vec![deciding("h", HookEvent::Limit, HookEffect::Escalate)];
        let (driven, _) = drive_with(thread, own).await;
        let expected = if limit == Limit::Spend { "error" } else { "completed" };
        assert_eq!(
            driven.outcome.state.as_str(),
            expected,
            "{limit}: {:?}",
            driven.outcome.failure
        );
        let asked = driven.payloads("approval_requested").len();
        assert_eq!(asked, usize::from(limit != Limit::Spend), "{limit}");
    }
}
