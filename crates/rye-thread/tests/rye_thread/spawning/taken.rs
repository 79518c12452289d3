//! Threads with children whose store refuses them at some use of it.

use super::*;

/// A store that refuses everything after so many uses.
struct Refusing {
    store: MemoryStore,
    left: AtomicUsize,
    refuses: fn() -> StoreError,
}

impl Refusing {
    fn allowed(&self) -> Result<&MemoryStore, StoreError> {
        let left = |left: usize| left.checked_sub(1);
        let is_allowed = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok();
        is_allowed.then_some(&self.store).ok_or_else(self.refuses)
    }
}

impl Store for Refusing {
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
        self.allowed()?.append(ownership, lines)
    }
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.allowed()?.sync(ownership)
    }
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.allowed()?.cut(ownership, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.store.journal(thread)
    }
}

/// Children that end when they are cancelled and never otherwise.
struct Endless {
    partings: AtomicUsize,
}

#[async_trait]
impl Children for Endless {
    fn add(&self, _: &rye_thread::AddedItem) {}

    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (id, limits) = (child(request.number), a_little_of(&request.left));
        Ok(Spawn::new(&request.call_id, id, "test/child", Waiting::ForNothing, limits))
    }

    async fn run(&self, spawn: &Spawn, _: &Value) -> Spawned {
        Spawned::Returned(ToolOutput::ok(json!(spawn.child.as_str())))
    }

    async fn adopt(&self, _: &[RecordedSpawn]) -> Result<(), String> {
        Ok(())
    }

    async fn end(&self, ending: Ending) -> Ended {
        let partings = self.partings.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(partings < 3, "the thread parts with its children again and again");
        if ending == Ending::Cancel { Ended::All } else { Ended::Interrupted }
    }
}

/// Whatever use of its store is refused, a thread with a child comes to rest, and waits for nobody.
#[tokio::test]
async fn a_thread_with_children_whose_lock_was_replaced_comes_to_rest() {
    let refuses = || StoreError::LockReplaced { path: "lock".into() };
    check_refused(refuses, "is not the file that this process locked").await;
}

#[tokio::test]
async fn a_thread_with_children_whose_disk_fails_comes_to_rest() {
    let refuses = || {
        let (path, source) = ("transcript.jsonl".into(), io::Error::from_raw_os_error(37));
        StoreError::File { path, source }
    };
    check_refused(refuses, "(os error 37)").await;
}

/// Nothing is recorded after the refusal, and the outcome says what the store said.
async fn check_refused(refuses: fn() -> StoreError, said: &str) {
    let mut uses = 0;
    loop {
        let world = world_of(Arc::new(Endless { partings: AtomicUsize::new(0) }));
        let store = Refusing { store: MemoryStore::new(), left: AtomicUsize::new(uses), refuses };
        let found = world.begin(Arc::new(store), &Cancel::new()).await;
        uses += 1;
        // Before that, there is no thread.
        let Some(found) = found else { continue };
        let folder = world.place.path().join(thread_id().as_str());
        let record = ThreadRecord::read(&folder, &[world.key.public()]).unwrap();
        let is_open = matches!(record.state, ThreadState::Created | ThreadState::Running);
        assert!(is_open && record.failure.is_none(), "after {uses}: {record:?}");
        let Some(failure) = found.failure else {
            assert_eq!(found.state, ThreadState::Running, "the child can go on, and so it can");
            break;
        };
        assert_eq!(failure.kind, FailureKind::Storage, "after {uses}");
        assert!(failure.message.contains(said), "after {uses}: {}", failure.message);
    }
    assert!(4 < uses, "{uses}");
}

/// A thread that starts a child and calls a tool, and then returns.
fn world_of(family: Arc<Endless>) -> World {
    let mut world = World::new();
    world.more = Box::new(move || {
        let capability = Capability::new(Primary::Execute, Kind::Tool, "a/spawn").unwrap();
        let spec = ToolSpec::new("", "Starts.", json!({"type": "object"}));
        let family = Arc::clone(&family);
        vec![PaletteEntry::spawning("a/spawn", spec, capability, family)]
    });
    let start = vec![call("s", "a_spawn", json!({})), call("o", "a_once", json!({"n": 1}))];
    world.model.turns = vec![start, vec![returns("r", json!({"score": 7}))]];
    world
}
