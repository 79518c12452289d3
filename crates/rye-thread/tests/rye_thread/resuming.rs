//! Threads that go on after their program was killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rye_thread::budget::{Ledger, LedgerError};
use rye_thread::store::{Claim, Lease, MemoryStore, Store, StoreError};
use rye_thread::transcript::{Reading, read};
use rye_thread::{
    Asking, Cancel, Decision, Moment, Nanos, ResumeError, ThreadId, ThreadState, spending,
};
use serde_json::{Value, json};

use crate::doubles::{call, returns, thread_id};
use crate::tapped::{Tap, Tapped, Use};
use crate::world::{EVERY, World, count, line_ends, outcome, progress, visible};

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

async fn check_every_cut(whole: &World, turns: u64) {
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    assert_eq!(expected.turns, turns);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    for end in std::iter::once(0).chain(line_ends(&bytes)) {
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
        record.event == "tool_call_result" && record.payload.get().contains(r#""did""#)
    });
    let (mut expected, mut after) = (all[receipts.count()..].to_vec(), after.to_vec());
    // Calls that run in parallel come in any order.
    expected.sort();
    after.sort();
    assert_eq!(after, expected, "cut at {cut}");
}

/// The ledger is another one each time, as where the project was copied without it: what the transcript says was spent is
/// settled in it before anything more is, so that the money is that of one thread.
#[tokio::test]
async fn what_was_spent_by_another_ledger_is_not_spent_again() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    for end in line_ends(&bytes) {
        let cut = whole.cut(&bytes[..end]);
        let before = spending(&cut.reading());
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.cost, expected.cost.saturating_add(before.unanswered), "cut at {end}");
        let balance = cut.store.ledger().open(&thread_id(), cut.limits.spend).unwrap();
        assert_eq!((balance.cost(), balance.reserved), (found.cost, Nanos::ZERO), "cut at {end}");
    }
}

/// Cut inside a record, a transcript is opened as the one that ends before it.
#[tokio::test]
async fn cut_inside_a_record_it_is_cut_before_it() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let step = if EVERY { 1 } else { 97 };
    for cut in (0..=bytes.len()).step_by(step) {
        let world = whole.cut(&bytes[..cut]);
        let store: Arc<dyn Store> = Arc::clone(&world.store) as _;
        let (journal, reading) = world.open(&store).unwrap();
        let kept = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
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
    for end in line_ends(&bytes) {
        let cut = whole.cut(&bytes[..end]);
        // Far longer than the thread may last.
        cut.clock.advance(1_000_000);
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.failure, None, "cut at {end}");
        // Whoever goes on after that counts no more of it.
        let again = cut.cut(&cut.bytes());
        let last = again.reading().records.iter().rposition(|it| it.event == "step_start");
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
    for end in line_ends(&bytes) {
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

#[tokio::test]
async fn what_is_denied_does_not_run_and_the_model_is_told() {
    let mut world = World::new();
    world.asking = Asking::Always;
    world.approves = Some(Decision::Denied);
    let found = world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(found.state, ThreadState::Completed, "the model got over it");
    assert!(world.effects().iter().all(|effect| !effect.starts_with("a/once")));
    let text = String::from_utf8(world.bytes()).unwrap();
    assert!(text.contains("the operator did not approve this call of `a/once`"));
}

/// A store that is gone after so many uses, as everything is when the power goes.
struct Dying {
    store: Arc<MemoryStore>,
    left: AtomicU64,
    /// How often it was used since.
    missed: AtomicU64,
}

impl Dying {
    fn lives(&self) -> bool {
        let lives = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok();
        if !lives {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        lives
    }

    fn store(&self) -> Result<&MemoryStore, StoreError> {
        let gone = || StoreError::Database { source: "the power is gone".into() };
        self.lives().then_some(&*self.store).ok_or_else(gone)
    }
}

impl Tap for Dying {
    fn through<T>(
        &self,
        _: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        match self.lives() {
            true => act(self.store.ledger()),
            false => Err(LedgerError::Store { source: "the power is gone".into() }),
        }
    }
}

impl Store for Tapped<Dying> {
    fn ledger(&self) -> &dyn Ledger {
        self
    }
    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        self.0.store()?.acquire(thread, claim)
    }
    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.0.store()?.release(lease)
    }
    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        match self.0.store() {
            Ok(store) => store.append(lease, lines),
            Err(error) => {
                // What is written while the power goes is written by half, and nothing after it.
                if self.0.missed.load(Ordering::Relaxed) == 1 {
                    drop(self.0.store.append(lease, &lines[..lines.len() / 2]));
                }
                Err(error)
            }
        }
    }
    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        self.0.store()?.sync(lease)
    }
    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        self.0.store()?.cut(lease, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.0.store()?.journal(thread)
    }
}

/// The power goes at every use of the store in turn, money included: every request that was answered is paid at its
/// price, and one that was not at most once more at its worst.
#[tokio::test]
async fn whenever_the_power_goes_it_ends_the_same() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let mut uses = 0;
    loop {
        let mut world = World::new();
        world.key = Arc::clone(&whole.key);
        let left = AtomicU64::new(uses);
        let (store, missed) = (Arc::clone(&world.store), AtomicU64::new(0));
        let dying = Arc::new(Tapped(Dying { store, left, missed }));
        let died = world.begin(Arc::clone(&dying) as _, &Cancel::new()).await;
        if died.is_some_and(|outcome| outcome.failure.is_none()) {
            break;
        }
        drop(dying);
        let before = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
        // Nobody gave the lease back, so that it has to lapse.
        world.clock.advance(10_000);
        let found =
            world.resume("Begin.").await.unwrap_or_else(|error| panic!("after {uses}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "after {uses}");
        let reading = world.reading();
        assert_eq!(visible(&reading), visible(&whole.reading()), "after {uses}");
        let balance = world.store.ledger().open(&thread_id(), world.limits.spend).unwrap();
        assert_eq!((balance.reserved, balance.overrun), (Nanos::ZERO, Nanos::ZERO), "after {uses}");
        assert!(before.settled <= balance.settled, "after {uses}: nothing settled is lost");
        let more = balance.settled.get() - expected.cost.get();
        assert!(
            more == 0 || more <= before.reserved.get(),
            "after {uses}: {more} more than needed"
        );
        uses += if EVERY { 1 } else { 17 };
    }
    assert!(100 < uses, "{uses}");
    progress(&format!(
        "the store was gone after each of {uses} uses: all went on, nothing settled is lost"
    ));
}

#[tokio::test]
async fn what_changed_since_is_named() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(40).unwrap().0 + 1;
    let mut cut = whole.cut(&bytes[..half]);
    cut.limits.turns = 41;
    let error = cut.resume("Begin otherwise.").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the thread cannot go on as it began, because this changed since: its limits, its first message; undo the \
         change, or start the directive again"
    );
    assert_eq!(cut.bytes(), &bytes[..half], "nothing was added");
    assert_eq!(cut.effects(), [""; 0]);
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

#[tokio::test]
async fn an_ended_thread_is_not_driven_on() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let before = world.effects().len();
    // `thread.json` was not written any more: it is, from what the transcript says.
    let found = world.resume("Begin.").await.unwrap();
    assert_eq!(found.state, ThreadState::Completed);
    assert_eq!(world.effects().len(), before);
    let text = String::from_utf8(world.bytes()).unwrap();
    assert_eq!(text.matches(r#""event":"thread_complete""#).count(), 1);
}

/// Records that are signed and still make no run: a call result that nobody asked for.
#[tokio::test]
async fn records_that_contradict_each_other_are_refused() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let forged = World { key: Arc::clone(&world.key), ..World::new() };
    let now = Moment::from_unix_millis(0);
    let lease = forged.store.acquire(&thread_id(), &Claim::new("x", now, now)).unwrap();
    let records = world.reading().records;
    let mut head = rye_sign::chain::Head::genesis();
    for (seq, record) in records
        .iter()
        .filter(|record| record.event != "step_finish" && record.event != "checkpoint")
        .take(6)
        .enumerate()
    {
        let line = json!({
            "seq": seq, "ts": record.at.to_string(), "thread_id": thread_id().as_str(), "directive": "test/greet",
            "event": record.event, "payload": serde_json::from_str::<Value>(record.payload.get()).unwrap(),
            "prev": head.to_string(),
        })
        .to_string();
        head = head.link(line.as_bytes());
        forged.store.append(&lease, format!("{line}\n").as_bytes()).unwrap();
    }
    forged.store.release(&lease).unwrap();
    let error = forged.resume("Begin.").await.unwrap_err();
    assert!(matches!(error, ResumeError::Contradiction { record: 5, .. }), "{error}");
}

/// Whoever sent the folder may have put a link in the place of the readable transcript, which would lead what is written
/// elsewhere: it is left alone, whether there is something at its other end or not, and the thread goes on without the file.
#[cfg(unix)]
#[tokio::test]
async fn a_link_is_not_written_through() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = line_ends(&bytes).nth(39).unwrap();
    for there in [true, false] {
        let cut = whole.cut(&bytes[..half]);
        let folder = cut.place.path().join(thread_id().as_str());
        let (link, elsewhere) = (folder.join("transcript.md"), cut.place.path().join("elsewhere"));
        std::fs::create_dir_all(&folder).unwrap();
        if there {
            std::fs::write(&elsewhere, "kept").unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(outcome(&found), outcome(&expected));
        assert_eq!(
            found.warnings,
            [format!(
                "cannot write `{}`: it is no file of its own; remove it; `transcript.jsonl` has all of it, and a thread that \
                 goes on writes it anew",
                link.display()
            )]
        );
        let found = std::fs::read_to_string(&elsewhere).ok();
        assert_eq!(found.as_deref(), there.then_some("kept"));
        assert!(link.is_symlink());
    }
}

/// Whatever stands in the readable transcript, once the thread went on it is what the records say.
#[tokio::test]
async fn the_readable_transcript_is_written_anew() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let half = bytes.split_inclusive(|byte| *byte == b'\n').take(40).map(<[u8]>::len).sum();
    let mut all = Vec::new();
    for found in [None, Some("# Thread\n\nhalf of"), Some("")] {
        let cut = whole.cut(&bytes[..half]);
        let path = cut.place.path().join(thread_id().as_str()).join("transcript.md");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(found) = found {
            std::fs::write(&path, found).unwrap();
        }
        let found = cut.resume("Begin.").await.unwrap();
        assert_eq!(found.warnings, Vec::<String>::new());
        let events = |text: &str| text.lines().filter(|line| line.starts_with("## ")).count();
        let (text, before) = (std::fs::read_to_string(&path).unwrap(), readable(&whole));
        assert!(text.contains("*Resumed "), "{text}");
        assert_eq!(events(&text), events(&before));
        all.push(text);
    }
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
}

fn readable(world: &World) -> String {
    let folder = world.place.path().join(thread_id().as_str());
    std::fs::read_to_string(folder.join("transcript.md")).unwrap()
}
