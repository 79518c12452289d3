//! Threads that go on after their program was killed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use async_trait::async_trait;
use rye_caps::{Authority, Grant, Layer, LayerName};
use rye_sign::SigningKey;
use rye_thread::budget::{Balance, Ledger, LedgerError, Reservation};
use rye_thread::store::{Claim, Lease, MemoryStore, Store, StoreError};
use rye_thread::transcript::{Reading, read};
use rye_thread::{
    ApprovalRequest, Approver, Asking, Cancel, Clock, Decision, DriveContext, Effect, Journal,
    Limits, Message, Moment, Nanos, Opening, Outcome, Palette, PaletteEntry, Provider,
    ProviderError, ProviderInfo, Registry, ReplayContext, Replayed, Reply, Request, ResumeError,
    Resumed, Run, SpendLimit, StopReason, ThreadId, ThreadRecord, ThreadState, ToolCall,
    ToolOutput, drive, replay, resume,
};
use serde_json::{Value, json};

use crate::doubles::{
    FakeClock, Function, PRICES, call, execute, reply, returns, score, thread_id, tool,
};

/// Answers from the history alone, as a model would, so that it does not matter who asks.
struct Model {
    turns: Vec<Vec<ToolCall>>,
    asked: AtomicU64,
}

#[async_trait]
impl Provider for Model {
    fn describe(&self) -> ProviderInfo {
        let mut info = ProviderInfo::new("scripted", "model-1", 100_000, 2_000);
        info.prices = Some(PRICES);
        info
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let is_answer = |message: &&Message| matches!(message, Message::Assistant { .. });
        let turn = request.messages.iter().filter(is_answer).count();
        let calls = self.turns.get(turn).cloned().unwrap_or_default();
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        // A text of its own in some turns, and a number that only exact reading keeps.
        let text = if turn.is_multiple_of(3) {
            format!("Turn {turn}: 0.1 + 0.2 = 0.30000000000000004")
        } else {
            String::new()
        };
        Ok(reply(&text, calls, stop))
    }
}

/// Built with `RYE_EVERY_BYTE` in the environment, the tests cut at every byte and at every use of the store.
const EVERY: bool = option_env!("RYE_EVERY_BYTE").is_some();

/// Twenty turns: calls of every effect, alone and together, one that is refused, a text without outputs, and the outputs.
fn turns() -> Vec<Vec<ToolCall>> {
    let mut turns: Vec<Vec<ToolCall>> = (0..18)
        .map(|turn| {
            let n = json!({"n": turn});
            let id = |letter: &str| format!("{letter}{turn}");
            match turn % 6 {
                0 => vec![
                    call(&id("a"), "a_read", n.clone()),
                    call(&id("b"), "a_read", n.clone()),
                    call(&id("c"), "a_set", n),
                ],
                1 => vec![call(&id("a"), "a_once", n)],
                2 => vec![execute(&id("a"), "a/once", &n), call(&id("a"), "a_set", n)],
                3 => vec![call(&id("a"), "a_gone", n.clone()), call(&id("b"), "a_read", n)],
                4 => vec![
                    call(&id("a"), "a_once", json!({"n": "no number"})),
                    returns(&id("r"), json!({"score": "x"})),
                ],
                _ => vec![call(&id("a"), "a_set", n.clone()), call(&id("b"), "a_once", n)],
            }
        })
        .collect();
    turns.push(Vec::new());
    turns.push(vec![returns("last", json!({"score": 7}))]);
    turns
}

/// Every run of a tool, by tool and argument.
type Effects = Arc<Mutex<Vec<String>>>;

fn entries(effects: &Effects, asking: Asking) -> Vec<PaletteEntry> {
    let rows =
        [("a/read", Effect::ReadOnly), ("a/set", Effect::Idempotent), ("a/once", Effect::Once)];
    let entry = |(id, effect): (&'static str, Effect)| {
        let effects = Arc::clone(effects);
        let function = Function(move |arguments: Value| {
            effects.lock().unwrap().push(format!("{id} {arguments}"));
            async move { ToolOutput::ok(json!({"did": arguments, "x": 0.1, "big": 1e300})) }
        });
        let asking = if effect == Effect::Once { asking } else { Asking::Never };
        tool(id, effect, function).with_asking(asking)
    };
    rows.into_iter().map(entry).collect()
}

struct Answers(Option<Decision>);

#[async_trait]
impl Approver for Answers {
    async fn decide(&self, _: &ApprovalRequest) -> Option<Decision> {
        self.0
    }
}

/// The world around a thread, which outlives the programs that drive it.
struct World {
    place: tempfile::TempDir,
    key: Arc<SigningKey>,
    store: Arc<MemoryStore>,
    effects: Effects,
    clock: FakeClock,
    limits: Limits,
    asking: Asking,
    approves: Option<Decision>,
    model: Model,
}

impl World {
    fn new() -> Self {
        let mut limits = Limits::default();
        limits.turns = 40;
        limits.spend = SpendLimit::AtMost(Nanos::new(2_000_000_000));
        Self {
            place: tempfile::tempdir().unwrap(),
            key: Arc::new(SigningKey::generate().unwrap()),
            store: Arc::default(),
            effects: Effects::default(),
            clock: FakeClock::default(),
            limits,
            asking: Asking::Never,
            approves: Some(Decision::Approved),
            model: Model { turns: turns(), asked: AtomicU64::new(0) },
        }
    }

    fn record(&self) -> ThreadRecord {
        ThreadRecord::new(&thread_id(), "test/greet", &self.limits, self.clock.now())
    }

    fn registry(&self) -> Arc<Registry> {
        static SHARED: LazyLock<(tempfile::TempDir, Arc<Registry>)> = LazyLock::new(|| {
            let place = tempfile::tempdir().unwrap();
            let registry = Registry::open(&place.path().join("registry.db")).unwrap();
            (place, Arc::new(registry))
        });
        Arc::clone(&SHARED.1)
    }

    fn run(&self, palette: &Palette, first: &str) -> Run {
        let opening =
            Opening { system: Some("Be brief.".to_owned()), first_user_message: first.to_owned() };
        Run::new(opening, palette.specs(&score()), score(), self.limits.clone(), 2_000)
    }

    /// Drives from the beginning, on this store.
    async fn begin(&self, store: Arc<dyn Store>, cancel: &Cancel) -> Option<Outcome> {
        let key = Arc::clone(&self.key);
        let journal = Journal::create(
            self.place.path(),
            self.record(),
            key,
            self.registry(),
            Arc::clone(&store),
        );
        let mut journal = journal.ok()?;
        let palette = Palette::new(entries(&self.effects, self.asking)).unwrap();
        let run = self.run(&palette, "Begin.");
        Some(
            self.with(&palette, &*store, &mut journal, cancel, |context| drive(run, context)).await,
        )
    }

    fn open(&self, store: &Arc<dyn Store>) -> Result<(Journal, Reading), String> {
        std::fs::create_dir_all(self.place.path().join(thread_id().as_str())).unwrap();
        let mut record = self.record();
        record.state = ThreadState::Running;
        let (keys, key) = ([self.key.public()], Arc::clone(&self.key));
        let (registry, store) = (self.registry(), Arc::clone(store));
        Journal::open(self.place.path(), record, &keys, key, registry, store, self.clock.now())
            .map_err(|error| error.to_string())
    }

    /// Goes on from what the store holds.
    async fn resume(&self, first: &str) -> Result<Outcome, ResumeError> {
        let store: Arc<dyn Store> = Arc::clone(&self.store) as _;
        let (mut journal, reading) = self.open(&store).unwrap();
        let palette = Palette::new(entries(&self.effects, self.asking)).unwrap();
        let run = self.run(&palette, first);
        let resumed = Resumed::new(&reading);
        let cancel = Cancel::new();
        self.with(&palette, &*store, &mut journal, &cancel, |context| resume(run, resumed, context))
            .await
    }

    async fn with<'a, T, F: Future<Output = T> + 'a>(
        &'a self,
        palette: &'a Palette,
        store: &'a dyn Store,
        journal: &'a mut Journal,
        cancel: &'a Cancel,
        action: impl FnOnce(DriveContext<'a>) -> F,
    ) -> T
    where
        T: 'a,
    {
        let authority = Box::leak(Box::new(Authority::new(Layer::new(
            LayerName::Operator,
            Grant::everything(),
        ))));
        let approver = Box::leak(Box::new(Answers(self.approves)));
        action(DriveContext {
            provider: &self.model,
            palette,
            authority,
            ledger: store,
            journal,
            clock: &self.clock,
            observer: &(),
            approver,
            cancel,
            injected: &[],
        })
        .await
    }

    /// The real loop over what the store holds, with one text in it put for another first.
    async fn replay(&self, from: &str, to: &str) -> Replayed {
        let mut reading = self.reading();
        for record in &mut reading.records {
            let text = record.payload.get().replace(from, to);
            record.payload = serde_json::value::RawValue::from_string(text).unwrap();
        }
        let palette = Palette::new(entries(&self.effects, self.asking)).unwrap();
        let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
        let context = ReplayContext {
            info: &self.model.describe(),
            palette: &palette,
            authority: &authority,
            injected: &[],
            record: &self.record(),
        };
        replay(self.run(&palette, "Begin."), &reading, context).await.unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        self.store.journal(&thread_id()).unwrap()
    }

    fn reading(&self) -> Reading {
        read(&self.bytes(), &thread_id(), &[self.key.public()]).unwrap()
    }

    /// The same world with the first bytes of a transcript in it.
    fn cut(&self, bytes: &[u8]) -> Self {
        let cut = Self {
            key: Arc::clone(&self.key),
            asking: self.asking,
            approves: self.approves,
            ..Self::new()
        };
        let lease = cut
            .store
            .acquire(&thread_id(), &Claim::new("cut", cut.clock.now(), cut.clock.now()))
            .unwrap();
        cut.store.append(&lease, bytes).unwrap();
        cut.store.release(&lease).unwrap();
        cut
    }

    fn effects(&self) -> Vec<String> {
        self.effects.lock().unwrap().clone()
    }
}

/// What a model saw and said, in order: what a resumed thread must have in common with one that was not interrupted.
fn visible(reading: &Reading) -> Vec<String> {
    let kept = ["system_prompt", "user_message", "step_finish", "tool_call_result"];
    let records = reading.records.iter().filter(|record| kept.contains(&record.event.as_str()));
    records.map(|record| format!("{} {}", record.event, record.payload.get())).collect()
}

fn count(reading: &Reading, event: &str) -> usize {
    reading.records.iter().filter(|record| record.event == event).count()
}

fn outcome(outcome: &Outcome) -> String {
    let Outcome { state, outputs, text, turns, usage, failure, .. } = outcome;
    format!("{state} {} {text} {turns} {usage:?} {failure:?}", json!(outputs))
}

/// Cut after every record, and resumed: the same end, the same history, and no effect twice that had a receipt.
#[tokio::test]
async fn cut_after_any_record_it_ends_the_same() {
    let whole = World::new();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    assert_eq!(expected.turns, 20);
    let (bytes, reading) = (whole.bytes(), whole.reading());
    let mut end = 0;
    for line in std::iter::once(&b""[..]).chain(bytes.split_inclusive(|byte| *byte == b'\n')) {
        end += line.len();
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
fn assert_effects(all: &[String], after: &[String], before: &Reading, cut: usize) {
    let receipts = before.records.iter().filter(|record| {
        record.event == "tool_call_result" && record.payload.get().contains(r#""did""#)
    });
    let (mut expected, mut after) = (all[receipts.count()..].to_vec(), after.to_vec());
    // Calls that run in parallel come in any order.
    expected.sort();
    after.sort();
    assert_eq!(after, expected, "cut at {cut}");
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
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
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
}

impl Dying {
    fn lives(&self) -> bool {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
    }

    fn store(&self) -> Result<&MemoryStore, StoreError> {
        let gone = || StoreError::Database { source: "the power is gone".into() };
        self.lives().then_some(&*self.store).ok_or_else(gone)
    }

    fn ledger(&self) -> Result<&MemoryStore, LedgerError> {
        let gone = || LedgerError::Store { source: "the power is gone".into() };
        self.lives().then_some(&*self.store).ok_or_else(gone)
    }
}

impl Store for Dying {
    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        self.store()?.acquire(thread, claim)
    }
    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.store()?.release(lease)
    }
    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        match self.store() {
            Ok(store) => store.append(lease, lines),
            Err(error) => {
                // The first write after which there is nothing is written by half.
                if self.left.swap(u64::MAX, Ordering::Relaxed) == 0 {
                    drop(self.store.append(lease, &lines[..lines.len() / 2]));
                    self.left.store(0, Ordering::Relaxed);
                }
                Err(error)
            }
        }
    }
    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        self.store()?.sync(lease)
    }
    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        self.store()?.cut(lease, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store()?.journal(thread)
    }
}

impl Ledger for Dying {
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        self.ledger()?.open(thread, cap)
    }
    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        self.ledger()?.reserve(thread, amount)
    }
    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        self.ledger()?.settle(reservation, actual)
    }
    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        self.ledger()?.unsettled(thread)
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
        let dying = Arc::new(Dying { store: Arc::clone(&world.store), left: AtomicU64::new(uses) });
        let died = world.begin(Arc::clone(&dying) as _, &Cancel::new()).await;
        if died.is_some_and(|outcome| outcome.failure.is_none()) {
            break;
        }
        drop(dying);
        let before = world.store.open(&thread_id(), world.limits.spend).unwrap();
        // Nobody gave the lease back, so that it has to lapse.
        world.clock.advance(10_000);
        let found =
            world.resume("Begin.").await.unwrap_or_else(|error| panic!("after {uses}: {error}"));
        assert_eq!(outcome(&found), outcome(&expected), "after {uses}");
        let reading = world.reading();
        assert_eq!(visible(&reading), visible(&whole.reading()), "after {uses}");
        let balance = world.store.open(&thread_id(), world.limits.spend).unwrap();
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

/// Nothing is asked and nothing happens, and what the model saw is the same.
#[tokio::test]
async fn a_replay_is_what_happened() {
    for asking in [Asking::Never, Asking::Always] {
        let mut world = World::new();
        world.asking = asking;
        world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
        let (asked, effects, bytes) =
            (world.model.asked.load(Ordering::Relaxed), world.effects(), world.bytes());
        let replayed = world.replay("", "").await;
        assert_eq!(replayed.divergence, None);
        assert_eq!((replayed.turns, &replayed.recorded), (20, &replayed.replayed));
        assert_eq!(world.model.asked.load(Ordering::Relaxed), asked, "nothing is requested");
        assert_eq!(world.effects(), effects, "nothing happens");
        assert_eq!(world.bytes(), bytes, "nothing is recorded");
    }
}

/// One recorded text changed: the first thing that differs from what the loop makes of it is named.
#[tokio::test]
async fn a_replay_names_the_first_divergence() {
    let world = World::new();
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    let rows = [
        (r#""text":"Be brief.""#, r#""text":"Be long.""#, "the system prompt"),
        (r#""text":"Begin.""#, r#""text":"End.""#, "the first message"),
        (
            r#"{"id":"a1","name":"a_once","arguments":{"read":{"n":1}}}"#,
            r#"{"id":"a1","name":"a_once","arguments":{"read":{"n":99}}}"#,
            "call 1 of turn 2",
        ),
        (r#"{"id":"a1","name":"a_once""#, r#"{"id":"a1","name":"a_set""#, "call 1 of turn 2"),
        (
            "another call of the same turn failed",
            "one call of the same turn failed",
            "the result of call 2 of turn 5",
        ),
        (r#"{"score":{"read":7}}"#, r#"{"score":{"read":7}}"#, ""),
        (
            r#""arguments":{"read":{"score":7}}"#,
            r#""arguments":{"read":{"score":8}}"#,
            "call 1 of turn 20",
        ),
        (r#""outputs":{"score":7}"#, r#""outputs":{"score":8}"#, "the end"),
    ];
    for (from, to, what) in rows {
        let replayed = world.replay(from, to).await;
        let found = replayed.divergence.map_or(String::new(), |divergence| divergence.what);
        assert_eq!(found, what, "{from}");
        assert_eq!(replayed.recorded == replayed.replayed, what.is_empty(), "{from}");
    }
}

/// Whatever is there of a thread can be replayed.
#[tokio::test]
async fn half_a_thread_is_replayed_as_far_as_it_came() {
    let whole = World::new();
    whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    let bytes = whole.bytes();
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let replayed = whole.cut(&bytes[..end]).replay("", "").await;
        assert_eq!(replayed.divergence, None, "cut at {end}");
    }
}
