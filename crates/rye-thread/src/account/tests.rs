use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use rye_sign::SigningKey;
use serde_json::value::RawValue;

use super::*;
use crate::budget::{Ledger, MemoryLedger, Reservation};
use crate::children::Waiting;
use crate::store::{MemoryStore, Store};
use crate::transcript::{Event, Transcript, read};
use crate::{Limits, Moment, ProviderInfo, Reply, StopReason, Usage};

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);
const CAP: u64 = 1_000;

fn id(number: usize) -> ThreadId {
    ThreadId::new("a", &format!("019a0000-0000-7000-8000-{number:012}")).unwrap()
}

fn limits(spend: SpendLimit) -> Limits {
    Limits { spend, ..Limits::default() }
}

fn at_most(nanos: u64) -> SpendLimit {
    SpendLimit::AtMost(Nanos::new(nanos))
}

/// A thread with its transcript, and the request that is under way.
struct Thread {
    parent: Option<usize>,
    transcript: Transcript,
    request: Option<Reservation>,
    has_ended: bool,
}

/// Threads that record what they do, beside a ledger that is told of it.
struct Forest {
    key: SigningKey,
    store: Arc<MemoryStore>,
    ledger: MemoryLedger,
    threads: Vec<Thread>,
}

impl Forest {
    fn new(cap: SpendLimit) -> Self {
        let mut forest = Self {
            key: SigningKey::generate().unwrap(),
            store: Arc::default(),
            ledger: MemoryLedger::new(),
            threads: Vec::new(),
        };
        forest.ledger.open(&id(0), cap).unwrap();
        forest.begin(None, cap);
        forest
    }

    fn begin(&mut self, parent: Option<usize>, spend: SpendLimit) {
        let ownership = self.store.acquire(&id(self.threads.len()), &id(0)).unwrap();
        let mut transcript =
            Transcript::create(Arc::clone(&self.store) as _, ownership, "a").unwrap();
        let start = Event::ThreadStart {
            provider: ProviderInfo::new("p", "m", 1_000, 100),
            limits: limits(spend),
            tools: Vec::new(),
            palette: BTreeMap::new(),
            facts: serde_json::Map::new(),
            root: id(0),
            signed_by: self.key.public().to_pem(),
        };
        transcript.append(&start, AT).unwrap();
        transcript.checkpoint(&self.key, AT).unwrap();
        self.threads.push(Thread { parent, transcript, request: None, has_ended: false });
    }

    fn record(&mut self, thread: usize, event: &Event) {
        self.threads[thread].transcript.append(event, AT).unwrap();
    }

    fn reading(&self, thread: &ThreadId) -> Reading {
        let bytes = self.store.journal(thread).unwrap();
        read(&bytes, thread, &[self.key.public()]).unwrap()
    }

    fn account(&self, thread: usize) -> Account {
        let read = |child: &ThreadId| FoundTranscript::Transcript(Cow::Owned(self.reading(child)));
        Account::from_transcripts(&self.reading(&id(thread)), &read).unwrap()
    }

    fn ask(&mut self, thread: usize, amount: u64) {
        if self.threads[thread].request.is_some() {
            return;
        }
        let Ok(request) = self.ledger.reserve(&id(thread), Nanos::new(amount)) else { return };
        let (reserved, reservation) = (Nanos::new(amount), Some(request.number()));
        self.threads[thread].request = Some(request);
        let held = reserved;
        let max_output_tokens = 1;
        self.record(
            thread,
            &Event::StepStart { turn: 1, reserved, reservation, held, max_output_tokens },
        );
    }

    /// Ends the request that is under way with an answer, or without one.
    fn settle(&mut self, thread: usize, actual: u64, is_answered: bool) {
        let Some(request) = self.threads[thread].request.take() else { return };
        let cost = Nanos::new(actual.min(request.amount().get()));
        self.ledger.settle(request, cost).unwrap();
        let turn = 1;
        let event = match is_answered {
            true => Event::StepFinish { turn, reply: reply(), cost },
            false => {
                let (class, message) = ("overloaded".to_owned(), String::new());
                Event::RequestFailed { turn, class, message, cost }
            }
        };
        self.record(thread, &event);
    }

    fn spawn(&mut self, parent: usize, share: u64) {
        let child = self.threads.len();
        if self.ledger.open_child(&id(parent), &id(child), at_most(share)).is_err() {
            return;
        }
        let share = limits(at_most(share));
        let spawn = Spawn::new("1", id(child), "a", Waiting::ForNothing, share.clone());
        self.record(parent, &Event::SpawnChild(spawn));
        self.begin(Some(parent), share.spend);
    }

    /// Ends a child that has no request and no child under way.
    fn end(&mut self, child: usize) {
        let Some(parent) = self.threads[child].parent else { return };
        let is_below = |thread: &Thread| thread.parent == Some(child) && !thread.has_ended;
        if self.threads[child].request.is_some() || self.threads.iter().any(is_below) {
            return;
        }
        let cost = self.account(child).cost;
        let (turns, usage, text) = (1, Usage::default(), String::new());
        self.record(child, &Event::ThreadComplete { outputs: None, text, turns, usage, cost });
        let transcript = &mut self.threads[child].transcript;
        transcript.checkpoint(&self.key, AT).unwrap();
        let end = (transcript.records(), transcript.head().to_string());
        self.threads[child].has_ended = true;
        let balance = self.ledger.close_child(&id(child)).unwrap();
        assert_eq!(balance.cost(), cost);
        let end = ChildEnd::new(id(child), ThreadState::Completed, cost, end);
        self.record(parent, &Event::ChildEnded(end));
    }

    /// The next process settles what the one before it left, by the transcripts.
    fn crash(&mut self) {
        for thread in 0..self.threads.len() {
            if let Some(request) = self.threads[thread].request.take() {
                let cost = request.amount();
                self.ledger.settle(request, cost).unwrap();
            }
        }
    }

    fn act(&mut self, act: &Act) {
        let running: Vec<usize> =
            (0..self.threads.len()).filter(|thread| !self.threads[*thread].has_ended).collect();
        let thread = |which: usize| running[which % running.len()];
        match *act {
            Act::Ask { which, amount } => self.ask(thread(which), amount),
            Act::Settle { which, actual, is_answered } => {
                self.settle(thread(which), actual, is_answered);
            }
            Act::Spawn { which, share } => self.spawn(thread(which), share),
            Act::End { which } => self.end(thread(which)),
            Act::Crash => self.crash(),
        }
    }

    /// What is free by the ledger is free by the transcripts, in each thread that has not ended.
    fn check(&self) {
        for (number, thread) in self.threads.iter().enumerate().filter(|(_, it)| !it.has_ended) {
            let account = self.account(number);
            let balance = self.ledger.open(&id(number), account.cap).unwrap();
            assert_eq!(account.free(), balance.free(), "{number}: {account:?} {balance:?}");
            assert!(balance.cost() <= account.cost, "{number}: {account:?} {balance:?}");
            let has_children =
                self.threads.iter().any(|it| it.parent == Some(number) && !it.has_ended);
            if thread.request.is_none() && !has_children {
                assert_eq!((account.cost, account.held), (balance.cost(), Nanos::ZERO), "{number}");
            }
        }
    }
}

fn reply() -> Arc<Reply> {
    Arc::new(Reply::new(RawValue::from_string("{}".to_owned()).unwrap(), StopReason::EndTurn))
}

#[derive(Debug, Clone)]
enum Act {
    Ask { which: usize, amount: u64 },
    Crash,
    End { which: usize },
    Settle { which: usize, actual: u64, is_answered: bool },
    Spawn { which: usize, share: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let which = any::<usize>;
    let act = prop_oneof![
        4 => (which(), 0..200u64).prop_map(|(which, amount)| Act::Ask { which, amount }),
        1 => Just(Act::Crash),
        2 => which().prop_map(|which| Act::End { which }),
        4 => (which(), 0..200u64, any::<bool>())
            .prop_map(|(which, actual, is_answered)| Act::Settle { which, actual, is_answered }),
        2 => (which(), 0..600u64).prop_map(|(which, share)| Act::Spawn { which, share }),
    ];
    prop::collection::vec(act, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In random trees with crashes, after each record.
    #[test]
    fn rule_07_the_fold_of_the_transcripts_agrees_with_the_ledger(acts in acts()) {
        let mut forest = Forest::new(at_most(CAP));
        for act in acts {
            forest.act(&act);
            forest.check();
        }
    }
}

#[test]
fn rule_03_only_a_request_without_any_end_counts_as_its_whole_reservation() {
    for (is_answered, cost) in [(Some(true), 30), (Some(false), 30), (None, 100)] {
        let mut forest = Forest::new(at_most(CAP));
        forest.ask(0, 100);
        if let Some(is_answered) = is_answered {
            forest.settle(0, 30, is_answered);
        }
        assert_eq!(forest.account(0).cost.get(), cost, "{is_answered:?}");
    }
}

#[test]
fn rule_04_a_recorded_end_of_a_child_frees_its_share_and_needs_no_reading() {
    let mut forest = Forest::new(at_most(CAP));
    forest.spawn(0, 400);
    forest.ask(1, 100);
    forest.settle(1, 60, true);
    assert_eq!(forest.account(0).free(), Some(Nanos::new(600)), "its share is taken");
    forest.end(1);
    let reading = forest.reading(&id(0));
    let nobody = |child: &ThreadId| panic!("`{child}` has ended");
    let account = Account::from_transcripts(&reading, &nobody).unwrap();
    assert_eq!((account.cost.get(), account.held.get()), (60, 0));
    assert_eq!(account.free(), Some(Nanos::new(940)));
}

#[test]
fn rule_05_a_child_that_cannot_be_read_counts_as_its_whole_share() {
    let mut forest = Forest::new(at_most(CAP));
    forest.spawn(0, 400);
    let reading = forest.reading(&id(0));
    let unreadable = Account::from_transcripts(&reading, &|_| FoundTranscript::Unreadable).unwrap();
    assert_eq!((unreadable.cost.get(), unreadable.held.get()), (400, 0));
    let absent = Account::from_transcripts(&reading, &|_| FoundTranscript::Absent).unwrap();
    assert_eq!((absent.cost.get(), absent.held.get()), (0, 400), "it may begin yet");
    let mut forest = Forest::new(SpendLimit::Unlimited);
    let spawn = Spawn::new("1", id(1), "a", Waiting::ForTheEnd, limits(SpendLimit::Unlimited));
    forest.record(0, &Event::SpawnChild(spawn));
    let reading = forest.reading(&id(0));
    let error = Account::from_transcripts(&reading, &|_| FoundTranscript::Unreadable).unwrap_err();
    assert_eq!(error, AccountError::Unbounded { thread: id(1) });
    assert!(error.to_string().contains("its cost is not known; restore"), "{error}");
}

#[test]
fn rule_06_a_charge_beyond_a_reservation_leaves_nothing_free_up_to_the_root() {
    let mut forest = Forest::new(at_most(CAP));
    forest.spawn(0, 400);
    forest.ask(1, 100);
    let (turn, cost) = (1, Nanos::new(101));
    forest.record(1, &Event::StepFinish { turn, reply: reply(), cost });
    for thread in [0, 1] {
        let account = forest.account(thread);
        assert_eq!((account.is_overrun, account.free()), (true, Some(Nanos::ZERO)), "{thread}");
    }
}

#[test]
fn a_thread_below_itself_has_no_account() {
    let mut forest = Forest::new(at_most(CAP));
    forest.spawn(0, 400);
    let own = Spawn::new("1", id(0), "a", Waiting::ForNothing, limits(at_most(10)));
    forest.record(1, &Event::SpawnChild(own));
    let read = |child: &ThreadId| FoundTranscript::Transcript(Cow::Owned(forest.reading(child)));
    let error = Account::from_transcripts(&forest.reading(&id(0)), &read).unwrap_err();
    assert_eq!(error, AccountError::Circle { thread: id(0) });
}
