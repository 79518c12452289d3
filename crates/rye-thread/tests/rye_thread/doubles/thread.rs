//! A thread put together from doubles, and what came of it.

use super::*;
use rye_types::LimitSet;

/// Everything that a thread is made of, to be changed before it is run.
pub(crate) struct Thread {
    pub(crate) script: Vec<Turn>,
    pub(crate) entries: Vec<PaletteEntry>,
    pub(crate) grant: Grant,
    pub(crate) contract: OutputContract,
    pub(crate) limits: LimitSet,
    pub(crate) info: ProviderInfo,
    pub(crate) fallback: Option<(ProviderInfo, Vec<Turn>)>,
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
            limits: LimitSet::default(),
            info,
            fallback: None,
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
            place: self.place,
        }
    }
}

/// The account of a thread alone, by its transcript.
pub(crate) fn account(reading: &Reading) -> Account {
    Account::from_transcripts(reading, &|_| FoundTranscript::Absent).unwrap()
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
    place: Arc<TempDir>,
}

impl Driven {
    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().join("threads").join(thread_id().as_str())
    }

    pub(crate) fn public_key(&self) -> rye_sign::PublicKey {
        self.key.public()
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
        self.transcript().records.into_iter().map(|record| record.name().to_owned()).collect()
    }

    /// The payloads of the events of this name.
    pub(crate) fn payloads(&self, event: &str) -> Vec<Value> {
        let records = self.transcript().records.into_iter().filter(|record| record.name() == event);
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

    /// Settled and reserved, in nano-dollars, by the transcript.
    pub(crate) fn spent(&self) -> (u64, u64) {
        let account = account(&self.transcript());
        (account.cost.saturating_sub(account.reserved).get(), account.reserved.get())
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
        let claim = rye_thread::TranscriptClaim::new(records, transcript.head.to_string(), false);
        assert_eq!(record.transcript, Some(claim));
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
        let store = LocalStore::open(&self.place.path().join("threads")).unwrap();
        store.reindex().unwrap();
        let mut rebuilt = store.registry().show(&thread_id()).unwrap().unwrap();
        // The list is made from records that nobody verified.
        assert_eq!(rebuilt.used_unsigned.take(), None);
        rebuilt.used_unsigned = listed.used_unsigned;
        // The list has the figures of an unfinished thread from its last stop.
        let is_whole = listed.state.is_final();
        assert_eq!((rebuilt.state, &rebuilt.model), (listed.state, &listed.model));
        assert!(!is_whole || rebuilt == listed, "{rebuilt:?} was derived for {listed:?}");
        assert_eq!(self.spent().1, 0, "nothing stays reserved");
        assert_eq!(self.spent().0, self.outcome.cost.get());
    }
}
