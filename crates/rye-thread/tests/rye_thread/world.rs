//! A thread of twenty turns, and the world around it, which outlives the programs that drive it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use async_trait::async_trait;
use rye_caps::{Authority, Grant, Layer, LayerName};
use rye_sign::SigningKey;
use rye_thread::store::{MemoryStore, Store};
use rye_thread::transcript::payload::{RequestRetried, StepFinish};
use rye_thread::transcript::{Event, Reading, read};
use rye_thread::{
    Account, Approver, Asking, Cancel, Clock, Decision, DriveContext, Hooks, Journal, JournalError,
    Message, Opening, Outcome, Palette, PaletteEntry, Provider, ProviderError, ProviderErrorClass,
    ProviderInfo, Registry, ReplayContext, Replayed, Reply, Request, ResumeError, Resumed, Run,
    StopReason, ThreadRecord, ToolCall, ToolOutput, drive, replay, resume,
};
use rye_types::{Effect, LimitSet, Nanos, RaisedLimits, SpendLimit, ThreadState, Usage};
use serde_json::{Value, json};

use crate::doubles::{
    FakeClock, Function, Judge, PRICES, Says, account, call, execute, reply, returns, score,
    thread_id, tool,
};
use crate::family::in_memory;
use crate::sweep::{is_whole, sweep};

/// Answers from the history alone, as a model would, so that it does not matter who asks.
pub(crate) struct Model {
    pub(crate) turns: Vec<Vec<ToolCall>>,
    pub(crate) asked: AtomicU64,
    /// A clock that moves on by a second with each answer.
    pub(crate) slow: Option<Arc<FakeClock>>,
    /// The turn whose first request fails.
    pub(crate) fails: Option<(usize, ProviderErrorClass)>,
    pub(crate) has_failed: AtomicBool,
    /// The first answers of a turn.
    pub(crate) spoils: Option<Spoilt>,
    pub(crate) spoilt: AtomicU64,
    /// The tokens of each answer, where they are not those of [`reply`].
    pub(crate) usage: Option<Usage>,
    /// The turn whose answer costs far more than was reserved for it.
    pub(crate) overruns: Option<usize>,
}

/// A turn, the number of its answers that cannot be used, and each of them.
pub(crate) type Spoilt = (usize, u64, fn() -> Reply);

impl Model {
    pub(crate) fn new(turns: Vec<Vec<ToolCall>>) -> Self {
        let (asked, has_failed) = (AtomicU64::new(0), AtomicBool::new(false));
        let (slow, fails, usage, overruns) = (None, None, None, None);
        let (spoils, spoilt) = (None, AtomicU64::new(0));
        Self { turns, asked, slow, fails, has_failed, spoils, spoilt, usage, overruns }
    }
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
        self.slow.iter().for_each(|clock| clock.advance(1));
        let is_answer = |message: &&Message| matches!(message, Message::Assistant { .. });
        let turn = request.messages.iter().filter(is_answer).count();
        if let Some((_, class)) = self.fails.filter(|(failing, _)| *failing == turn)
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            return Err(ProviderError::new(class, "it is down"));
        }
        if let Some((_, count, spoilt)) = self.spoils.filter(|(at, ..)| *at == turn)
            && self.spoilt.fetch_add(1, Ordering::Relaxed) < count
        {
            return Ok(spoilt());
        }
        let calls = self.turns.get(turn).cloned().unwrap_or_default();
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        // A text of its own in some turns, and a number that only exact reading keeps.
        let text = if turn.is_multiple_of(3) {
            format!("Turn {turn}: 0.1 + 0.2 = 0.30000000000000004")
        } else {
            String::new()
        };
        let mut reply = reply(&text, calls, stop);
        reply.usage = self.usage.unwrap_or(reply.usage);
        if self.overruns == Some(turn) {
            reply.usage = Usage::new(50_000, 10);
        }
        Ok(reply)
    }
}

/// Built with `RYE_EVERY_BYTE` in the environment, the tests cut at every byte and at every use of the store.
pub(crate) const EVERY: bool = option_env!("RYE_EVERY_BYTE").is_some();

/// Tells who has everything cut how far a test of minutes has come.
#[expect(clippy::print_stderr, reason = "nobody waits for minutes without a sign of life")]
pub(crate) fn progress(told: &str) {
    if EVERY {
        eprintln!("{told}");
    }
}

/// Twenty turns: calls of every effect, alone and together, one that is refused, a text without outputs, and the outputs.
pub(crate) fn turns() -> Vec<Vec<ToolCall>> {
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

/// Where each record of a transcript ends.
pub(crate) fn line_ends(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(place, _)| place + 1)
}

/// The ends of records at which a test cuts a transcript: a part that is evenly spread, and the first end of each kind of record.
pub(crate) fn cuts(bytes: &[u8]) -> Vec<usize> {
    let mut kinds = BTreeSet::new();
    let mut is_new = |line: &[u8]| {
        let record: Value = serde_json::from_slice(line).unwrap();
        kinds.insert(record["event"].as_str().unwrap().to_owned())
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let firsts = line_ends(bytes).zip(lines).filter(|(_, line)| is_new(line));
    let mut cuts: BTreeSet<usize> = firsts.map(|(end, _)| end).collect();
    cuts.extend(sweep(line_ends(bytes), 0, 5));
    cuts.into_iter().collect()
}

/// The distance between the places of a sweep: 1 if everything is tried, `usual` in a whole sweep, and four times as much in a part.
pub(crate) fn stride(usual: usize) -> usize {
    match (EVERY, is_whole()) {
        (true, _) => 1,
        (false, true) => usual,
        (false, false) => 4 * usual,
    }
}

/// The events that count only under a checkpoint.
const SIGNED: [&str; 6] = [
    "approval_decided",
    "thread_complete",
    "thread_continued",
    "thread_error",
    "thread_resumed",
    "thread_start",
];

/// How many of these bytes count: those of whole records, as far as a checkpoint covers what needs one.
pub(crate) fn counted(bytes: &[u8]) -> usize {
    let (mut end, mut unsigned) = (0, None);
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|it| it.ends_with(b"\n")) {
        let text = std::str::from_utf8(line).unwrap();
        let is = |event: &str| text.contains(&format!(r#""event":"{event}","#));
        if is("checkpoint") {
            unsigned = None;
        } else if SIGNED.into_iter().any(is) {
            unsigned = unsigned.or(Some(end));
        }
        end += line.len();
    }
    unsigned.unwrap_or(end)
}

/// Every run of a tool, by tool and argument.
pub(crate) type Effects = Arc<Mutex<Vec<String>>>;

pub(crate) fn entries(effects: &Effects, asking: Asking) -> Vec<PaletteEntry> {
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

/// Makes operations on items that leave their effects here.
type Operations = Box<dyn Fn(&Effects) -> Vec<PaletteEntry> + Send + Sync>;

/// The world around a thread, which outlives the programs that drive it.
pub(crate) struct World {
    pub(crate) place: tempfile::TempDir,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) effects: Effects,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) limits: LimitSet,
    pub(crate) asking: Asking,
    pub(crate) approves: Option<Decision>,
    pub(crate) decides: Option<Judge>,
    /// Somebody else who is asked.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) model: Model,
    pub(crate) hooks: Hooks,
    /// Tools beside those of [`entries`].
    pub(crate) more: Box<dyn Fn() -> Vec<PaletteEntry> + Send + Sync>,
    /// Operations on items.
    pub(crate) operations: Operations,
}

impl World {
    pub(crate) fn new() -> Self {
        let limits = LimitSet {
            turns: 40,
            spend: SpendLimit::AtMost(Nanos::new(2_000_000_000)),
            ..LimitSet::default()
        };
        Self {
            place: in_memory(),
            key: Arc::new(SigningKey::generate().unwrap()),
            store: Arc::default(),
            effects: Effects::default(),
            clock: Arc::default(),
            limits,
            asking: Asking::Never,
            approves: Some(Decision::Approved),
            decides: None,
            approver: None,
            model: Model::new(turns()),
            hooks: Hooks::none(),
            more: Box::new(Vec::new),
            operations: Box::new(|_| Vec::new()),
        }
    }

    pub(crate) fn record(&self) -> ThreadRecord {
        ThreadRecord::new(&thread_id(), "test/greet", &self.limits, self.clock.now())
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        static SHARED: LazyLock<(tempfile::TempDir, Arc<Registry>)> = LazyLock::new(|| {
            let place = tempfile::tempdir().unwrap();
            let registry = Registry::open(&place.path().join("registry.db")).unwrap();
            (place, Arc::new(registry))
        });
        Arc::clone(&SHARED.1)
    }

    fn palette(&self) -> Palette {
        let mut all = entries(&self.effects, self.asking);
        all.extend((self.more)());
        let operations = (self.operations)(&self.effects);
        Palette::new(all).unwrap().with_operations(operations, |_| true).unwrap()
    }

    pub(crate) fn run(&self, palette: &Palette, first: &str) -> Run {
        let opening =
            Opening { system: Some("Be brief.".to_owned()), first_user_message: first.to_owned() };
        Run::new(opening, palette.specs(&score()), score(), self.limits.clone(), 2_000)
    }

    /// Drives from the beginning, on this store.
    pub(crate) async fn begin(&self, store: Arc<dyn Store>, cancel: &Cancel) -> Option<Outcome> {
        let key = Arc::clone(&self.key);
        let journal = Journal::create(
            self.place.path(),
            self.record(),
            key,
            self.registry(),
            Arc::clone(&store),
        );
        let mut journal = journal.ok()?;
        let palette = self.palette();
        let run = self.run(&palette, "Begin.");
        Some(self.with(&palette, &mut journal, cancel, |context| drive(run, context)).await)
    }

    pub(crate) fn open(&self, store: &Arc<dyn Store>) -> Result<(Journal, Reading), String> {
        std::fs::create_dir_all(self.place.path().join(thread_id().as_str())).unwrap();
        let mut record = self.record();
        record.state = ThreadState::Running;
        let (keys, key) = ([self.key.public()], Arc::clone(&self.key));
        let (registry, store) = (self.registry(), Arc::clone(store));
        Journal::open(self.place.path(), record, &keys, key, registry, store)
            .map_err(|error| error.to_string())
    }

    /// Goes on from what the store holds.
    pub(crate) async fn resume(&self, first: &str) -> Result<Outcome, ResumeError> {
        self.resume_from(first, |_| ()).await
    }

    /// Goes on from what the store holds, as `change` leaves it.
    pub(crate) async fn resume_from(
        &self,
        first: &str,
        change: impl FnOnce(&mut Reading),
    ) -> Result<Outcome, ResumeError> {
        self.resume_with(first, change, |_| ()).await
    }

    /// Goes on after an end, as the operator wants it to.
    pub(crate) async fn reopen(&self, raised: RaisedLimits) -> Result<Outcome, ResumeError> {
        let reopens =
            |resumed: &mut Resumed<'_>| (resumed.reopens, resumed.raised) = (true, raised);
        self.resume_with("Begin.", |_| (), reopens).await
    }

    async fn resume_with(
        &self,
        first: &str,
        change: impl FnOnce(&mut Reading),
        opened: impl FnOnce(&mut Resumed<'_>),
    ) -> Result<Outcome, ResumeError> {
        let store: Arc<dyn Store> = Arc::clone(&self.store) as _;
        let (mut journal, mut reading) = self.open(&store).unwrap();
        change(&mut reading);
        let palette = self.palette();
        let run = self.run(&palette, first);
        let mut resumed = Resumed::new(&reading);
        opened(&mut resumed);
        let cancel = Cancel::new();
        self.with(&palette, &mut journal, &cancel, |context| resume(run, resumed, context)).await
    }

    async fn with<'a, T, F: Future<Output = T> + 'a>(
        &'a self,
        palette: &'a Palette,
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
        let says: &dyn Approver =
            Box::leak(Box::new(Says { approves: self.approves.clone(), decides: self.decides }));
        let approver = self.approver.as_deref().unwrap_or(says);
        action(DriveContext {
            provider: &self.model,
            palette,
            authority,
            journal,
            clock: &*self.clock,
            observer: &(),
            approver,
            cancel,
            injected: &[],
            hooks: &self.hooks,
        })
        .await
    }

    /// The real loop over what the store holds, with one text in it put for another first.
    pub(crate) async fn replay(&self, from: &str, to: &str) -> Replayed {
        self.try_replay(from, to).await.unwrap()
    }

    pub(crate) async fn try_replay(&self, from: &str, to: &str) -> Result<Replayed, JournalError> {
        let mut reading = self.reading();
        for record in &mut reading.records {
            let text = record.payload.get().replace(from, to);
            record.payload = serde_json::value::RawValue::from_string(text).unwrap();
        }
        let palette = self.palette();
        let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
        let context = ReplayContext {
            info: &self.model.describe(),
            palette: &palette,
            authority: &authority,
            injected: &[],
            hooks: &self.hooks,
            record: &self.record(),
        };
        replay(self.run(&palette, "Begin."), &reading, context).await
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.store.journal(&thread_id()).unwrap()
    }

    /// What the thread has spent and holds, by its transcript.
    pub(crate) fn account(&self) -> Account {
        account(&self.reading())
    }

    pub(crate) fn reading(&self) -> Reading {
        read(&self.bytes(), &thread_id(), &[self.key.public()]).unwrap()
    }

    /// The verified `thread.json`.
    pub(crate) fn summary(&self) -> ThreadRecord {
        let folder = self.place.path().join(thread_id().as_str());
        ThreadRecord::read(&folder, &[self.key.public()]).unwrap()
    }

    /// The same world with the first bytes of a transcript in it.
    pub(crate) fn cut(&self, bytes: &[u8]) -> Self {
        let cut = Self {
            key: Arc::clone(&self.key),
            asking: self.asking,
            approves: self.approves.clone(),
            decides: self.decides,
            model: Model::new(self.model.turns.clone()),
            ..Self::new()
        };
        let ownership = cut.store.acquire(&thread_id(), &thread_id()).unwrap();
        cut.store.append(&ownership, bytes).unwrap();
        cut.store.release(&ownership);
        cut
    }

    pub(crate) fn effects(&self) -> Vec<String> {
        self.effects.lock().unwrap().clone()
    }
}

/// What a model saw and said, in order: what a resumed thread must have in common with one that was not interrupted.
pub(crate) fn visible(reading: &Reading) -> Vec<String> {
    let kept = ["system_prompt", "user_message", "step_finish", "tool_call_result"];
    let records = reading.records.iter().filter(|record| kept.contains(&record.name()));
    records.map(|record| format!("{} {}", record.name(), record.payload.get())).collect()
}

pub(crate) fn count(reading: &Reading, event: &str) -> usize {
    reading.records.iter().filter(|record| record.name() == event).count()
}

pub(crate) fn outcome(outcome: &Outcome) -> String {
    format!("{} {:?}", ended_as(outcome), outcome.usage)
}

/// How the thread ended, without its tokens, which answers that are not used may add to.
pub(crate) fn ended_as(outcome: &Outcome) -> String {
    let Outcome { state, outputs, text, turns, failure, .. } = outcome;
    format!("{state} {} {text} {turns} {failure:?}", json!(outputs))
}

/// The tokens of all answers on record, those that were used and those that were not.
pub(crate) fn tokens(reading: &Reading) -> Usage {
    let usage = |event| match event {
        Event::StepFinish(StepFinish { reply, .. }) => reply.usage,
        Event::RequestRetried(RequestRetried { usage, .. }) => usage.unwrap_or_default(),
        _ => Usage::default(),
    };
    let events = reading.records.iter().map(|record| record.event().unwrap());
    events.map(usage).fold(Usage::default(), |sum, more| sum.plus(&more))
}
