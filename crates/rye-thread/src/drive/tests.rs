use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rye_sign::SigningKey;
use rye_types::{LimitSet, Moment, Nanos, Prices};
use serde_json::value::to_raw_value;

use super::*;
use crate::store::{MemoryStore, Ownership, Store as _};
use crate::{
    Opening, OutputContract, ProviderError, ProviderInfo, Registry, Reply, Request, Setting,
    StopReason, ThreadId, ThreadRecord, Threads,
};

/// Says one word, and counts how often it is asked.
#[derive(Default)]
struct Word(AtomicU64);

#[async_trait]
impl Provider for Word {
    fn describe(&self) -> ProviderInfo {
        let mut info = ProviderInfo::new("p", "m", 1_000, 100);
        info.prices = Some(Prices::free());
        info
    }

    /// No test here subscribes, and then telemetry costs nothing.
    fn telemetry(&self) -> crate::ProviderTelemetry {
        panic!("nobody wants to know");
    }

    async fn complete(&self, _: &Request) -> Result<Reply, ProviderError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut reply = Reply::new(to_raw_value("word").unwrap(), StopReason::EndTurn);
        "word".clone_into(&mut reply.text);
        Ok(reply)
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Moment {
        Moment::from_unix_millis(0)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

struct Place {
    folder: tempfile::TempDir,
    store: Arc<MemoryStore>,
    journal: Journal,
    provider: Word,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::open(&folder.path().join("registry.db")).unwrap();
        let thread = ThreadId::new("d", "019a0000-0000-7000-8000-000000000001").unwrap();
        let record = ThreadRecord::new(&thread, "d", &LimitSet::default(), Still.now());
        let key = Arc::new(SigningKey::generate().unwrap());
        let store: Arc<MemoryStore> = Arc::default();
        let registry = Arc::new(registry);
        let journal =
            Journal::create(folder.path(), record, key, registry, Arc::clone(&store) as _).unwrap();
        Self { folder, store, journal, provider: Word::default() }
    }

    async fn drive(&mut self, run: Run) -> Outcome {
        let context = DriveContext {
            provider: &self.provider,
            palette: &Palette::new(Vec::new()).unwrap(),
            authority: &Authority::denied(),
            journal: &mut self.journal,
            clock: &Still,
            observer: &(),
            approver: &(),
            cancel: &Cancel::new(),
            injected: &[],
            hooks: &crate::Hooks::none(),
        };
        drive(run, context).await
    }

    fn asked(&self) -> u64 {
        self.provider.0.load(Ordering::Relaxed)
    }
}

fn run() -> Run {
    let opening = Opening { system: None, first_user_message: "Go.".to_owned() };
    Run::new(opening, Vec::new(), OutputContract::default(), LimitSet::default(), 100)
}

#[tokio::test]
async fn a_journal_tells_of_one_run() {
    let mut place = Place::new();
    assert_eq!(place.drive(run()).await.failure, None);
    let records = place.journal.record().clone();
    let outcome = place.drive(run()).await;
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::OutOfTurn);
    assert_eq!(failure.message, "the run was driven before; start the directive again");
    assert_eq!((place.journal.record(), place.asked()), (&records, 1), "nothing is added");
}

fn begun() -> Run {
    let mut run = run();
    assert!(matches!(run.step(Duration::ZERO), Step::CallModel(_)));
    run.model_replied(Reply::new(to_raw_value("word").unwrap(), StopReason::Pause), Nanos::ZERO)
        .unwrap();
    run
}

#[tokio::test]
async fn a_run_is_driven_from_its_beginning() {
    let mut place = Place::new();
    assert_eq!(place.drive(begun()).await.failure.unwrap().kind, FailureKind::OutOfTurn);
    assert_eq!(place.asked(), 0);
}

/// The thread's id is free for one that can begin.
#[tokio::test]
async fn a_run_that_was_driven_before_leaves_no_folder() {
    let place = tempfile::tempdir().unwrap();
    let threads = Threads::open(place.path(), SigningKey::generate().unwrap()).unwrap();
    let thread = ThreadId::new("d", "019a0000-0000-7000-8000-000000000001").unwrap();
    let provider = Word::default();
    let palette = Palette::new(Vec::new()).unwrap();
    let authority = Authority::denied();
    let setting =
        Setting { provider: &provider, palette: &palette, authority: &authority, clock: &Still };
    let outcome = threads.drive(&thread, "d", begun(), setting).await.unwrap();
    assert_eq!(outcome.failure.unwrap().kind, FailureKind::OutOfTurn);
    assert!(!threads.folder(&thread).exists());
    let outcome = threads.drive(&thread, "d", run(), setting).await.unwrap();
    assert_eq!(outcome.failure, None);
}

/// The thread ends before the first request.
#[tokio::test]
async fn what_cannot_be_recorded_is_not_asked() {
    let mut place = Place::new();
    let thread = place.journal.thread().clone();
    place.store.release(&Ownership::new(thread.clone(), thread.clone(), 1));
    let failure = place.drive(run()).await.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Storage);
    let message = format!("this process no longer owns thread `{thread}`; resume the thread");
    assert!(failure.message.ends_with(&message), "{failure}");
    assert_eq!(place.asked(), 0);
    let record = place.folder.path().join(thread.as_str()).join("thread.json");
    assert!(!record.exists(), "the record is written by its owner alone");
}

mod doubles;
mod executing;
mod hooking;
mod waiting;
