//! The executor of calls without a loop around it.

use rye_types::Effect;
use serde_json::json;

use super::doubles::{Notes, Shop, entry};
use super::*;
use crate::transcript::EventKind;
use crate::{Asking, Returned, ToolCall};

fn note(number: usize) -> ToolCall {
    ToolCall::new(&number.to_string(), "a_note", json!({ "number": number }))
}

/// Executes the calls as a turn of a run, and approves those that wait for it.
async fn execute(shop: &mut Shop, calls: Vec<ToolCall>) -> Result<Vec<Returned>, Stop> {
    let mut run = run_with(calls);
    let mut driver = shop.driver(&run);
    let Driver { executor, recorder, accountant, .. } = &mut driver;
    loop {
        match run.step(Duration::ZERO) {
            Step::AskApproval { index, call } => {
                executor.approve(&mut run, index, &call, recorder).await?;
            }
            Step::CallTools { calls, .. } => {
                match executor.execute(&run, &calls, recorder, accountant).await? {
                    Some(index) => run.ask_approval(index).unwrap(),
                    None => return Ok(std::mem::take(&mut executor.progress.answers)),
                }
            }
            step => panic!("{step:?}"),
        }
    }
}

fn run_with(calls: Vec<ToolCall>) -> Run {
    let mut run = run();
    assert!(matches!(run.step(Duration::ZERO), Step::CallModel(_)));
    let mut reply = Reply::new(to_raw_value("calls").unwrap(), StopReason::ToolUse);
    reply.calls = calls;
    run.model_replied(reply, Nanos::ZERO).unwrap();
    run
}

#[tokio::test]
async fn an_effect_is_between_its_intent_and_its_receipt() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(&notes, entry(&notes, Effect::Once, false));
    execute(&mut shop, vec![note(1), note(2)]).await.ok().unwrap();
    let expected = [
        "tool_call_start",
        r#"effect {"number":1}"#,
        "tool_call_result",
        "tool_call_start",
        r#"effect {"number":2}"#,
        "tool_call_result",
    ];
    assert_eq!(notes.take(), expected);
}

#[tokio::test]
async fn calls_that_only_read_run_together_up_to_a_bound() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(&notes, entry(&notes, Effect::ReadOnly, false));
    execute(&mut shop, (0..20).map(note).collect()).await.ok().unwrap();
    let notes = notes.take();
    let starts = |notes: &[String]| {
        notes.iter().take_while(|it| *it == EventKind::ToolCallStart.name()).count()
    };
    assert_eq!(starts(&notes), 16);
    let second =
        notes.iter().rposition(|note| note == EventKind::ToolCallStart.name()).unwrap() + 1 - 4;
    assert_eq!(starts(&notes[second..]), 4);
}

#[tokio::test]
async fn a_call_that_does_not_fit_has_a_receipt_and_no_effect() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(&notes, entry(&notes, Effect::Once, false));
    let wrong = ToolCall::new("1", "a_note", json!({ "number": "one" }));
    let answers = execute(&mut shop, vec![wrong]).await.ok().unwrap();
    assert!(answers[0].result.is_error && answers[0].refusal.is_none());
    assert_eq!(notes.take(), ["tool_call_start", "tool_call_result"]);
}

#[tokio::test]
async fn an_added_item_bounds_the_next_call_of_the_same_turn() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(&notes, entry(&notes, Effect::ReadOnly, true));
    // Two calls of a group are authorised together, so that only a call of the next group is bounded.
    let answers = execute(&mut shop, (0..17).map(note).collect()).await.ok().unwrap();
    let refused: Vec<bool> = answers.iter().map(|answer| answer.refusal.is_some()).collect();
    assert_eq!(refused, [vec![false; 16], vec![true]].concat());
}

#[tokio::test]
async fn a_question_and_its_decision_are_on_record_before_the_effect() {
    let notes = Arc::new(Notes::default());
    let asking = entry(&notes, Effect::Once, false).with_asking(Asking::Always);
    let mut shop = Shop::new(&notes, asking);
    execute(&mut shop, vec![note(1)]).await.ok().unwrap();
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
    assert_eq!(notes.take(), expected);
}

#[tokio::test]
async fn no_call_begins_once_the_thread_is_cancelled() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(&notes, entry(&notes, Effect::Once, false));
    shop.cancel.cancel();
    assert!(matches!(execute(&mut shop, vec![note(1)]).await, Err(Stop::Cancelled)));
    assert_eq!(notes.take(), Vec::<String>::new());
}
