//! Threads that go on after their program was killed.

mod dying;
mod refusing;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::transcript::{Reading, read};
use rye_thread::{
    Asking, Cancel, Decision, ResumeError, ThreadId, ThreadRecord, TreeAccount, recorded_end,
};
use rye_types::{Moment, Nanos, ThreadState};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::doubles::{call, returns, thread_id};
use crate::world::{
    EVERY, World, count, counted, cuts, line_ends, outcome, progress, stride, visible,
};

/// Cut after every record, and resumed: the same end, the same history, and no effect twice that had a receipt.
#[tokio::test]
async fn cut_after_any_record_it_ends_the_same() {
    check_every_cut(&World::new(), 20).await;
}

/// A provider may give the calls of each turn the same ids: a receipt is that of its turn's call, and of no other.
#[tokio::test]
async fn ids_that_come_again_are_other_calls() {
    let mut world = World::new();
    let set = |n: u64| vec![call("same", "a_set", json!({"n": n}))];
    let read = |n: u64| call("same", "a_read", json!({"n": n}));
    world.model.turns = vec![set(1), set(2), set(2), vec![read(3)], vec![read(4)]];
    world.model.turns.push(vec![returns("same", json!({"score": 7}))]);
    check_every_cut(&world, 6).await;
    let all = [1, 2, 2].map(|n| format!("a/set {{\"n\":{n}}}"));
    let reads = [3, 4].map(|n| format!("a/read {{\"n\":{n}}}"));
    assert_eq!(world.effects(), [&all[..], &reads[..]].concat());
    let replayed = world.replay("", "").await;
    assert_eq!((replayed.divergence, replayed.turns), (None, 6));
}

/// However deep a model nests what it asks for, its record is read again.
#[tokio::test]
async fn no_nesting_keeps_a_thread_from_being_resumed() {
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let mut world = World::new();
    world.model.turns = [60, 61, 62, 63, 64, 110, 122, 126]
        .map(|levels| vec![call("a", "a_set", json!({"n": nested(levels)}))])
        .into();
    world.model.turns.push(vec![returns("c", json!({"score": 7}))]);
    check_every_cut(&world, 9).await;
}

/// A process that finds an end without a summary writes the summary later than the thread ended.
#[tokio::test]
async fn an_end_that_is_written_down_later_keeps_its_time() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let store: Arc<dyn Store> = Arc::clone(&world.store) as _;
    let (journal, reading) = world.open(&store).unwrap();
    let ended = ThreadRecord::from_transcript(&reading).unwrap();
    let later = Moment::from_unix_millis(ended.updated.as_unix_millis() + 60_000);
    journal.close(recorded_end(&reading).unwrap(), ended.cost, later).unwrap();
    let derived = ThreadRecord::from_transcript(&world.reading()).unwrap();
    assert_eq!((world.summary().updated, derived.updated), (ended.updated, ended.updated));
}

async fn check_every_cut(whole: &World, turns: u64) {
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    assert_eq!(expected.turns, turns);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    for end in std::iter::once(0).chain(cuts(&bytes)) {
        let cut = whole.cut(&bytes[..end]);
        let before = cut.reading();
        let found =
            cut.resume("Begin.").await.unwrap_or_else(|error| panic!("cut at {end}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "cut at {end}");
        assert_eq!(visible(&cut.reading()), visible(&reading), "cut at {end}");
        assert_effects(&whole.effects(), &cut.effects(), &before, end);
        assert_eq!(cut.reading().torn, None);
    }
}

/// The effects of a resumed thread are those of the calls that had no receipt.
#[track_caller]
pub(crate) fn assert_effects(all: &[String], after: &[String], before: &Reading, cut: usize) {
    let receipts = before.records.iter().filter(|record| {
        record.name() == "tool_call_result" && record.payload.get().contains(r#""did""#)
    });
    let (mut expected, mut after) = (all[receipts.count()..].to_vec(), after.to_vec());
    // Calls that run in parallel come in any order.
    expected.sort();
    after.sort();
    assert_eq!(after, expected, "cut at {cut}");
}

/// Whatever is left of a transcript, the thread goes on with the account that it says: a request without a reply counts as its whole
/// reservation, and nothing else is paid for twice.
#[tokio::test]
async fn rule_07_a_thread_goes_on_with_the_account_of_its_transcript() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    for end in cuts(&bytes) {
        let cut = whole.cut(&bytes[..end]);
        let before = cut.account();
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.cost, expected.cost.saturating_add(before.reserved), "cut at {end}");
        let account = cut.account();
        assert_eq!((account.cost, account.reserved), (found.cost, Nanos::ZERO), "cut at {end}");
    }
}

/// Cut inside a record, a transcript is opened as the one that ends before it.
#[tokio::test]
async fn cut_inside_a_record_it_is_cut_before_it() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    for cut in (0..=bytes.len()).step_by(stride(97)) {
        let world = whole.cut(&bytes[..cut]);
        let store: Arc<dyn Store> = Arc::clone(&world.store) as _;
        let (journal, reading) = world.open(&store).unwrap();
        let kept = counted(&bytes[..cut]);
        assert_eq!(reading.torn, (kept < cut).then_some(kept..cut), "cut at {cut}");
        assert_eq!(world.bytes(), &bytes[..kept], "cut at {cut}");
        drop(journal);
        if EVERY && cut.is_multiple_of(5_000) {
            progress(&format!("a thread without children opened at byte {cut} of {}", bytes.len()));
        }
    }
}

/// What a torn write left out is written when somebody goes on, and the pause until then is none of the thread's time.
#[tokio::test]
async fn the_pause_before_what_was_left_out_is_nobodys() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    for end in cuts(&bytes) {
        let cut = whole.cut(&bytes[..end]);
        // Far longer than the thread may last.
        cut.clock.advance(1_000_000);
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.failure, None, "cut at {end}");
        // Whoever goes on after that counts no more of it.
        let again = cut.cut(&cut.bytes());
        let last = again.reading().records.iter().rposition(|it| it.name() == "step_start");
        let bytes = again.bytes();
        let upto = line_ends(&bytes).nth(last.unwrap()).unwrap();
        let again = again.cut(&bytes[..upto]);
        again.clock.advance(2_000_000);
        assert_eq!(again.resume("Begin.").await.unwrap().failure, None, "cut at {end}");
    }
}

/// Nobody is there to ask: what may have happened once is not done twice.
#[tokio::test]
async fn an_intent_without_a_receipt_waits_unless_it_may_be_repeated() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let (mut end, mut waited) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let line = std::str::from_utf8(line).unwrap();
        let is_intent = line.contains(r#""event":"tool_call_start","#);
        if !is_intent {
            continue;
        }
        let is_once = line.contains(r#""effect":"once""#);
        let mut cut = whole.cut(&bytes[..end]);
        cut.approves = None;
        let found = cut.resume("Begin.").await.unwrap();
        let refused = line.contains("no number");
        if is_once && !refused {
            waited += 1;
            assert_eq!(found.state, ThreadState::Suspended);
            assert_eq!(found.asked.as_ref().unwrap().item_id, "a/once");
            assert_eq!(cut.effects(), [""; 0], "cut at {end}");
            assert_eq!(count(&cut.reading(), "approval_requested"), 1);
        } else {
            assert_eq!(found.state, ThreadState::Completed, "cut at {end}");
        }
    }
    assert_eq!(waited, 9, "so many calls do what cannot be repeated");
}

/// Asked about every call of one tool: cut anywhere, a decision that was made counts, and nothing is asked twice.
#[tokio::test]
async fn a_decision_outlives_its_program() {
    let mut whole = World::new();
    whole.asking = Asking::Always;
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let (bytes, reading) = (whole.bytes(), whole.reading());
    assert_eq!(count(&reading, "approval_decided"), 9);
    for end in cuts(&bytes) {
        let cut = whole.cut(&bytes[..end]);
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(outcome(&found), outcome(&expected), "cut at {end}");
        assert_eq!(visible(&cut.reading()), visible(&reading), "cut at {end}");
        assert_effects(
            &whole.effects(),
            &cut.effects(),
            &read(&bytes[..end], &thread_id(), &[whole.key.public()]).unwrap(),
            end,
        );
    }
}

/// A record of the question may hold less than the call had: an approved tool runs with the arguments of its call.
#[tokio::test]
async fn an_approved_tool_runs_with_the_arguments_of_its_call() {
    let mut whole = World::new();
    whole.asking = Asking::Always;
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    for event in ["approval_requested", "approval_decided"] {
        let last = whole.reading().records.iter().position(|record| record.name() == event);
        let end = line_ends(&bytes).nth(last.unwrap()).unwrap();
        let cut = whole.cut(&bytes[..end]);
        let redacted = |reading: &mut Reading| {
            let mut asked = reading.records.iter_mut();
            let asked = asked.find(|record| record.name() == "approval_requested").unwrap();
            let mut payload: Value = serde_json::from_str(asked.payload.get()).unwrap();
            assert_eq!(payload["arguments"], json!({"n": 1}));
            payload["arguments"] = json!({"n": "[redacted]"});
            asked.payload = to_raw_value(&payload).unwrap();
        };
        cut.resume_from("Begin.", redacted).await.unwrap();
        assert_eq!(cut.effects()[0], "a/once {\"n\":1}", "{event}");
    }
}

#[tokio::test]
async fn what_is_denied_does_not_run_and_the_model_is_told() {
    let mut world = World::new();
    world.asking = Asking::Always;
    world.approves = Some(Decision::DENIED);
    let found = world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(found.state, ThreadState::Completed, "the model got over it");
    assert!(world.effects().iter().all(|effect| !effect.starts_with("a/once")));
    let text = String::from_utf8(world.bytes()).unwrap();
    assert!(text.contains("the operator did not approve this call of `a/once`"));
}

/// An interruption is no end: the thread stands as it was, and goes on.
#[tokio::test]
async fn an_interrupted_thread_goes_on() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let world = World { key: Arc::clone(&whole.key), ..World::new() };
    let cancel = Cancel::new();
    cancel.interrupt();
    let found = world.begin(Arc::clone(&world.store) as _, &cancel).await.unwrap();
    assert_eq!((found.state, found.failure), (ThreadState::Running, None));
    assert_eq!(world.model.asked.load(Ordering::Relaxed), 0);
    let found = world.resume("Begin.").await.unwrap();
    assert_eq!(outcome(&found), outcome(&expected));
}

/// Whatever stands in the readable transcript, once the thread went on it is what the records say.
#[tokio::test]
async fn the_readable_transcript_is_written_anew() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = line_ends(&bytes).nth(39).unwrap();
    let mut all = Vec::new();
    for found in [None, Some("# Thread\n\nhalf of"), Some("")] {
        let cut = whole.cut(&bytes[..half]);
        let path = cut.place.path().join(thread_id().as_str()).join("transcript.md");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(found) = found {
            std::fs::write(&path, found).unwrap();
        }
        let found = cut.resume("Begin.").await.unwrap();
        // A request that was cut off is told, and nothing else.
        let is_of_kill = |it: &String| it.starts_with("the program was stopped while turn ");
        assert!(found.warnings.iter().all(is_of_kill), "{:?}", found.warnings);
        let events = |text: &str| text.lines().filter(|line| line.starts_with("## ")).count();
        let (text, before) = (std::fs::read_to_string(&path).unwrap(), readable(&whole));
        assert!(text.contains("*Resumed "), "{text}");
        assert_eq!(events(&text), events(&before));
        all.push(text);
    }
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
}

/// An event of a newer version that nothing depends on is left out of it.
#[tokio::test]
async fn the_readable_transcript_passes_over_what_may_be_ignored() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = line_ends(&bytes).nth(39).unwrap();
    let reading = whole.cut(&bytes[..half]).reading();
    let dream = json!({
        "seq": reading.records.len(), "ts": reading.records[39].at, "thread_id": thread_id().as_str(), "directive": "a",
        "event": "dream", "payload": {}, "ignorable": true, "prev": reading.head.to_string(),
    });
    let cut = whole.cut(&[&bytes[..half], dream.to_string().as_bytes(), b"\n"].concat());
    cut.resume("Begin.").await.unwrap();
    assert!(readable(&cut).contains("*Resumed "), "{}", readable(&cut));
}

fn readable(world: &World) -> String {
    let folder = world.place.path().join(thread_id().as_str());
    std::fs::read_to_string(folder.join("transcript.md")).unwrap()
}
