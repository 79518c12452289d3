//! Replays of threads that failed on their way and that hooks led on: what was recorded decides, time included.

use std::sync::Arc;

use rye_thread::{Decision, Hook, ProviderError, ProviderErrorClass, StopReason, ToolOutput};
use rye_types::{Effect, HookEffect, HookEvent, Nanos, SpendLimit, Usage};
use serde_json::json;

use super::{deciding, drive_with, hook, running};
use crate::doubles::{
    Driven, FakeClock, Function, Thread, Turn, after, call, calls, fails, reply, returns, score,
    tool,
};

fn done() -> Turn {
    calls(vec![returns("r", json!({"score": 1}))])
}

fn step() -> Turn {
    calls(vec![call("a", "a_note", json!({"n": 1}))])
}

fn stopped(stop: StopReason) -> Turn {
    Turn::Reply(reply("So", Vec::new(), stop))
}

/// The hooks that lead the thread on: one is told of an event, the other asks again.
fn mending(told: HookEvent) -> Vec<Hook> {
    let told = running(hook("told", told), "a/note", json!({"n": 7}));
    vec![told, deciding("again", HookEvent::Error, HookEffect::Retry)]
}

/// Requests that reached nobody cost nothing, and do not use up the money of a replay either.
#[tokio::test]
async fn what_reached_nobody_is_replayed_for_nothing() {
    let unreachable = || {
        let error = ProviderError::new(ProviderErrorClass::Network, "nobody answers");
        Turn::Fail(error.with_usage(Usage::default()))
    };
    let script = vec![unreachable(), unreachable(), unreachable(), step(), done()];
    let mut thread = Thread::new(script).returning(score());
    // For one worst case and not for two.
    thread.limits.spend = SpendLimit::AtMost(Nanos::new(6_000_000));
    let own = vec![deciding("again", HookEvent::Error, HookEffect::Retry)];
    let (driven, _) = drive_with(thread, own).await;
    assert_eq!((&driven.outcome.failure, driven.left), (&None, 0));
    assert_eq!(driven.replayed.as_ref().map(|it| it.turns), Some(2));
}

/// Every way in which a request fails, mended by a hook: the replay, which `drive_with` has made of each, is the same.
#[tokio::test]
async fn a_failure_that_was_mended_is_replayed() {
    let too_long = ProviderErrorClass::ContextTooLong;
    let refused = || calls(vec![call("x", "a_gone", json!({})), call("y", "a_other", json!({}))]);
    let step_failed = || fails(ProviderErrorClass::StepFailed);
    let rows: Vec<(&str, Vec<Turn>, usize)> = vec![
        ("no answer", vec![fails(ProviderErrorClass::Server), done()], 1),
        ("an answer that refuses", vec![stopped(StopReason::Refusal), done()], 1),
        ("a cut answer", vec![stopped(StopReason::MaxTokens), step(), done()], 1),
        ("too long a request", vec![step(), fails(too_long), done()], 2),
        ("too long an answer", vec![step(), stopped(StopReason::ContextWindow), done()], 2),
        ("both", vec![step(), stopped(StopReason::Refusal), fails(too_long), done()], 3),
        ("after a refused call", vec![refused(), step_failed(), done()], 2),
    ];
    for (name, script, acted) in rows {
        let mut thread = Thread::new(script).returning(score());
        thread = thread.granting(["rye.execute.tool.a.note".parse()].into_iter().collect());
        thread = thread.with(crate::doubles::echo("a/other", Effect::ReadOnly));
        let (driven, _) = drive_with(thread, mending(HookEvent::ContextLimitReached)).await;
        assert_eq!(driven.outcome.failure, None, "{name}");
        assert_eq!(driven.left, 0, "{name}: the script is used up");
        assert_eq!(driven.payloads("hook_triggered").len(), acted, "{name}");
        check_complete(&driven, name);
    }
}

#[track_caller]
fn check_complete(driven: &Driven, name: &str) {
    let replayed = driven.replayed.as_ref().unwrap();
    assert_eq!(replayed.recorded, replayed.replayed, "{name}");
    assert_eq!(replayed.turns, driven.outcome.turns, "{name}");
}

/// Takes all the time that there is, and does not answer; or takes it, and answers.
fn slow(clock: &Arc<FakeClock>, turn: Turn) -> Turn {
    let clock = Arc::clone(clock);
    after(move || clock.advance(700), turn)
}

/// Wherever the time ran out, it does so in the replay, in which none passes.
#[tokio::test(start_paused = true)]
async fn time_runs_out_where_it_did() {
    let slow_call =
        |id: &str| calls(vec![call(id, "a_slow", json!({})), call("b", "a_note", json!({"n": 2}))]);
    type Script = fn(&Arc<FakeClock>, Turn) -> Vec<Turn>;
    let rows: [(&str, Script); 4] = [
        ("a request without an answer", |_, _| vec![step(), Turn::Hang, done()]),
        ("a slow answer", |clock, _| vec![slow(clock, step()), done()]),
        ("a slow call before another", |_, call| vec![call, done()]),
        ("a slow answer without a call", |clock, _| {
            vec![slow(clock, crate::doubles::says("text")), done()]
        }),
    ];
    for (name, script) in rows {
        for says in [Decision::Approved, Decision::DENIED] {
            let mut thread = Thread::new(Vec::new()).returning(score());
            thread.script = script(&thread.clock, slow_call("a"));
            let clock = Arc::clone(&thread.clock);
            let slow = Function(move |_| {
                clock.advance(700);
                async { ToolOutput::ok(json!("late")) }
            });
            thread = thread.with(tool("a/slow", Effect::Once, slow));
            thread.approves = Some(says.clone());
            let note = |id, event| running(hook(id, event), "a/note", json!({"n": 3}));
            let own = vec![
                deciding("more", HookEvent::Limit, HookEffect::Escalate),
                note("step", HookEvent::AfterStep),
                note("end", HookEvent::AfterComplete),
            ];
            let (driven, _) = drive_with(thread, own).await;
            let triggered = driven.payloads("hook_triggered");
            let limits = triggered.iter().filter(|it| it["hook"] == "more");
            assert_eq!(limits.count(), 1, "{name}");
            let state = if says == Decision::Approved { "completed" } else { "error" };
            assert_eq!(driven.outcome.state.as_str(), state, "{name}");
            check_complete(&driven, name);
        }
    }
}
