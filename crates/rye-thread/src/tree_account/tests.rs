use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use rye_sign::SigningKey;
use rye_types::{LimitSet, Moment, Nanos, SpendLimit, ThreadState, Usage};
use serde_json::value::RawValue;

use super::*;
use crate::store::{MemoryStore, Store};
use crate::transcript::payload::{
    RequestFailed, RequestRetried, Said, SharedReply, StepFinish, StepStart, ThreadComplete,
    ThreadStart,
};
use crate::transcript::{Event, read};
use crate::{
    ChildEnd, Journal, ProviderErrorClass, ProviderInfo, Reply, Retry, Spawn, StopReason,
    ThreadRecord, TranscriptClaim, Waiting, ended_children,
};

/// The peak of the memory is read from the system.
#[cfg(target_os = "linux")]
mod streaming;

const AT: Moment = Moment::from_unix_millis(1_795_197_600_250);
const CAP: u64 = 1_000;

fn id(number: usize) -> ThreadId {
    ThreadId::new("a", &format!("019a0000-0000-7000-8000-{number:012}")).unwrap()
}

fn limits(spend: SpendLimit) -> LimitSet {
    LimitSet { spend, ..LimitSet::default() }
}

fn at_most(nanos: u64) -> SpendLimit {
    SpendLimit::AtMost(Nanos::new(nanos))
}

/// A thread with its journal, and the reservation of its request in flight.
struct Thread {
    parent: Option<usize>,
    journal: Journal,
    request: Option<Nanos>,
    has_ended: bool,
}

/// Threads of one tree that record their costs.
struct Forest {
    key: Arc<SigningKey>,
    store: Arc<MemoryStore>,
    threads: Vec<Thread>,
    /// The number of bytes of each transcript that survive a power loss.
    synced: BTreeMap<usize, usize>,
    /// The money that the provider has charged.
    charged: u64,
}

impl Forest {
    fn new(cap: SpendLimit) -> Self {
        let key = Arc::new(SigningKey::generate().unwrap());
        let threads = Vec::new();
        let synced = BTreeMap::new();
        let mut forest = Self { key, store: Arc::default(), threads, synced, charged: 0 };
        forest.begin(None, cap);
        forest
    }

    fn begin(&mut self, parent: Option<usize>, spend: SpendLimit) {
        let thread = self.threads.len();
        let mut record = ThreadRecord::new(&id(thread), "a", &limits(spend), AT);
        record.root = id(0);
        let store: Arc<dyn Store> = Arc::clone(&self.store) as _;
        let mut journal = Journal::in_memory(record, Arc::clone(&self.key), store).unwrap();
        let model = ProviderInfo::new("p", "m", 1_000, 100);
        let pem = self.key.public().to_pem();
        let start = Event::ThreadStart(ThreadStart::new(&model, limits(spend), id(0), AT, pem));
        journal.append(&start, AT);
        journal.checkpoint(AT);
        self.threads.push(Thread { parent, journal, request: None, has_ended: false });
        self.sync(thread);
    }

    fn record(&mut self, thread: usize, event: &Event) {
        self.threads[thread].journal.append(event, AT);
        self.threads[thread].journal.flush().unwrap();
    }

    /// Records an act and checks the accounts of the whole tree.
    fn act_on(&mut self, thread: usize, event: &Event) {
        self.record(thread, event);
        self.check();
    }

    fn sync(&mut self, thread: usize) {
        self.threads[thread].journal.sync().unwrap();
        self.synced.insert(thread, self.store.journal(&id(thread)).unwrap().len());
    }

    fn reading(&self, thread: &ThreadId) -> Reading {
        let bytes = self.store.journal(thread).unwrap();
        read(&bytes, thread, &[self.key.public()]).unwrap()
    }

    /// Reads the transcript of a child, which is empty before it begins.
    fn find(&self, child: &ThreadId) -> FoundTranscript<'_> {
        match self.store.journal(child).unwrap().is_empty() {
            true => FoundTranscript::Absent,
            false => FoundTranscript::Transcript(Cow::Owned(self.reading(child))),
        }
    }

    /// Returns the account that the transcripts give.
    fn account(&self, thread: usize) -> Account {
        Account::from_transcripts(&self.reading(&id(thread)), &|child| self.find(child)).unwrap()
    }

    /// Returns the account in the memory of the owner.
    fn known(&self, thread: usize) -> Account {
        self.threads[thread].journal.tree_account().account(&id(thread)).unwrap()
    }

    fn ask(&mut self, thread: usize, amount: u64) {
        let reserved = Nanos::new(amount);
        let is_free = self.known(thread).free().is_none_or(|free| reserved <= free);
        if self.threads[thread].request.is_some() || !is_free {
            return;
        }
        self.threads[thread].request = Some(reserved);
        let turn = 1;
        let max_output_tokens = 1;
        self.act_on(thread, &Event::StepStart(StepStart { turn, reserved, max_output_tokens }));
        // No request is sent before its reservation is on disk.
        self.sync(thread);
    }

    /// Ends an attempt of the request in flight, and reserves the next one.
    fn retry(&mut self, thread: usize, actual: u64, amount: u64) {
        let Some(before) = self.threads[thread].request else { return };
        let cost = Nanos::new(actual).min(before);
        let known = self.known(thread);
        let reserved = Nanos::new(amount);
        let is_free = known
            .free()
            .is_none_or(|free| reserved <= free.saturating_add(before).saturating_sub(cost));
        if !is_free {
            return;
        }
        self.charged += cost.get();
        self.threads[thread].request = Some(reserved);
        let retry = Retry::new(2, 3, ProviderErrorClass::Overloaded, "");
        self.act_on(thread, &Event::RequestRetried(RequestRetried::new(1, &retry, cost, reserved)));
        self.sync(thread);
    }

    /// Ends the request in flight, with or without a reply.
    fn settle(&mut self, thread: usize, actual: u64, is_answered: bool) {
        let Some(reserved) = self.threads[thread].request.take() else { return };
        let cost = Nanos::new(actual).min(reserved);
        self.charged += cost.get();
        self.end_request(thread, cost, is_answered);
    }

    fn end_request(&mut self, thread: usize, cost: Nanos, is_answered: bool) {
        let turn = 1;
        let event = match is_answered {
            true => Event::StepFinish(StepFinish { turn, reply: SharedReply(reply()), cost }),
            false => {
                let class = "overloaded".to_owned();
                let message = String::new();
                Event::RequestFailed(RequestFailed { turn, class, message, cost })
            }
        };
        self.act_on(thread, &event);
    }

    fn spawn(&mut self, parent: usize, share: u64) {
        let child = self.threads.len();
        let share = at_most(share);
        if !self.known(parent).covers(share) {
            return;
        }
        let spawn = Spawn::new("1", id(child), "a", Waiting::ForNothing, limits(share));
        self.act_on(parent, &Event::SpawnChild(spawn));
        self.sync(parent);
        self.begin(Some(parent), share);
    }

    /// Ends a child without a request in flight and without a running child.
    fn end(&mut self, child: usize) {
        let Some(parent) = self.threads[child].parent else { return };
        let is_below = |thread: &Thread| thread.parent == Some(child) && !thread.has_ended;
        if self.threads[child].request.is_some() || self.threads.iter().any(is_below) {
            return;
        }
        let cost = self.known(child).cost;
        let turns = 1;
        let usage = Usage::default();
        let text = String::new();
        self.act_on(
            child,
            &Event::ThreadComplete(ThreadComplete { outputs: None, text, turns, usage, cost }),
        );
        self.threads[child].journal.checkpoint(AT);
        self.sync(child);
        self.threads[child].has_ended = true;
        let end = TranscriptClaim::new(0, String::new(), false);
        let end = ChildEnd::new(id(child), ThreadState::Completed, Nanos::ZERO, end);
        let end = self.threads[parent].journal.tree_account().price_end(end);
        assert_eq!(end.cost, cost);
        self.act_on(parent, &Event::ChildEnded(end));
    }

    /// Kills the process, with a power loss if `is_power` is set. The next process opens all threads that have not
    /// ended.
    fn crash(&mut self, is_power: bool) {
        let store = Arc::new(MemoryStore::new());
        for thread in 0..self.threads.len() {
            let bytes = self.store.journal(&id(thread)).unwrap();
            let length = if is_power { self.synced[&thread] } else { bytes.len() };
            let owned = store.acquire(&id(thread), &id(0)).unwrap();
            store.append(&owned, &bytes[..length]).unwrap();
            store.release(&owned);
        }
        self.store = store;
        let recorded: BTreeSet<ThreadId> = (0..self.threads.len())
            .flat_map(|thread| ended_children(&self.reading(&id(thread))).into_keys())
            .collect();
        for number in 0..self.threads.len() {
            if recorded.contains(&id(number)) {
                continue;
            }
            let store: Arc<dyn Store> = Arc::clone(&self.store) as _;
            let mut record = ThreadRecord::new(&id(number), "a", &LimitSet::default(), AT);
            record.root = id(0);
            let keys = [self.key.public()];
            let key = Arc::clone(&self.key);
            let journal = Journal::open_in_memory(record, &keys, key, store).unwrap();
            let thread = &mut self.threads[number];
            // The provider may charge for a request whose reply was lost.
            self.charged += thread.request.take().unwrap_or_default().get();
            thread.journal = journal;
        }
        self.end_again(&recorded);
    }

    /// Records the ends of children that the power loss removed.
    fn end_again(&mut self, recorded: &BTreeSet<ThreadId>) {
        for child in (0..self.threads.len()).rev() {
            let Some(parent) = self.threads[child].parent.filter(|_| self.threads[child].has_ended)
            else {
                continue;
            };
            if !recorded.contains(&id(child)) && !self.threads[parent].has_ended {
                let end = TranscriptClaim::new(0, String::new(), false);
                let end = ChildEnd::new(id(child), ThreadState::Completed, Nanos::ZERO, end);
                let end = self.threads[parent].journal.tree_account().price_end(end);
                self.act_on(parent, &Event::ChildEnded(end));
            }
        }
    }

    fn act(&mut self, act: &Act) {
        let running: Vec<usize> =
            (0..self.threads.len()).filter(|thread| !self.threads[*thread].has_ended).collect();
        let thread = |which: usize| running[which % running.len()];
        match *act {
            Act::Ask { which, amount } => self.ask(thread(which), amount),
            Act::Retry { which, actual, amount } => self.retry(thread(which), actual, amount),
            Act::Settle { which, actual, is_answered } => {
                self.settle(thread(which), actual, is_answered);
            }
            Act::Spawn { which, share } => self.spawn(thread(which), share),
            Act::End { which } => self.end(thread(which)),
            Act::Crash { is_power } => self.crash(is_power),
        }
    }

    /// Checks that the account in memory is the fold of the transcripts, for each thread that has not ended. No thread
    /// exceeds its limit, and no charge is forgotten.
    fn check(&self) {
        for (number, _) in self.threads.iter().enumerate().filter(|(_, it)| !it.has_ended) {
            let known = self.known(number);
            let folded = self.account(number);
            assert_eq!(known, folded, "{number}");
            let SpendLimit::AtMost(cap) = known.cap else { panic!("{known:?}") };
            assert!(known.cost.saturating_add(known.held) <= cap, "{number}: {known:?}");
        }
        let read = |child: &ThreadId| self.find(child);
        let tree = TreeAccount::from_transcripts(&self.reading(&id(0)), &read).unwrap();
        let root = self.known(0);
        for (number, _) in self.threads.iter().enumerate().filter(|(_, it)| !it.has_ended) {
            assert_eq!(tree.account(&id(number)), Some(self.known(number)), "{number}");
        }
        assert!(self.charged <= root.cost.get(), "{} of {root:?}", self.charged);
    }
}

fn reply() -> Arc<Reply> {
    Arc::new(Reply::new(RawValue::from_string("{}".to_owned()).unwrap(), StopReason::EndTurn))
}

#[derive(Debug, Clone)]
enum Act {
    Ask { which: usize, amount: u64 },
    Crash { is_power: bool },
    End { which: usize },
    Retry { which: usize, actual: u64, amount: u64 },
    Settle { which: usize, actual: u64, is_answered: bool },
    Spawn { which: usize, share: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let which = any::<usize>;
    let act = prop_oneof![
        4 => (which(), 0..200u64).prop_map(|(which, amount)| Act::Ask { which, amount }),
        1 => any::<bool>().prop_map(|is_power| Act::Crash { is_power }),
        2 => which().prop_map(|which| Act::End { which }),
        2 => (which(), 0..200u64, 0..200u64)
            .prop_map(|(which, actual, amount)| Act::Retry { which, actual, amount }),
        4 => (which(), 0..200u64, any::<bool>())
            .prop_map(|(which, actual, is_answered)| Act::Settle { which, actual, is_answered }),
        2 => (which(), 0..600u64).prop_map(|(which, share)| Act::Spawn { which, share }),
    ];
    prop::collection::vec(act, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases / 4).min(48)))]

    /// Random trees with kills and power losses, checked after each record.
    #[test]
    fn rule_07_the_account_in_memory_is_the_fold_of_the_transcripts(acts in acts()) {
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
    let turn = 1;
    let cost = Nanos::new(101);
    forest.record(1, &Event::StepFinish(StepFinish { turn, reply: SharedReply(reply()), cost }));
    forest.threads[1].request = None;
    let check = |forest: &Forest, thread: usize| {
        for account in [forest.account(thread), forest.known(thread)] {
            assert_eq!((account.is_overrun, account.free()), (true, Some(Nanos::ZERO)), "{thread}");
        }
    };
    check(&forest, 1);
    check(&forest, 0);
    forest.end(1);
    check(&forest, 0);
    forest.crash(true);
    check(&forest, 0);
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
