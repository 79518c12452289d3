//! Hooks: which act, in which order, and what comes of it.

mod effects;
mod limited;
mod moments;
mod replaying;
mod resuming;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rye_caps::{Capability, Grant, Kind, Primary};
use rye_thread::{
    ActionTarget, AuthorisedCall, Hook, HookAction, Hooks, Palette, PaletteEntry,
    ProviderErrorClass, Tool, ToolOutput, ToolSpec,
};
use rye_types::{Effect, HookEffect, HookEvent, HookLayer};
use serde_json::{Map, Value, json};

use crate::doubles::{
    Driven, Function, Thread, Turn, call, calls, fails, returns, says, score, tool,
};

/// A hook of the directive's layer that does nothing yet.
pub(crate) fn hook(id: &str, event: HookEvent) -> Hook {
    Hook::new(id, "directive `test/greet`", event, HookLayer::Directive)
}

pub(crate) fn deciding(id: &str, event: HookEvent, effect: HookEffect) -> Hook {
    let mut hook = hook(id, event);
    hook.effect = Some(effect);
    hook
}

pub(crate) fn running(mut hook: Hook, item: &str, arguments: Value) -> Hook {
    hook.actions.push(HookAction::new(ActionTarget::Tool(item.to_owned()), object(arguments)));
    hook
}

pub(crate) fn telling(mut hook: Hook, item: &str) -> Hook {
    hook.actions.push(HookAction::new(ActionTarget::Text(item.to_owned()), Map::new()));
    hook
}

pub(crate) fn when(mut hook: Hook, holds: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Hook {
    hook.condition = Some(Arc::new(holds));
    hook
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

struct Told;

#[async_trait]
impl Tool for Told {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        assert_eq!(call.permit().capability().as_str(), "rye.load.knowledge.k.x");
        ToolOutput::ok(json!("Be careful."))
    }
}

/// Knowledge `k/x` that says "Be careful."
pub(crate) fn texts() -> Palette {
    let capability = Capability::new(Primary::Load, Kind::Knowledge, "k/x").unwrap();
    let spec = ToolSpec::new("", "", json!({"type": "object"}));
    let entry =
        PaletteEntry::new("load knowledge k/x", spec, capability, Effect::ReadOnly, Arc::new(Told));
    Palette::new(vec![entry]).unwrap()
}

pub(crate) fn hooks(hooks: Vec<Hook>) -> Hooks {
    let about = object(json!({"directive": {"id": "test/greet"}, "inputs": {"depth": 3}}));
    Hooks::new(hooks, texts(), about)
}

/// Notes its argument `n`, and fails for 13.
fn noting(notes: &Arc<Mutex<Vec<i64>>>) -> PaletteEntry {
    let notes = Arc::clone(notes);
    tool(
        "a/note",
        Effect::Once,
        Function(move |arguments: Value| {
            let n = arguments["n"].as_i64().unwrap();
            notes.lock().unwrap().push(n);
            async move {
                if n == 13 { ToolOutput::error(json!("no luck")) } else { ToolOutput::ok(json!(n)) }
            }
        }),
    )
}

/// The hooks that acted, each with its event, in order.
fn acted(driven: &Driven) -> Vec<String> {
    let triggered = driven.payloads("hook_triggered");
    let row = |it: &Value| {
        format!("{} at {}", it["hook"].as_str().unwrap(), it["hook_event"].as_str().unwrap())
    };
    triggered.iter().map(row).collect()
}

async fn drive(script: Vec<Turn>, own: Vec<Hook>) -> (Driven, Vec<i64>) {
    drive_with(Thread::new(script), own).await
}

async fn drive_with(mut thread: Thread, own: Vec<Hook>) -> (Driven, Vec<i64>) {
    let notes = Arc::default();
    thread.entries.push(noting(&notes));
    thread.hooks = hooks(own);
    let driven = thread.drive().await;
    driven.check_consistent();
    let notes = notes.lock().unwrap().clone();
    (driven, notes)
}

fn note(id: &str, event: HookEvent, layer: HookLayer, n: i64) -> Hook {
    let mut hook = Hook::new(id, "a test", event, layer);
    hook.actions = running(hook.clone(), "a/note", json!({"n": n})).actions;
    hook
}

/// Every event, at the moment that it names, with what it says of itself.
#[tokio::test]
async fn every_event_has_its_moment() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let spy = |event: HookEvent| {
        let seen = Arc::clone(&seen);
        when(note(event.as_str(), event, HookLayer::User, 1), move |data: &Value| {
            seen.lock().unwrap().push(data.clone());
            true
        })
    };
    let all = HookEvent::of_threads().map(spy).collect();
    let script = vec![
        calls(vec![call("a", "a_note", json!({"n": 2})), call("b", "a_gone", json!({}))]),
        calls(vec![returns("r", json!({"score": 1}))]),
    ];
    let (driven, _) = drive_with(Thread::new(script).returning(score()), all).await;
    assert_eq!(
        acted(&driven),
        [
            "thread_started at thread_started",
            "after_step at after_step",
            "directive_return at directive_return",
            "after_complete at after_complete",
        ]
    );
    let seen = seen.lock().unwrap().clone();
    let step = &seen[1];
    assert_eq!(step["directive"], json!({"id": "test/greet"}));
    assert_eq!(step["inputs"], json!({"depth": 3}));
    assert_eq!(step["cost"]["turns"], 1);
    assert_eq!(step["cost"]["tokens"], 110);
    assert_eq!(step["cost"]["spend"], 0.000_11);
    assert_eq!(step["limits"]["spend"], 0.5);
    assert_eq!(
        step["calls"],
        json!([
            {"name": "a_note", "item_id": "a/note", "is_error": false},
            {"name": "a_gone", "item_id": null, "is_error": true},
        ])
    );
    assert_eq!(step["called_items"], json!(["a/note"]));
    assert_eq!(seen[2]["outputs"], json!({"score": 1}));
    for data in seen.iter() {
        assert_known(data);
    }
    assert_eq!(seen[3]["state"], "completed");
}

/// A condition on a name holds for each name that means the same function.
#[tokio::test]
async fn a_hook_sees_the_names_of_functions() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let spy = when(note("spy", HookEvent::AfterStep, HookLayer::User, 1), move |data: &Value| {
        sink.lock().unwrap().push(data["calls"].clone());
        true
    });
    let execute = json!({"item_type": "tool", "item_id": "a/note", "parameters": {"n": 2}});
    let made = vec![
        call("a", "functions.a_note", json!({"n": 2})),
        call("b", "a/note", json!({"n": 2})),
        call("c", "mcp__rye__rye_execute", execute),
        call("d", "functions.a_gone", json!({})),
    ];
    drive_with(Thread::new(vec![calls(made), says("So it is.")]), vec![spy]).await;
    let names: Vec<Value> = seen.lock().unwrap()[0]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["name"].clone())
        .collect();
    assert_eq!(names, ["a_note", "a_note", "rye_execute", "functions.a_gone"]);
}

#[tokio::test]
async fn failures_and_limits_are_events() {
    let rows = [
        (vec![fails(ProviderErrorClass::Auth)], "error at error", "auth"),
        (vec![says("x"), says("y")], "error at error", "missing_outputs"),
        (vec![calls(vec![call("a", "a_note", json!({"n": 2}))])], "limit at limit", "turns"),
    ];
    for (script, expected, name) in rows {
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let spy = |id: &str, event| {
            let seen = Arc::clone(&seen);
            when(note(id, event, HookLayer::User, 1), move |data: &Value| {
                seen.lock().unwrap().push(data.clone());
                true
            })
        };
        let own = vec![
            spy("error", HookEvent::Error),
            spy("limit", HookEvent::Limit),
            spy("after", HookEvent::AfterComplete),
        ];
        let mut thread = Thread::new(script).returning(score());
        thread.limits.turns = if name == "turns" { 1 } else { 10 };
        let (driven, _) = drive_with(thread, own).await;
        assert_eq!(acted(&driven), [expected, "after at after_complete"], "{name}");
        let seen = seen.lock().unwrap().clone();
        let found =
            if name == "turns" { &seen[0]["limit"]["name"] } else { &seen[0]["error"]["type"] };
        assert_eq!(found, name);
        assert_eq!(seen[1]["state"], "error");
        seen.iter().for_each(assert_known);
    }
}

/// Asserts that the data of an event has the paths that the event is documented with, and no others.
#[track_caller]
fn assert_known(data: &Value) {
    let event: HookEvent = data["event"].as_str().unwrap().parse().unwrap();
    let known = event.data_paths();
    let mut found = Vec::new();
    add_paths(data, "", &mut found);
    for path in &found {
        let is_open = ["inputs.", "outputs."].iter().any(|open| path.starts_with(open));
        assert!(is_open || known.contains(&path.as_str()), "{event}: {path}");
    }
    let of_failures = ["error.layer", "error.pattern", "error.resource"];
    let is_optional = |path: &str| {
        let has_failed = event != HookEvent::AfterComplete || data["state"] == "error";
        path.contains(['*', 'N'])
            || path.starts_with("directive.")
            || of_failures.contains(&path)
            || (path.starts_with("error.") && !has_failed)
    };
    for path in known.iter().filter(|path| !is_optional(path)) {
        assert!(found.iter().any(|found| found == path), "{event}: {path}");
    }
}

/// The paths of the values that are compared. A list of plain values is compared as a whole, too.
fn add_paths(value: &Value, path: &str, found: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| add_paths(value, &below(key), found));
        }
        Value::Array(values) => {
            if !values.iter().any(Value::is_object) {
                found.push(path.to_owned());
            }
            values.iter().for_each(|value| add_paths(value, &below("N"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

/// A call that is refused is an error that the thread gets over, unless a hook says otherwise.
#[tokio::test]
async fn a_refused_call_is_an_event_too() {
    for (effect, expected) in [
        (None, "completed"),
        (Some(HookEffect::Continue), "completed"),
        (Some(HookEffect::Retry), "completed"),
        (Some(HookEffect::Fail), "error"),
        (Some(HookEffect::Abort), "cancelled"),
    ] {
        let script = vec![calls(vec![call("a", "a_other", json!({"n": 2}))]), says("done")];
        let mut own = when(hook("ask", HookEvent::Error), |data: &Value| {
            data["error"]["type"] == "permission_denied" && data["error"]["final"] == false
        });
        own.effect = effect;
        own = telling(own, "load knowledge k/x");
        let grant = ["rye.load.knowledge.*", "rye.execute.tool.a.note"];
        let grant: Result<Grant, _> = grant.iter().map(|text| text.parse()).collect();
        let thread = Thread::new(script)
            .with(crate::doubles::echo("a/other", Effect::ReadOnly))
            .granting(grant);
        let (driven, _) = drive_with(thread, vec![own]).await;
        assert_eq!(driven.outcome.state.as_str(), expected, "{effect:?}");
        assert_eq!(acted(&driven), ["ask at error"], "{effect:?}");
        let triggered = &driven.payloads("hook_triggered")[0];
        assert_eq!(triggered["data"]["error"]["resource"], "rye.execute.tool.a.other");
        let texts: Vec<Value> = driven.payloads("user_message");
        assert_eq!(texts.len() == 2, expected == "completed", "{effect:?}");
    }
}

/// By layer, then by order; once a hook has decided, only infrastructure still acts.
#[tokio::test]
async fn layers_come_in_turn_and_infrastructure_always() {
    let step = HookEvent::AfterStep;
    let mut own = vec![
        note("infrastructure", step, HookLayer::Infrastructure, 5),
        note("project", step, HookLayer::Project, 4),
        note("built-in", step, HookLayer::BuiltIn, 3),
        note("directive", step, HookLayer::Directive, 2),
        note("user", step, HookLayer::User, 1),
    ];
    let mut first = note("first", step, HookLayer::User, 0);
    first.order = -1;
    own.push(first);
    let script = || vec![calls(vec![call("a", "a_note", json!({"n": 99}))]), says("done")];
    let (driven, notes) = drive(script(), own.clone()).await;
    assert_eq!(notes, [99, 0, 1, 2, 3, 4, 5]);
    assert_eq!(driven.outcome.failure, None);

    let rows =
        [(3, vec![99, 0, 1, 2, 5]), (2, vec![99, 0, 1, 2, 3, 5]), (0, vec![99, 0, 1, 2, 3, 4, 5])];
    for (decides, expected) in rows {
        let mut own = own.clone();
        own[decides].effect = Some(HookEffect::Fail);
        let (driven, notes) = drive(script(), own.clone()).await;
        assert_eq!(notes, expected, "{}", own[decides].id);
        let message = format!("Hook: hook `{}` of a test ended the thread", own[decides].id);
        assert_eq!(driven.failure(), message);
    }
}

/// The first that decides wins, also over infrastructure.
#[tokio::test]
async fn the_first_effect_wins() {
    let step = HookEvent::AfterStep;
    let mut last = deciding("last", step, HookEffect::Abort);
    last.layer = HookLayer::Infrastructure;
    let own = vec![
        last,
        when(deciding("idle", step, HookEffect::Abort), |_: &Value| false),
        deciding("goes on", step, HookEffect::Continue),
        deciding("late", step, HookEffect::Fail),
    ];
    let script = vec![calls(vec![call("a", "a_note", json!({"n": 1}))]), says("done")];
    let (driven, _) = drive(script, own).await;
    assert_eq!(driven.outcome.failure, None);
    assert_eq!(acted(&driven), ["goes on at after_step", "last at after_step"]);
}

/// A hook acts with the thread's authority, through the same gates, and says when it cannot.
#[tokio::test]
async fn a_hook_may_do_what_its_thread_may() {
    let rows = [
        (json!({"n": 1}), "rye.execute.tool.a.note", vec![1], ""),
        (json!({"n": "${cost.turns}"}), "rye.execute.tool.a.note", vec![1], ""),
        (json!({"n": 1}), "rye.execute.tool.b.*", vec![], "denied"),
        (
            json!({"n": "${cost.rounds}"}),
            "rye.execute.tool.a.note",
            vec![],
            "the event has no such data",
        ),
        (
            json!({"n": "one"}),
            "rye.execute.tool.a.note",
            vec![],
            "the arguments do not fit the tool",
        ),
        (json!({"n": 13}), "rye.execute.tool.a.note", vec![13], "no luck"),
    ];
    for (arguments, grant, expected, problem) in rows {
        let own = running(hook("h", HookEvent::AfterStep), "a/note", arguments.clone());
        let script = vec![calls(vec![call("a", "rye_nothing", json!({}))]), says("done")];
        let grant: Result<Grant, _> = std::iter::once(grant).map(|text| text.parse()).collect();
        let (driven, notes) = drive_with(Thread::new(script).granting(grant), vec![own]).await;
        assert_eq!(notes, expected, "{arguments}");
        assert_eq!(
            driven.outcome.failure, None,
            "what a hook cannot do is no failure of the thread"
        );
        let receipts = driven.payloads("tool_call_result");
        let receipt = receipts.iter().find(|it| it["hook"] == "h").unwrap();
        assert_eq!(receipt["is_error"], !problem.is_empty(), "{arguments}");
        let refused = problem == "denied";
        assert_eq!(receipt["refusal"].is_null(), !refused);
        assert!(refused || receipt["content"].to_string().contains(problem), "{receipt}");
        let warnings = &driven.outcome.warnings;
        assert_eq!(warnings.is_empty(), problem.is_empty(), "{arguments}: {warnings:?}");
        let begin = match (problem, refused) {
            ("", _) => continue,
            (_, true) => "an action of hook `h` was refused: ",
            (_, false) => "an action of hook `h` failed: ",
        };
        assert!(warnings[0].starts_with(begin), "{warnings:?}");
        assert!(refused || warnings[0].contains(problem), "{warnings:?}");
        assert_eq!(*warnings, rye_thread::thread_warnings(&driven.transcript()));
        let readable = std::fs::read_to_string(driven.folder().join("transcript.md")).unwrap();
        assert!(readable.contains("**Warning: an action of hook `h` "), "{readable}");
    }
}

/// Numbers and booleans become text where the tool wants text, and nothing else does.
#[tokio::test]
async fn numbers_and_booleans_become_text_where_text_is_wanted() {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
        "additionalProperties": false,
    });
    for (given, expected) in [
        (json!("${cost.turns}"), json!("1")),
        (json!(true), json!("true")),
        (json!(1.5), json!("1.5")),
        (json!("${inputs}"), json!(null)),
    ] {
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let hears = Arc::clone(&heard);
        let mut entry = tool(
            "a/say",
            Effect::Once,
            Function(move |arguments: Value| {
                hears.lock().unwrap().push(arguments);
                async { ToolOutput::ok(json!("said")) }
            }),
        );
        entry.spec = ToolSpec::new("", "A tool.", schema.clone());
        let own = running(
            hook("h", HookEvent::AfterStep),
            "a/say",
            json!({"text": given, "n": "${cost.turns}"}),
        );
        let script = vec![calls(vec![call("a", "rye_nothing", json!({}))]), says("done")];
        let (driven, _) = drive_with(Thread::new(script).with(entry), vec![own]).await;
        let heard = heard.lock().unwrap();
        match expected {
            Value::Null => assert_eq!((heard.len(), driven.outcome.warnings.len()), (0, 1)),
            text => assert_eq!(heard[0], json!({"text": text, "n": 1})),
        }
    }
}

/// The action that fails is the last one, and a hook whose action failed opens nothing.
#[tokio::test]
async fn what_fails_opens_nothing() {
    let step = HookEvent::AfterStep;
    let rows =
        [(HookEffect::Continue, vec![13], "cancelled"), (HookEffect::Fail, vec![13], "error")];
    for (effect, expected, state) in rows {
        let first = deciding("first", step, effect);
        let first = running(running(first, "a/note", json!({"n": 13})), "a/note", json!({"n": 2}));
        let own = vec![first, deciding("second", step, HookEffect::Abort)];
        let script = vec![calls(vec![call("a", "rye_nothing", json!({}))]), says("done")];
        let (driven, notes) = drive(script, own).await;
        assert_eq!(notes, expected);
        assert_eq!(driven.outcome.state.as_str(), state, "{effect}");
    }
}

/// What hooks tell stands at the end of the history, which is not edited.
#[tokio::test]
async fn context_is_appended() {
    let own = vec![
        running(hook("finds", HookEvent::ThreadStarted), "a/note", json!({"n": 7})),
        telling(hook("tells", HookEvent::AfterStep), "load knowledge k/x"),
    ];
    let script = vec![calls(vec![call("a", "a_note", json!({"n": 1}))]), says("done")];
    let (driven, _) = drive(script, own).await;
    let shown = |index: usize| -> Vec<String> {
        driven.requests[index].messages.iter().map(|message| format!("{message:?}")).collect()
    };
    let (first, second) = (shown(0), shown(1));
    assert_eq!(first, [r#"User { text: "Begin." }"#, r#"User { text: "7" }"#]);
    assert_eq!(second[..2], first[..]);
    assert_eq!(second.len(), 5);
    assert_eq!(second[4], r#"User { text: "Be careful." }"#);
    let injected = driven.payloads("context_injected");
    assert_eq!(injected[0]["hook"], "finds");
    assert_eq!(injected[1]["item_id"], "load knowledge k/x");
    assert_eq!(injected[1]["position"], "turn");
}

/// Hooks do not set each other off, and retries end with the limit on turns.
#[tokio::test]
async fn retries_are_bounded() {
    let script = (0..5).map(|_| fails(ProviderErrorClass::Server)).collect();
    let mut thread = Thread::new(script);
    thread.limits.turns = 5;
    let own = vec![deciding("again", HookEvent::Error, HookEffect::Retry)];
    let (driven, _) = drive_with(thread, own).await;
    assert_eq!(driven.left, 0);
    assert_eq!(acted(&driven).len(), 5);
    assert!(driven.failure().ends_with("limit `turns` reached: 5 of 5"), "{}", driven.failure());
}
