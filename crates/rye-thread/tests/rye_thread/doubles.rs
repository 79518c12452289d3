//! A scripted provider, a clock that stands still, tools made of functions, and a thread put together from them.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Permit, Primary};
use rye_sign::SigningKey;
use rye_thread::budget::{Ledger, MemoryLedger};
use rye_thread::store::LocalStore;
use rye_thread::transcript::{Event, Injected, Reading, read_file};
use rye_thread::{
    ApprovalRequest, Approver, Cancel, Charge, Clock, Decision, Delta, DeltaSink, DriveContext,
    Effect, Hooks, Journal, Limits, Moment, Nanos, Observer, Opening, Outcome, OutputContract,
    OutputField, OutputType, Palette, PaletteEntry, Prices, Provider, ProviderError,
    ProviderErrorClass, ProviderInfo, Registry, ReplayContext, Replayed, Reply, Request, Run,
    StopReason, ThreadId, ThreadRecord, Tool, ToolCall, ToolOutput, ToolSpec, Usage, drive, replay,
};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// What the provider does when it is asked once more.
pub(crate) enum Turn {
    Reply(Reply),
    Fail(ProviderError),
    Hang,
    /// Waits for ever before another attempt, after one that cost nothing.
    Wait,
    /// Runs first.
    After(Box<dyn Fn() + Send + Sync>, Box<Turn>),
}

pub(crate) fn says(text: &str) -> Turn {
    Turn::Reply(reply(text, Vec::new(), StopReason::EndTurn))
}

pub(crate) fn calls(calls: Vec<ToolCall>) -> Turn {
    Turn::Reply(reply("", calls, StopReason::ToolUse))
}

pub(crate) fn fails(class: ProviderErrorClass) -> Turn {
    Turn::Fail(ProviderError::new(class, "the provider failed"))
}

pub(crate) fn after(action: impl Fn() + Send + Sync + 'static, turn: Turn) -> Turn {
    Turn::After(Box::new(action), Box::new(turn))
}

pub(crate) fn reply(text: &str, calls: Vec<ToolCall>, stop: StopReason) -> Reply {
    let mut reply = Reply::new(to_raw_value(&json!([{"text": text}])).unwrap(), stop);
    text.clone_into(&mut reply.text);
    reply.calls = calls;
    reply.usage = Usage::new(100, 10);
    reply
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

pub(crate) fn execute(id: &str, item_id: &str, parameters: &Value) -> ToolCall {
    call(
        id,
        "rye_execute",
        json!({"item_type": "tool", "item_id": item_id, "parameters": parameters}),
    )
}

pub(crate) fn returns(id: &str, outputs: Value) -> ToolCall {
    call(id, "rye_agent_threads_directive_return", outputs)
}

/// One dollar for a million tokens of either sort.
pub(crate) const PRICES: Prices = Prices::new(Nanos::new(1_000_000_000), Nanos::new(1_000_000_000));

pub(crate) struct Script {
    info: ProviderInfo,
    turns: Mutex<VecDeque<Turn>>,
    requests: Mutex<Vec<Request>>,
    fallback: Option<Box<Script>>,
}

impl Script {
    fn new(info: ProviderInfo, turns: Vec<Turn>) -> Self {
        Self { info, turns: Mutex::new(turns.into()), requests: Mutex::default(), fallback: None }
    }
}

#[async_trait]
impl Provider for Script {
    fn describe(&self) -> ProviderInfo {
        self.info.clone()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ProviderError> {
        self.requests.lock().unwrap().push(request.clone());
        let mut turn = self
            .turns
            .lock()
            .unwrap()
            .pop_front()
            .expect("a request that the script does not have");
        if let Turn::After(action, then) = turn {
            action();
            turn = *then;
        }
        match turn {
            Turn::Reply(reply) => Ok(reply),
            Turn::Fail(error) => Err(error),
            Turn::Hang | Turn::Wait | Turn::After(..) => std::future::pending().await,
        }
    }

    async fn stream(
        &self,
        request: &Request,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        fn waits(turn: &Turn) -> bool {
            match turn {
                Turn::After(_, then) => waits(then),
                turn => matches!(turn, Turn::Wait),
            }
        }
        if self.turns.lock().unwrap().front().is_some_and(waits) {
            deltas.charge(Charge::Nothing);
        }
        let reply = self.complete(request).await?;
        deltas.delta(Delta::Text(&reply.text));
        Ok(reply)
    }

    fn fallback(&self) -> Option<&dyn Provider> {
        self.fallback.as_deref().map(|script| script as &dyn Provider)
    }
}

/// Stands still until somebody moves it.
#[derive(Default)]
pub(crate) struct FakeClock(AtomicU64);

impl FakeClock {
    pub(crate) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Moment {
        let seconds = i64::try_from(self.0.load(Ordering::Relaxed)).unwrap();
        Moment::from_unix_millis(1_795_197_600_000 + 1_000 * seconds)
    }

    fn elapsed(&self) -> Duration {
        // A clock may start anywhere.
        Duration::from_secs(5_000 + self.0.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
struct Watching {
    events: Mutex<Vec<String>>,
    deltas: Mutex<Vec<String>>,
    records: Mutex<String>,
}

impl Observer for Watching {
    fn record(&self, line: &str) {
        self.records.lock().unwrap().push_str(&format!("{line}\n"));
    }

    fn event(&self, event: &Event) {
        self.events.lock().unwrap().push(event.name().to_owned());
    }

    fn delta(&self, delta: Delta<'_>) {
        self.deltas.lock().unwrap().push(format!("{delta:?}"));
    }
}

/// A tool that is one function.
pub(crate) struct Function<F>(pub F);

#[async_trait]
impl<F, R> Tool for Function<F>
where
    F: Fn(Value) -> R + Send + Sync,
    R: Future<Output = ToolOutput> + Send,
{
    async fn call(&self, permit: &Permit, arguments: Value) -> ToolOutput {
        assert!(permit.capability().as_str().starts_with("rye.execute.tool."));
        (self.0)(arguments).await
    }
}

/// A tool that takes an optional whole number `n`.
pub(crate) fn tool(id: &str, effect: Effect, tool: impl Tool + 'static) -> PaletteEntry {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": false,
    });
    let capability = Capability::new(Primary::Execute, Kind::Tool, id).unwrap();
    PaletteEntry::new(id, ToolSpec::new("", "A tool.", schema), capability, effect, Arc::new(tool))
}

/// A tool that gives its arguments back.
pub(crate) fn echo(id: &str, effect: Effect) -> PaletteEntry {
    tool(id, effect, Function(|arguments| async { ToolOutput::ok(arguments) }))
}

pub(crate) fn score() -> OutputContract {
    OutputContract::new(vec![OutputField::required("score", OutputType::Integer)]).unwrap()
}

/// Everything that a thread is made of, to be changed before it is run.
pub(crate) struct Thread {
    pub(crate) script: Vec<Turn>,
    pub(crate) entries: Vec<PaletteEntry>,
    pub(crate) grant: Grant,
    pub(crate) contract: OutputContract,
    pub(crate) limits: Limits,
    pub(crate) info: ProviderInfo,
    pub(crate) fallback: Option<(ProviderInfo, Vec<Turn>)>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) cancel: Cancel,
    pub(crate) place: Arc<TempDir>,
    pub(crate) injected: Vec<Injected>,
    pub(crate) hooks: Hooks,
    pub(crate) approves: Option<Decision>,
    /// What is said of a request, in place of `approves`.
    pub(crate) decides: Option<Judge>,
    pub(crate) facts: Map<String, Value>,
}

impl Thread {
    pub(crate) fn new(script: Vec<Turn>) -> Self {
        let mut info = ProviderInfo::new("scripted", "model-1", 100_000, 2_000);
        info.prices = Some(PRICES);
        Self {
            script,
            entries: Vec::new(),
            grant: Grant::everything(),
            contract: OutputContract::default(),
            limits: Limits::default(),
            info,
            fallback: None,
            ledger: Arc::new(MemoryLedger::new()),
            clock: Arc::default(),
            cancel: Cancel::new(),
            place: Arc::new(tempfile::tempdir().unwrap()),
            injected: Vec::new(),
            hooks: Hooks::none(),
            approves: None,
            decides: None,
            facts: Map::new(),
        }
    }

    pub(crate) fn with(mut self, entry: PaletteEntry) -> Self {
        self.entries.push(entry);
        self
    }

    pub(crate) fn granting(mut self, grant: Result<Grant, impl std::fmt::Debug>) -> Self {
        self.grant = grant.unwrap();
        self
    }

    pub(crate) fn returning(mut self, contract: OutputContract) -> Self {
        self.contract = contract;
        self
    }

    fn journal(&self, key: &Arc<SigningKey>, registry: &Arc<Registry>) -> Journal {
        let threads = self.place.path().join("threads");
        let store = Arc::new(LocalStore::open(&threads).unwrap());
        let now = self.clock.now();
        let mut record = ThreadRecord::new(&thread_id(), "test/greet", &self.limits, now);
        record.facts = self.facts.clone();
        Journal::create(&threads, record, Arc::clone(key), Arc::clone(registry), store).unwrap()
    }

    pub(crate) async fn drive(self) -> Driven {
        let key = Arc::new(SigningKey::generate().unwrap());
        let registry = Arc::new(Registry::open(&self.place.path().join("registry.db")).unwrap());
        let mut journal = self.journal(&key, &registry);
        let palette = Palette::new(self.entries).unwrap();
        let opening = Opening {
            system: Some("Be brief.".to_owned()),
            first_user_message: "Begin.".to_owned(),
        };
        let specs = palette.specs(&self.contract);
        let run =
            Run::new(opening, specs, self.contract, self.limits.clone(), self.info.max_output);
        let (again, info) = (run.clone(), self.info.clone());
        let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()))
            .narrow(Layer::new(LayerName::Directive("test/greet".to_owned()), self.grant));
        let mut script = Script::new(self.info, self.script);
        script.fallback = self.fallback.map(|(info, turns)| Box::new(Script::new(info, turns)));
        let watching = Watching::default();
        let context = DriveContext {
            provider: &script,
            palette: &palette,
            authority: &authority,
            ledger: &*self.ledger,
            journal: &mut journal,
            clock: &*self.clock,
            observer: &watching,
            approver: &Says { approves: self.approves, decides: self.decides },
            cancel: &self.cancel,
            injected: &self.injected,
            hooks: &self.hooks,
        };
        let outcome = drive(run, context).await;
        check_told(&journal, &watching);
        let context = ReplayContext {
            info: &info,
            palette: &palette,
            authority: &authority,
            injected: &self.injected,
            hooks: &self.hooks,
            record: journal.record(),
        };
        let replayed = replayed(again, &journal, &key, context).await;
        Driven {
            outcome,
            replayed,
            requests: script.requests.into_inner().unwrap(),
            watched: watching.events.into_inner().unwrap(),
            deltas: watching.deltas.into_inner().unwrap(),
            left: script.turns.into_inner().unwrap().len(),
            key,
            registry,
            limits: self.limits,
            ledger: self.ledger,
            place: self.place,
        }
    }
}

/// Whatever a test is about: who watches is told what is recorded, byte for byte, unless it could not be written.
fn check_told(journal: &Journal, watching: &Watching) {
    let transcript = std::fs::read_to_string(journal.folder().join("transcript.jsonl"));
    let told = watching.records.lock().unwrap();
    assert!(transcript.is_err() || told.starts_with(&transcript.unwrap()), "{told}");
}

/// What a replay of a transcript comes to, where that can be read.
async fn replayed(
    run: Run,
    journal: &Journal,
    key: &SigningKey,
    context: ReplayContext<'_>,
) -> Option<Replayed> {
    let path = journal.folder().join("transcript.jsonl");
    let reading = read_file(&path, &thread_id(), &[key.public()]).ok()?;
    Some(replay(run, &reading, context).await.unwrap())
}

/// Somebody who looks at the request.
pub(crate) type Judge = fn(&ApprovalRequest) -> Decision;

/// Somebody who always says the same, or nobody; unless somebody looks at the request.
pub(crate) struct Says {
    pub(crate) approves: Option<Decision>,
    pub(crate) decides: Option<Judge>,
}

#[async_trait]
impl Approver for Says {
    async fn decide(&self, request: &ApprovalRequest) -> Option<Decision> {
        self.decides.map(|judge| judge(request)).or(self.approves)
    }
}

pub(crate) fn thread_id() -> ThreadId {
    ThreadId::new("test/greet", "019a0000-0000-7000-8000-000000000001").unwrap()
}

/// What is left of a thread.
pub(crate) struct Driven {
    pub(crate) outcome: Outcome,
    /// What a replay of its transcript came to, where that could be read.
    pub(crate) replayed: Option<Replayed>,
    pub(crate) requests: Vec<Request>,
    pub(crate) watched: Vec<String>,
    pub(crate) deltas: Vec<String>,
    /// Turns of the script that were not asked for.
    pub(crate) left: usize,
    pub(crate) registry: Arc<Registry>,
    key: Arc<SigningKey>,
    limits: Limits,
    ledger: Arc<dyn Ledger>,
    place: Arc<TempDir>,
}

impl Driven {
    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().join("threads").join(thread_id().as_str())
    }

    pub(crate) fn record(&self) -> ThreadRecord {
        ThreadRecord::read(&self.folder(), &[self.key.public()]).unwrap()
    }

    /// The transcript, which must be whole.
    pub(crate) fn transcript(&self) -> Reading {
        let path = self.folder().join("transcript.jsonl");
        read_file(&path, &thread_id(), &[self.key.public()]).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.transcript().records.into_iter().map(|record| record.event).collect()
    }

    /// The payloads of the events of this name.
    pub(crate) fn payloads(&self, event: &str) -> Vec<Value> {
        let records = self.transcript().records.into_iter().filter(|record| record.event == event);
        records.map(|record| serde_json::from_str(record.payload.get()).unwrap()).collect()
    }

    pub(crate) fn markdown(&self) -> String {
        fs::read_to_string(self.folder().join("transcript.md")).unwrap()
    }

    /// The contents of all results that the model was told, in order.
    pub(crate) fn results(&self) -> Vec<Value> {
        self.payloads("tool_call_result")
            .into_iter()
            .map(|payload| payload["content"].clone())
            .collect()
    }

    pub(crate) fn failure(&self) -> String {
        let failure = self.outcome.failure.as_ref().expect("it did not fail");
        format!("{:?}: {failure}", failure.kind)
    }

    /// Settled and reserved, in nano-dollars.
    pub(crate) fn spent(&self) -> (u64, u64) {
        let balance = self.ledger.open(&thread_id(), self.limits.spend).unwrap();
        (balance.cost().get(), balance.reserved.get())
    }

    /// Every account of the end agrees with the outcome.
    #[track_caller]
    pub(crate) fn check_consistent(&self) {
        let (record, transcript) = (self.record(), self.transcript());
        assert_eq!(record.state, self.outcome.state);
        assert_eq!(record.outputs, self.outcome.outputs);
        assert_eq!(record.failure, self.outcome.failure);
        assert_eq!((record.turns, record.usage), (self.outcome.turns, self.outcome.usage));
        assert_eq!(record.cost, self.outcome.cost);
        let records = u64::try_from(transcript.records.len()).unwrap();
        assert_eq!(record.transcript, Some((records, transcript.head.to_string())));
        assert_eq!(
            transcript.signed,
            records - 1,
            "the last record is a checkpoint of all before it"
        );
        assert_eq!(transcript.torn, None);
        assert_eq!(self.watched, self.events(), "an observer sees what is recorded");
        let replayed = self.replayed.as_ref().expect("the transcript is whole");
        assert_eq!(replayed.divergence, None, "a replay is what happened");
        let listed = self.registry.show(&thread_id()).unwrap().unwrap();
        assert_eq!((listed.state, listed.cost), (record.state, record.cost));
        assert_eq!(self.spent().1, 0, "nothing stays reserved");
        assert_eq!(self.spent().0, self.outcome.cost.get());
    }
}
