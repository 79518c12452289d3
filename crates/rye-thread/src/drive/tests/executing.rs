//! The executor of calls without a driver around it.

use std::sync::Mutex;

use rye_caps::{Capability, Grant, Kind, Layer, LayerName, Permit, Primary};
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    AddedItem, ApprovalRequest, Asking, Decider, Decision, Effect, PaletteEntry, Tool, ToolCall,
    ToolOutput, ToolSpec,
};

/// Notes what happens, in its order.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, note: &str) {
        self.0.lock().unwrap().push(note.to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn event(&self, event: &Event) {
        self.add(event.name());
    }
}

#[async_trait]
impl Approver for Notes {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        self.add("the operator approves");
        Some((Decision::Approved, Decider::prompt()))
    }
}

/// A tool that notes its calls, and adds an item to the conversation whose signer may grant nothing.
struct Noting {
    notes: Arc<Notes>,
    adds: bool,
}

#[async_trait]
impl Tool for Noting {
    async fn call(&self, _: &Permit, arguments: Value) -> ToolOutput {
        self.notes.add(&format!("effect {arguments}"));
        let item = AddedItem::new(Map::new()).signed_by("a key", vec![Grant::nothing()]);
        ToolOutput::ok(json!("done")).with_added(if self.adds { vec![item] } else { Vec::new() })
    }
}

fn entry(notes: &Arc<Notes>, effect: Effect, adds: bool) -> PaletteEntry {
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/note").unwrap();
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let spec = ToolSpec::new("a_note", "Notes.", schema);
    let tool = Arc::new(Noting { notes: Arc::clone(notes), adds });
    PaletteEntry::new("a/note", spec, capability, effect, tool)
}

fn note(number: usize) -> ToolCall {
    ToolCall::new(&number.to_string(), "a_note", json!({ "number": number }))
}

/// Everything around an executor, and what it notes.
struct Shop {
    notes: Arc<Notes>,
    palette: Palette,
    authority: Authority,
    cancel: Cancel,
    place: Place,
}

impl Shop {
    fn new(notes: Arc<Notes>, entry: PaletteEntry) -> Self {
        let everything = Layer::new(LayerName::Operator, Grant::everything());
        let palette = Palette::new(vec![entry]).unwrap();
        let authority = Authority::new(everything);
        Self { notes, palette, authority, cancel: Cancel::new(), place: Place::new() }
    }

    /// Executes the calls as a turn of a run, and approves those that wait for it.
    async fn execute(&mut self, calls: Vec<ToolCall>) -> Result<Vec<crate::Returned>, Stop> {
        let mut run = run_with(calls);
        let context = DriveContext {
            provider: &self.place.provider,
            palette: &self.palette,
            authority: &self.authority,
            journal: &mut self.place.journal,
            clock: &Still,
            observer: &*self.notes,
            approver: &*self.notes,
            cancel: &self.cancel,
            injected: &[],
            hooks: &crate::Hooks::none(),
        };
        let mut driver = Driver::new(&run, context, None);
        let Driver { executor, recorder, accountant, .. } = &mut driver;
        loop {
            let (calls, index) = match run.step(Duration::ZERO) {
                Step::CallTools { calls, .. } => {
                    let index = executor.execute(&run, &calls, recorder, accountant).await?;
                    (calls, index)
                }
                Step::AskApproval { index, call } => {
                    executor.approve(&mut run, index, &call, recorder).await?;
                    continue;
                }
                step => panic!("{step:?}"),
            };
            match index {
                Some(index) => run.ask_approval(index).unwrap(),
                None => {
                    assert_eq!(executor.progress.answers.len(), calls.len());
                    return Ok(std::mem::take(&mut executor.progress.answers));
                }
            }
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
    let mut shop = Shop::new(Arc::clone(&notes), entry(&notes, Effect::Once, false));
    shop.execute(vec![note(1), note(2)]).await.ok().unwrap();
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
    let mut shop = Shop::new(Arc::clone(&notes), entry(&notes, Effect::ReadOnly, false));
    shop.execute((0..20).map(note).collect()).await.ok().unwrap();
    let notes = notes.take();
    let starts = |notes: &[String]| notes.iter().take_while(|it| *it == "tool_call_start").count();
    assert_eq!(starts(&notes), 16);
    let second = notes.iter().rposition(|note| note == "tool_call_start").unwrap() + 1 - 4;
    assert_eq!(starts(&notes[second..]), 4);
}

#[tokio::test]
async fn a_call_that_does_not_fit_has_a_receipt_and_no_effect() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(Arc::clone(&notes), entry(&notes, Effect::Once, false));
    let wrong = ToolCall::new("1", "a_note", json!({ "number": "one" }));
    let answers = shop.execute(vec![wrong]).await.ok().unwrap();
    assert!(answers[0].result.is_error && answers[0].refusal.is_none());
    assert_eq!(notes.take(), ["tool_call_start", "tool_call_result"]);
}

#[tokio::test]
async fn an_added_item_bounds_the_next_call_of_the_same_turn() {
    let notes = Arc::new(Notes::default());
    let mut shop = Shop::new(Arc::clone(&notes), entry(&notes, Effect::ReadOnly, true));
    // Two calls of a group are authorised together, so that only a call of the next group is bounded.
    let answers = shop.execute((0..17).map(note).collect()).await.ok().unwrap();
    let refused: Vec<bool> = answers.iter().map(|answer| answer.refusal.is_some()).collect();
    assert_eq!(refused, [vec![false; 16], vec![true]].concat());
}

#[tokio::test]
async fn a_question_and_its_decision_are_on_record_before_the_effect() {
    let notes = Arc::new(Notes::default());
    let asking = entry(&notes, Effect::Once, false).with_asking(Asking::Always);
    let mut shop = Shop::new(Arc::clone(&notes), asking);
    shop.execute(vec![note(1)]).await.ok().unwrap();
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
    let mut shop = Shop::new(Arc::clone(&notes), entry(&notes, Effect::Once, false));
    shop.cancel.cancel();
    assert!(matches!(shop.execute(vec![note(1)]).await, Err(Stop::Cancelled)));
    assert_eq!(notes.take(), Vec::<String>::new());
}
