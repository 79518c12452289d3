//! What the operator says beside yes and no: approvals for the rest of a thread, and reasons of denials.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Primary};
use rye_thread::{
    ApprovalRequest, Approver, Asking, AuthorisedCall, Cancel, Decider, Decision, Need, Needs,
    PaletteEntry, Tool, ToolOutput, ToolSpec, decided_approval,
};
use rye_types::{Effect, ThreadState};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::doubles::{call, returns};
use crate::world::{Effects, Model, World, count, line_ends, outcome, visible};

/// Says the same once, and is gone afterwards.
struct Once(Decision, AtomicU64);

#[async_trait]
impl Approver for Once {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        let decided = || (self.0.clone(), Decider::prompt());
        (self.1.fetch_add(1, Ordering::Relaxed) == 0).then(decided)
    }
}

fn once(decision: Decision) -> Option<Arc<dyn Approver>> {
    Some(Arc::new(Once(decision, AtomicU64::new(0))))
}

#[tokio::test]
async fn one_approval_for_the_thread_is_enough_and_outlives_its_program() {
    let mut whole = World::new();
    whole.asking = Asking::Always;
    whole.approver = once(Decision::ApprovedInThread);
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    assert_eq!(
        (count(&reading, "approval_requested"), count(&reading, "approval_decided")),
        (1, 1)
    );
    assert_eq!(whole.replay("", "").await.divergence, None);
    let decided = reading.records.iter().position(|it| it.name() == "approval_decided").unwrap();
    for (index, end) in line_ends(&bytes).enumerate() {
        let mut cut = whole.cut(&bytes[..end]);
        (cut.approves, cut.decides) = (None, None);
        let found = cut.resume("Begin.").await.unwrap();
        // It counts once it is under a checkpoint; a call that may have happened is asked about all the same.
        let asks = found.asked.as_ref().map(|asked| asked.reason.as_str());
        match asks {
            None => assert_eq!(outcome(&found), outcome(&expected), "cut at {index}"),
            Some("interrupted") => assert!(decided < index, "cut at {index}"),
            Some(_) => assert!(index <= decided, "cut at {index}"),
        }
    }
}

#[tokio::test]
async fn a_reason_reaches_the_model_and_the_record() {
    let mut world = World::new();
    world.asking = Asking::Always;
    let reason = "use `a/set`, \"not\" <this>";
    world.approves = Some(Decision::Denied(Some(reason.parse().unwrap())));
    let found = world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(found.state, ThreadState::Completed, "the model got over it");
    let reading = world.reading();
    let payloads = |event: &str| {
        let records = reading.records.iter().filter(|record| record.name() == event);
        let read = |payload: &str| serde_json::from_str::<Value>(payload).unwrap();
        records.map(|record| read(record.payload.get())).collect::<Vec<_>>()
    };
    let told: Vec<Value> = payloads("tool_call_result");
    let told = told.iter().filter(|result| result["content"]["reason"] == reason);
    let decided = payloads("approval_decided");
    assert_eq!(told.count(), decided.len());
    assert!(decided.iter().all(|decision| decision["reason"] == reason), "{decided:?}");
    assert_eq!(world.replay("", "").await.divergence, None);
    // Whoever acts on a decision that is on record tells the model the same.
    let bytes = world.bytes();
    let decided = reading.records.iter().position(|it| it.name() == "approval_decided").unwrap();
    let cut = world.cut(&bytes[..line_ends(&bytes).nth(decided + 1).unwrap()]);
    let kept = decided_approval(&cut.reading()).unwrap().decision;
    assert_eq!(kept.reason().map(|reason| reason.as_str()), Some(reason));
    cut.resume("Begin.").await.unwrap();
    assert_eq!(visible(&cut.reading()), visible(&reading));
}

/// An operation on items, each call of which is asked about.
struct Loads {
    proposes: bool,
}

#[async_trait]
impl Needs for Loads {
    fn need(&self, arguments: &Value, _: &Authority) -> Result<Need, ToolOutput> {
        let id = arguments["item_id"].as_str().unwrap_or("none");
        Ok(Need::Exactly(Capability::new(Primary::Load, Kind::Knowledge, id).unwrap()))
    }

    async fn proposal(
        &self,
        arguments: &Value,
        _: &Authority,
    ) -> Result<Option<Value>, ToolOutput> {
        let mut shown = arguments.clone();
        // The driver waits for work that is done on another thread.
        let text = tokio::task::spawn_blocking(|| "as it is now").await.unwrap();
        shown["text"] = json!(text);
        Ok(self.proposes.then_some(shown))
    }
}

struct Loader(Effects);

#[async_trait]
impl Tool for Loader {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        self.0.lock().unwrap().push(format!("rye_load {arguments}"));
        ToolOutput::ok(json!({"did": arguments}))
    }
}

fn operation(effects: &Effects, proposes: bool) -> PaletteEntry {
    let loader = Arc::new(Loader(Arc::clone(effects)));
    let schema = json!({"type": "object", "properties": {"item_id": {"type": "string"}}});
    let asked: Grant = ["rye.load.*".parse().unwrap()].into_iter().collect();
    let spec = ToolSpec::new("rye_load", "Loads.", schema);
    let needs = Arc::new(Loads { proposes });
    PaletteEntry::operation("rye_load", spec, needs, Effect::ReadOnly, loader).asking_for(&asked)
}

fn loading(proposes: bool, ids: &[&str]) -> World {
    let mut world = World::new();
    world.operations = Box::new(move |effects| vec![operation(effects, proposes)]);
    let load = |(turn, id): (usize, &&str)| {
        vec![call(&format!("l{turn}"), "rye_load", json!({"item_id": id}))]
    };
    let mut turns: Vec<_> = ids.iter().enumerate().map(load).collect();
    turns.push(vec![returns("last", json!({"score": 7}))]);
    world.model = Model::new(turns);
    world
}

/// The record of a question may hold less than the operator was shown. What runs is what was shown, or nothing.
#[tokio::test]
async fn an_approved_operation_runs_with_what_was_shown_or_not_at_all() {
    let gone = "the record no longer holds the arguments that the operator was asked about";
    let rows: [(bool, bool, &str); 4] = [
        (false, false, r#"rye_load {"item_id":"a"}"#),
        (false, true, r#"rye_load {"item_id":"a"}"#),
        (true, false, r#"rye_load {"item_id":"a","text":"as it is now"}"#),
        (true, true, gone),
    ];
    for (proposes, is_redacted, expected) in rows {
        let whole = loading(proposes, &["a"]);
        whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
        let (bytes, reading) = (whole.bytes(), whole.reading());
        for event in ["approval_requested", "approval_decided"] {
            let last = reading.records.iter().position(|record| record.name() == event).unwrap();
            let mut cut = whole.cut(&bytes[..line_ends(&bytes).nth(last).unwrap()]);
            cut.operations = Box::new(move |effects| vec![operation(effects, proposes)]);
            let redact = |reading: &mut rye_thread::transcript::Reading| {
                let mut records = reading.records.iter_mut();
                let asked = records.find(|it| it.name() == "approval_requested");
                let asked = asked.filter(|_| is_redacted);
                let Some(asked) = asked else { return };
                let mut payload: Value = serde_json::from_str(asked.payload.get()).unwrap();
                payload["arguments"] = json!({"item_id": "[redacted]"});
                asked.payload = to_raw_value(&payload).unwrap();
            };
            let found = cut.resume_from("Begin.", redact).await.unwrap();
            assert_eq!(found.state, ThreadState::Completed, "{:?}", found.failure);
            let name = format!("{proposes} {is_redacted} {event}");
            match expected == gone {
                true => {
                    assert!(cut.effects().is_empty(), "{name}: {:?}", cut.effects());
                    assert!(String::from_utf8(cut.bytes()).unwrap().contains(gone), "{name}");
                }
                false => assert_eq!(cut.effects(), [expected], "{name}"),
            }
        }
    }
}

/// An approval for the rest of the thread is one for the same item: another one is asked about.
#[tokio::test]
async fn an_approval_of_an_operation_covers_its_item_alone() {
    let mut world = loading(false, &["a", "a", "b", "a", "b"]);
    world.approves = Some(Decision::ApprovedInThread);
    let found = world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(found.state, ThreadState::Completed, "{:?}", found.failure);
    assert_eq!(world.effects().len(), 5);
    assert_eq!(count(&world.reading(), "approval_requested"), 2);
    assert_eq!(world.replay("", "").await.divergence, None);
}
