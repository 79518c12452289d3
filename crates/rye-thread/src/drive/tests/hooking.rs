//! The runner of hooks without a loop around it.

use std::collections::VecDeque;

use rye_types::{Effect, HookEffect, HookEvent, HookLayer};
use serde_json::{Map, Value, json};

use super::doubles::{Notes, Shop, entry};
use super::*;
use crate::drive::hooks::{Due, Log};
use crate::transcript::payload::{Intent, Target, Triggered};
use crate::{ActionTarget, Asking, Hook, HookAction, Hooks, ToolCall, ToolResult};

fn hook(id: &str, event: HookEvent) -> Hook {
    Hook::new(id, "directive `d`", event, HookLayer::Directive)
}

/// A hook that notes a number at the beginning of the thread.
fn noting() -> Hook {
    let mut hook = hook("notes", HookEvent::ThreadStarted);
    let Value::Object(arguments) = json!({ "number": 1 }) else { unreachable!() };
    hook.actions.push(HookAction::new(ActionTarget::Tool("a/note".to_owned()), arguments));
    hook
}

fn shop(notes: &Arc<Notes>, asking: Asking, hooks: Vec<Hook>) -> Shop {
    let mut shop = Shop::new(notes, entry(notes, Effect::Once, false).with_asking(asking));
    shop.hooks = Hooks::new(hooks, Palette::new(Vec::new()).unwrap(), Map::new());
    shop
}

#[tokio::test]
async fn an_action_is_between_its_intent_and_its_receipt() {
    let notes = Arc::new(Notes::default());
    let mut shop = shop(&notes, Asking::Never, vec![noting()]);
    let mut run = run();
    let mut driver = shop.driver(&run);
    driver.act_between_turns(&mut run).await.ok().unwrap();
    driver.act_between_turns(&mut run).await.ok().unwrap();
    let expected =
        ["hook_triggered", "tool_call_start", r#"effect {"number":1}"#, "tool_call_result"];
    assert_eq!(notes.take()[..4], expected);
    assert_eq!(notes.take(), Vec::<String>::new(), "hooks act once at the beginning");
}

#[tokio::test]
async fn a_question_and_its_decision_are_on_record_before_an_action() {
    let notes = Arc::new(Notes::default());
    let mut shop = shop(&notes, Asking::Always, vec![noting()]);
    let mut run = run();
    shop.driver(&run).act_between_turns(&mut run).await.ok().unwrap();
    let expected = [
        "hook_triggered",
        "approval_requested",
        "checkpoint",
        "the operator approves",
        "approval_decided",
        "checkpoint",
        "tool_call_start",
        r#"effect {"number":1}"#,
        "tool_call_result",
    ];
    assert_eq!(notes.take()[..expected.len()], expected);
}

/// The log of a process that was stopped after it had begun the action.
fn log(with_receipt: bool) -> Log {
    let hook = noting();
    let triggered = Event::HookTriggered(Triggered {
        evaluation: 1,
        event: hook.event,
        hook: hook.id.clone(),
        declared_by: hook.declared_by.clone(),
        layer: hook.layer.number(),
        effect: None,
        failure: None,
        is_final: false,
        data: Value::Null,
    });
    let hook = hook.id;
    let call = ToolCall::new("hook-1-1-1", "rye_execute", json!({}));
    let start = Event::ToolCallStart(Intent {
        hook: Some(hook.clone()),
        call_id: call.id.clone(),
        injects: Some(true),
        name: call.name.clone(),
        arguments: json!({}),
        target: Some(Target::new("a/note", "rye.execute.tool.a.note", Effect::Once)),
    });
    let result = ToolResult::ok(&call, json!("recorded"));
    let receipt = with_receipt
        .then_some(Event::ToolCallResult(Receipt { hook: Some(hook), ..Receipt::new(result) }));
    Log([triggered, start].into_iter().chain(receipt).collect::<VecDeque<_>>())
}

#[tokio::test]
async fn an_action_with_a_receipt_is_not_run_again() {
    let notes = Arc::new(Notes::default());
    let mut shop = shop(&notes, Asking::Never, vec![noting()]);
    let mut run = run();
    let mut driver = shop.driver(&run);
    driver.hooks.take_over(Due::default(), log(true), 0);
    driver.act_between_turns(&mut run).await.ok().unwrap();
    // Only the text for the model has no record yet.
    assert_eq!(notes.take(), ["context_injected", "user_message"]);
    assert!(matches!(run.messages().last(), Some(Message::User { text }) if text == "recorded"));
}

#[tokio::test]
async fn an_action_without_a_receipt_is_decided_on_before_it_runs_again() {
    let notes = Arc::new(Notes::default());
    let mut shop = shop(&notes, Asking::Never, vec![noting()]);
    let mut run = run();
    let mut driver = shop.driver(&run);
    driver.hooks.take_over(Due::default(), log(false), 0);
    driver.act_between_turns(&mut run).await.ok().unwrap();
    let expected = [
        "approval_requested",
        "checkpoint",
        "the operator approves",
        "approval_decided",
        "checkpoint",
        "tool_call_start",
        r#"effect {"number":1}"#,
        "tool_call_result",
    ];
    assert_eq!(notes.take()[..expected.len()], expected);
}

#[tokio::test]
async fn no_action_begins_once_the_thread_is_cancelled() {
    let notes = Arc::new(Notes::default());
    let mut shop = shop(&notes, Asking::Never, vec![noting()]);
    shop.cancel.cancel();
    let mut run = run();
    let stopped = shop.driver(&run).act_between_turns(&mut run).await;
    assert!(matches!(stopped, Err(Stop::Cancelled)));
    assert_eq!(notes.take(), ["hook_triggered", "tool_call_start"]);
}

#[tokio::test]
async fn the_first_hook_that_decides_keeps_later_ones_from_acting() {
    let notes = Arc::new(Notes::default());
    let deciding = |id, effect| {
        let mut hook = hook(id, HookEvent::AfterStep);
        hook.effect = Some(effect);
        hook
    };
    let hooks = vec![deciding("fails", HookEffect::Fail), deciding("aborts", HookEffect::Abort)];
    let mut shop = shop(&notes, Asking::Never, hooks);
    let mut run = run();
    let mut driver = shop.driver(&run);
    driver.hooks.due.note_request(0);
    driver.hooks.due.turn_over(&[], Vec::new());
    driver.act_between_turns(&mut run).await.ok().unwrap();
    assert_eq!(notes.take(), ["hook_triggered"]);
    let failure = run.failure().unwrap();
    assert_eq!(failure.message, "hook `fails` of directive `d` ended the thread");
}
