//! A thread with children, all of them in one store, whose every write is remembered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Kind, Layer, LayerName, Primary};
use rye_sign::SigningKey;
use rye_thread::store::{MemoryStore, Ownership, Store, StoreError};
use rye_thread::transcript::{Reading, Transcript, read};
use rye_thread::{
    Account, Asking, Cancel, ChildEnd, Children, Clock, DriveContext, Ended, Ending,
    FoundTranscript, Journal, Opening, Outcome, Palette, PaletteEntry, RecordedSpawn, Registry,
    ResumeError, Resumed, Run, Spawn, SpawnRequest, Spawned, ThreadId, ThreadRecord, ToolCall,
    ToolOutput, ToolSpec, TreeAccount, Waiting, drive, resume,
};
use rye_types::{LimitSet, Nanos, SpendLimit, ThreadState};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::doubles::{FakeClock, Says, account, call, returns, score, thread_id};
use crate::world::{Effects, Model, entries};

/// A store that remembers in which order what was appended to whose journal.
#[derive(Default)]
pub(crate) struct Logged {
    pub(crate) store: MemoryStore,
    pub(crate) log: Mutex<Vec<(ThreadId, Vec<u8>)>>,
}

impl Store for Logged {
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.store.account(ownership)
    }
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        self.store.acquire(thread, root)
    }
    fn release(&self, ownership: &Ownership) {
        self.store.release(ownership);
    }
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.check(ownership)
    }
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        self.store.append(ownership, lines)?;
        self.log.lock().unwrap().push((ownership.thread().clone(), lines.to_vec()));
        Ok(())
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.store.sync(ownership)
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.store.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store.journal(thread)
    }
}

/// What outlives the programs: the store, the folder and the key; and what they did outside.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) store: Arc<Logged>,
    pub(crate) effects: Effects,
    place: Arc<tempfile::TempDir>,
    key: Arc<SigningKey>,
    registry: Arc<Registry>,
    clock: Arc<FakeClock>,
    turns: Vec<Vec<ToolCall>>,
}

/// A folder in memory where there is such a place: what is tested here is no disk, and each of many trees writes a lot.
pub(crate) fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl Home {
    /// A home whose thread does this.
    pub(crate) fn new(turns: Vec<Vec<ToolCall>>) -> Self {
        Self::of(Arc::new(SigningKey::generate().unwrap()), turns)
    }

    fn of(key: Arc<SigningKey>, turns: Vec<Vec<ToolCall>>) -> Self {
        let place = in_memory();
        let registry = Registry::open(&place.path().join("registry.db")).unwrap();
        Self {
            store: Arc::default(),
            effects: Effects::default(),
            place: Arc::new(place),
            key,
            registry: Arc::new(registry),
            clock: Arc::default(),
            turns,
        }
    }

    /// The same home in folders of its own, where another processor can work.
    pub(crate) fn elsewhere(&self) -> Self {
        let there = Self::of(Arc::clone(&self.key), self.turns.clone());
        Self { store: Arc::clone(&self.store), ..there }
    }

    /// After how many bytes a record is whole, none included.
    pub(crate) fn ends(&self) -> Vec<usize> {
        let log = self.store.log.lock().unwrap();
        let records = log.iter().flat_map(|(_, lines)| lines.split_inclusive(|it| *it == b'\n'));
        let after = |end: &mut usize, record: &[u8]| {
            *end += record.len();
            Some(*end)
        };
        std::iter::once(0).chain(records.scan(0, after)).collect()
    }

    /// What a journal with these bytes holds once it is opened, and what was torn at its end.
    pub(crate) fn opened(
        &self,
        thread: &ThreadId,
        bytes: &[u8],
    ) -> (Vec<u8>, Option<Range<usize>>) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let ownership = store.acquire(thread, &thread_id()).unwrap();
        store.append(&ownership, bytes).unwrap();
        let keys = [self.key.public()];
        let opened = Transcript::open(Arc::clone(&store), ownership, "test/greet", &keys, None);
        let (_transcript, reading) = opened.unwrap();
        (store.journal(thread).unwrap(), reading.torn)
    }

    /// A home in which so many bytes were written and then the power went.
    pub(crate) fn cut(&self, mut bytes: usize) -> Self {
        let cut = Self { store: Arc::default(), effects: Effects::default(), ..self.clone() };
        let mut journals: BTreeMap<ThreadId, Vec<u8>> = BTreeMap::new();
        for (thread, lines) in self.store.log.lock().unwrap().iter() {
            let kept = &lines[..bytes.min(lines.len())];
            journals.entry(thread.clone()).or_default().extend_from_slice(kept);
            bytes -= kept.len();
            if kept.len() < lines.len() {
                break;
            }
        }
        for (thread, journal) in journals {
            let ownership = cut.store.acquire(&thread, &thread_id()).unwrap();
            cut.store.store.append(&ownership, &journal).unwrap();
            cut.store.release(&ownership);
        }
        cut
    }

    pub(crate) fn reading(&self, thread: &ThreadId) -> Reading {
        read(&self.store.journal(thread).unwrap(), thread, &[self.key.public()]).unwrap()
    }

    /// The account of the whole tree, by its transcripts.
    pub(crate) fn account(&self) -> Account {
        let read = |child: &ThreadId| match self.store.journal(child).unwrap().is_empty() {
            true => FoundTranscript::Absent,
            false => FoundTranscript::Transcript(Cow::Owned(self.reading(child))),
        };
        Account::from_transcripts(&self.reading(&thread_id()), &read).unwrap()
    }

    pub(crate) fn limits() -> LimitSet {
        LimitSet {
            turns: 40,
            spend: SpendLimit::AtMost(Nanos::new(4_000_000_000)),
            ..LimitSet::default()
        }
    }

    /// Drives the parent from its beginning, or goes on with what the store holds of it.
    pub(crate) async fn drive(&self) -> Result<Outcome, ResumeError> {
        let (running, ended) = (Mutex::default(), Arc::default());
        let family = Arc::new(Family { home: self.clone(), running, ended });
        let mut entries = entries(&self.effects, Asking::Never);
        entries.push(spawner(family));
        let turns = self.turns.clone();
        self.driven(&thread_id(), "Begin.", turns, entries, &Self::limits()).await
    }

    async fn driven(
        &self,
        thread: &ThreadId,
        first: &str,
        turns: Vec<Vec<ToolCall>>,
        entries: Vec<PaletteEntry>,
        limits: &LimitSet,
    ) -> Result<Outcome, ResumeError> {
        let palette = Palette::new(entries).unwrap();
        let opening = Opening { system: None, first_user_message: first.to_owned() };
        let run = Run::new(opening, palette.specs(&score()), score(), limits.clone(), 2_000);
        let mut record = ThreadRecord::new(thread, "test/greet", limits, self.clock.now());
        record.root = thread_id();
        let store: Arc<dyn Store> = Arc::clone(&self.store) as _;
        let (key, registry) = (Arc::clone(&self.key), Arc::clone(&self.registry));
        let is_new = self.store.journal(thread).unwrap().is_empty();
        let folder = self.place.path().join(thread.as_str());
        if is_new {
            drop(std::fs::remove_dir_all(&folder));
        }
        let (mut journal, reading) = if is_new {
            (Journal::create(self.place.path(), record, key, registry, store).unwrap(), None)
        } else {
            std::fs::create_dir_all(&folder).unwrap();
            record.state = ThreadState::Running;
            let keys = [self.key.public()];
            let opened = Journal::open(self.place.path(), record, &keys, key, registry, store);
            let (journal, reading) = opened.unwrap();
            (journal, Some(reading))
        };
        let layer = Layer::new(LayerName::Operator, Grant::everything());
        let context = DriveContext {
            provider: &Model::new(turns),
            palette: &palette,
            authority: &Authority::new(layer),
            journal: &mut journal,
            clock: &*self.clock,
            observer: &(),
            approver: &Says { approves: Some(rye_thread::Decision::Approved), decides: None },
            cancel: &Cancel::new(),
            injected: &[],
            hooks: &rye_thread::Hooks::none(),
        };
        match &reading {
            None => Ok(drive(run, context).await),
            Some(reading) => resume(run, Resumed::new(reading), context).await,
        }
    }

    /// What a child came to, when its journal holds its end.
    fn ended(&self, child: &ThreadId) -> Option<Value> {
        let reading = self.reading(child);
        let end = reading.records.iter().find(|record| record.name() == "thread_complete")?;
        let end: Value = serde_json::from_str(end.payload.get()).unwrap();
        Some(json!({"thread": child.as_str(), "outputs": end["outputs"]}))
    }
}

pub(crate) fn child(number: u64) -> ThreadId {
    ThreadId::new("test/child", &format!("019a0000-0000-7000-8000-0000000001{number:02x}")).unwrap()
}

/// Twenty turns, of which some start a child and wait for it, or do not.
pub(crate) fn many_turns() -> Vec<Vec<ToolCall>> {
    let mut turns: Vec<Vec<ToolCall>> = (0..18)
        .map(|turn| {
            let n = json!({"n": turn});
            let id = |letter: &str| format!("{letter}{turn}");
            let spawn = |wanted: Value| call(&id("s"), "a_spawn", wanted);
            match turn % 6 {
                0 => vec![call(&id("a"), "a_read", n.clone()), call(&id("b"), "a_set", n)],
                1 => vec![spawn(json!({"directive": "test/child"}))],
                2 => vec![call(&id("a"), "a_once", n)],
                3 => vec![
                    spawn(json!({"directive": "test/child", "async": true})),
                    call(&id("b"), "a_read", n),
                ],
                4 => vec![call(&id("a"), "a_set", n), spawn(json!({"directive": 7}))],
                _ => vec![call(&id("a"), "a_once", n)],
            }
        })
        .collect();
    turns.push(Vec::new());
    turns.push(vec![returns("last", json!({"score": 7}))]);
    turns
}

/// Three turns with a child that is waited for, one that is not, and a call of each effect.
pub(crate) fn few_turns() -> Vec<Vec<ToolCall>> {
    let spawn = |id: &str, wanted| call(id, "a_spawn", wanted);
    let n = || json!({"n": 1});
    vec![
        vec![call("a", "a_read", n()), spawn("s", json!({"directive": "test/child"}))],
        vec![
            spawn("t", json!({"directive": "test/child", "async": true})),
            call("b", "a_once", n()),
        ],
        vec![returns("last", json!({"score": 7}))],
    ]
}

fn childs_turns(child: &ThreadId) -> Vec<Vec<ToolCall>> {
    let number = u64::from_str_radix(&child.as_str()[child.as_str().len() - 2..], 16).unwrap();
    vec![
        vec![call("c", "a_set", json!({"n": 100 + number}))],
        vec![call("d", "a_once", json!({"n": 200 + number}))],
        vec![returns("r", json!({"score": number}))],
    ]
}

fn spawner(family: Arc<Family>) -> PaletteEntry {
    let schema = json!({
        "type": "object",
        "properties": {"directive": {"type": "string"}, "async": {"type": "boolean"}},
        "required": ["directive"],
    });
    let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
    PaletteEntry::spawning("a/spawn", ToolSpec::new("", "Starts.", schema), capability, family)
}

/// The children of the one parent.
struct Family {
    home: Home,
    running: Mutex<Vec<JoinHandle<()>>>,
    ended: Arc<Mutex<Vec<ChildEnd>>>,
}

impl Family {
    async fn work(home: Home, ended: Arc<Mutex<Vec<ChildEnd>>>, spawn: Spawn) -> Value {
        if home.ended(&spawn.child).is_none() {
            let entries = entries(&home.effects, Asking::Never);
            let turns = childs_turns(&spawn.child);
            // Boxed, because a thread that drives threads has a future without end.
            let driven: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
                Box::pin(home.driven(&spawn.child, "Go.", turns, entries, &spawn.limits));
            let outcome = driven.await.unwrap();
            assert_eq!(outcome.state, ThreadState::Completed, "{:?}", outcome.failure);
        }
        let (reading, child) = (home.reading(&spawn.child), spawn.child.clone());
        let records = u64::try_from(reading.records.len()).unwrap();
        let end = rye_thread::TranscriptClaim::new(records, reading.head.to_string(), false);
        let cost = account(&reading).cost;
        ended.lock().unwrap().push(ChildEnd::new(child, ThreadState::Completed, cost, end));
        home.ended(&spawn.child).unwrap()
    }

    fn beside(&self, spawn: &Spawn) {
        let (home, ended, spawn) = (self.home.clone(), Arc::clone(&self.ended), spawn.clone());
        let task = tokio::spawn(async move { drop(Self::work(home, ended, spawn).await) });
        self.running.lock().unwrap().push(task);
    }
}

#[async_trait]
impl Children for Family {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let waiting = match request.arguments["async"] == true {
            true => Waiting::ForNothing,
            false => Waiting::ForTheEnd,
        };
        let mut limits = request.left.clone();
        limits.spend = SpendLimit::AtMost(Nanos::new(200_000_000));
        Ok(Spawn::new(&request.call_id, child(request.number), "test/child", waiting, limits))
    }

    async fn run(&self, spawn: &Spawn, _: &Value) -> Spawned {
        if spawn.waiting == Waiting::ForNothing {
            self.beside(spawn);
            return Spawned::Returned(ToolOutput::ok(json!({"thread": spawn.child.as_str()})));
        }
        let (home, ended) = (self.home.clone(), Arc::clone(&self.ended));
        Spawned::Returned(ToolOutput::ok(Self::work(home, ended, spawn.clone()).await))
    }

    async fn adopt(&self, spawns: &[RecordedSpawn]) -> Result<(), String> {
        spawns.iter().for_each(|it| self.beside(&it.spawn));
        Ok(())
    }

    fn ends(&self) -> Vec<ChildEnd> {
        self.ended.lock().unwrap().clone()
    }

    async fn end(&self, _: Ending) -> Ended {
        let running: Vec<_> = std::mem::take(&mut *self.running.lock().unwrap());
        for task in running {
            task.await.unwrap();
        }
        Ended::All
    }
}
