//! The account of a tree: what its threads recorded, and the money that follows from it (SPEC 10.6).

use std::borrow::Cow;
use std::collections::BTreeMap;

use rye_types::{SpendLimit, ThreadState};
use serde_json::value::RawValue;

use super::*;
use crate::payload::{
    ChildEnd, RequestFailed, RequestRetried, SharedReply, StepFinish, StepStart, ThreadContinued,
};
use crate::{ProviderErrorClass, Reply, Retry, Spawn, StopReason, TranscriptClaim, Waiting};

/// Returns the id of the thread with a short name.
fn id(name: &str) -> ThreadId {
    ThreadId::new(name, "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn nanos(text: &str) -> Nanos {
    Nanos::new(text.parse().unwrap())
}

fn limit(text: &str) -> SpendLimit {
    if text == "unlimited" { SpendLimit::Unlimited } else { SpendLimit::AtMost(nanos(text)) }
}

fn limits(spend: &str) -> LimitSet {
    LimitSet { spend: limit(spend), ..LimitSet::default() }
}

/// The event that a phrase such as `reserve 30` or `spawn b 40` stands for.
fn event(phrase: &str) -> Event {
    let words: Vec<&str> = phrase.split_whitespace().collect();
    match *words {
        ["cap", cap] => {
            let (model, pem) = (ProviderInfo::new("p", "m", 1_000, 100), KEY.public().to_pem());
            Event::ThreadStart(ThreadStart::new(&model, limits(cap), id("a"), AT, pem))
        }
        ["reserve", amount] => {
            Event::StepStart(StepStart { turn: 1, reserved: nanos(amount), max_output_tokens: 100 })
        }
        ["settle", cost] => {
            let reply = Reply::new(RawValue::NULL.to_owned(), StopReason::EndTurn);
            let (reply, cost) = (SharedReply::new(reply), nanos(cost));
            Event::StepFinish(StepFinish { turn: 1, reply, cost })
        }
        ["fail", cost] => Event::RequestFailed(RequestFailed {
            turn: 1,
            class: "server".to_owned(),
            message: String::new(),
            cost: nanos(cost),
        }),
        ["retry", cost, reserved] => {
            let retry = Retry::new(2, 4, ProviderErrorClass::Server, "");
            let retried = RequestRetried::new(1, &retry, nanos(cost), nanos(reserved));
            Event::RequestRetried(retried)
        }
        ["spawn", child, share] => {
            let waiting = Waiting::ForTheEnd;
            Event::SpawnChild(Spawn::new("1", id(child), child, waiting, limits(share)))
        }
        ["end", child, cost] | ["overran", child, cost] => {
            let claim = TranscriptClaim::new(1, String::new(), false);
            let end = ChildEnd::new(id(child), ThreadState::Completed, nanos(cost), claim);
            Event::ChildEnded(ChildEnd { is_overrun: words[0] == "overran", ..end })
        }
        ["continue", next, share] => Event::ThreadContinued(ThreadContinued {
            turns: 1,
            usage: rye_types::Usage::default(),
            cost: Nanos::ZERO,
            next: id(next),
            limits: limits(share),
            text: String::new(),
        }),
        ["raise", cap] => resumed(&KEY, Some(limits(cap))),
        ["resume"] => resumed(&KEY, None),
        ["say"] => user("x"),
        _ => panic!("`{phrase}` stands for no event"),
    }
}

/// The threads of a tree, by what each recorded: `None` for a transcript that cannot be relied on. The first one is the root.
struct Tree(Vec<(ThreadId, Option<Reading>)>);

impl Tree {
    /// Reads threads such as `a: cap 100, spawn b 40 | b: unreadable`.
    ///
    /// `dream` is an event of a newer version. `smuggle 900` raises the limit under the checkpoint of another event alone.
    fn new(threads: &str) -> Self {
        let thread = |line: &str| {
            let (name, phrases) = line.split_once(':').unwrap();
            let thread = id(name.trim());
            if phrases.trim() == "unreadable" {
                return (thread, None);
            }
            let mut transcript = Transcript::new(&thread);
            for phrase in phrases.split(',') {
                match phrase.trim().split_once(' ') {
                    None if phrase.trim() == "dream" => transcript.tell_newer("dream", ""),
                    Some(("smuggle", cap)) => {
                        transcript.append(&event(&format!("raise {cap}")));
                        transcript.append(&user("x"));
                        transcript.checkpoint(&KEY);
                    }
                    _ => transcript.tell(&[event(phrase)]),
                }
            }
            (thread, Some(transcript.reading()))
        };
        Self(threads.split('|').map(thread).collect())
    }

    fn root(&self) -> &Reading {
        self.0[0].1.as_ref().unwrap()
    }

    fn find(&self, thread: &ThreadId) -> FoundTranscript<'_> {
        match self.0.iter().find(|(id, _)| id == thread) {
            None => FoundTranscript::Absent,
            Some((_, None)) => FoundTranscript::Unreadable,
            Some((_, Some(reading))) => FoundTranscript::Transcript(Cow::Borrowed(reading)),
        }
    }

    fn account(&self) -> Result<Account, String> {
        Account::from_transcripts(self.root(), &|thread| self.find(thread))
            .map_err(|error| error.to_string())
    }

    fn accounts(&self) -> Accounts {
        Accounts::from_transcripts(self.root(), &|thread| self.find(thread)).unwrap()
    }
}

/// Returns an account in one line.
fn shown(account: &Account) -> String {
    let Account { cost, reserved, held, is_overrun, .. } = account;
    let [cost, reserved, held] = [cost, reserved, held].map(|amount| amount.get());
    let free = account.free().map_or("any".to_owned(), |free| free.get().to_string());
    let overrun = if *is_overrun { ", overrun" } else { "" };
    format!("cost {cost}, reserved {reserved}, held {held}, free {free}{overrun}")
}

#[track_caller]
fn check(threads: &str, expected: &str) {
    assert_eq!(
        Tree::new(threads).account().map(|it| shown(&it)).as_deref(),
        Ok(expected),
        "{threads}"
    );
}

#[test]
fn a_request_counts_as_its_reservation_until_its_end_is_recorded() {
    for (thread, expected) in [
        ("a: cap 100", "cost 0, reserved 0, held 0, free 100"),
        ("a: cap unlimited, reserve 30", "cost 30, reserved 30, held 0, free any"),
        ("a: cap 100, reserve 30", "cost 30, reserved 30, held 0, free 70"),
        ("a: cap 100, reserve 30, settle 20", "cost 20, reserved 0, held 0, free 80"),
        ("a: cap 100, reserve 30, settle 30", "cost 30, reserved 0, held 0, free 70"),
        ("a: cap 100, reserve 30, fail 30", "cost 30, reserved 0, held 0, free 70"),
        ("a: cap 100, reserve 30, fail 0", "cost 0, reserved 0, held 0, free 100"),
        // The program was killed before the end of the first request. It may have been charged.
        ("a: cap 100, reserve 30, reserve 40", "cost 70, reserved 40, held 0, free 30"),
        ("a: cap 100, reserve 30, reserve 40, settle 5", "cost 35, reserved 0, held 0, free 65"),
        ("a: cap 100, reserve 30, retry 10 40", "cost 50, reserved 40, held 0, free 50"),
        ("a: cap 100, reserve 30, retry 10 40, settle 5", "cost 15, reserved 0, held 0, free 85"),
        ("a: cap 100, reserve 60, settle 60, reserve 40", "cost 100, reserved 40, held 0, free 0"),
    ] {
        check(thread, expected);
    }
}

/// Then the thread ends: nothing is free, whatever is left of its limit.
#[test]
fn a_provider_that_charges_more_than_was_reserved_leaves_nothing_free() {
    for (threads, expected) in [
        ("a: cap 100, reserve 30, settle 31", "cost 31, reserved 0, held 0, free 0, overrun"),
        ("a: cap 100, reserve 30, fail 31", "cost 31, reserved 0, held 0, free 0, overrun"),
        ("a: cap 100, reserve 30, retry 31 9", "cost 40, reserved 9, held 0, free 0, overrun"),
        (
            "a: cap 100, reserve 30, settle 31, reserve 9, settle 9",
            "cost 40, reserved 0, held 0, free 0, overrun",
        ),
        ("a: cap 30, reserve 30, settle 30", "cost 30, reserved 0, held 0, free 0"),
        ("a: cap 30, reserve 31", "cost 31, reserved 31, held 0, free 0, overrun"),
        (
            "a: cap unlimited, reserve 30, settle 31",
            "cost 31, reserved 0, held 0, free any, overrun",
        ),
        (
            "a: cap 100, spawn b 40 | b: cap 40, reserve 5, settle 6",
            "cost 6, reserved 0, held 34, free 0, overrun",
        ),
        (
            "a: cap 100, reserve 9, settle 9, continue b 91 | b: cap 91, reserve 5, settle 6",
            "cost 15, reserved 0, held 0, free 0, overrun",
        ),
    ] {
        check(threads, expected);
    }
}

/// The share of a child is taken from its parent until its end is recorded.
#[test]
fn a_child_holds_its_share() {
    for (threads, expected) in [
        ("a: cap 100, spawn b 40", "cost 0, reserved 0, held 40, free 60"),
        (
            "a: cap 100, spawn b 40 | b: cap 40, reserve 15",
            "cost 15, reserved 15, held 25, free 60",
        ),
        (
            "a: cap 100, reserve 9, spawn b 40 | b: cap 40, reserve 15, settle 10",
            "cost 19, reserved 9, held 30, free 51",
        ),
        (
            "a: cap 100, spawn b 40, spawn c 30 | b: cap 40, reserve 15 | c: cap 30, reserve 5, fail 1",
            "cost 16, reserved 15, held 54, free 30",
        ),
        (
            "a: cap 100, spawn b 60 | b: cap 60, reserve 7, settle 7, spawn c 20 | c: cap 20, reserve 5",
            "cost 12, reserved 5, held 48, free 40",
        ),
        // The share counts, also if the child's own record says another limit.
        ("a: cap 100, spawn b 40 | b: cap 90", "cost 0, reserved 0, held 40, free 60"),
        ("a: cap unlimited, spawn b 40", "cost 0, reserved 0, held 40, free any"),
        (
            "a: cap unlimited, spawn b unlimited | b: cap unlimited, reserve 7, spawn c 20",
            "cost 7, reserved 7, held 20, free any",
        ),
    ] {
        check(threads, expected);
    }
}

#[test]
fn a_child_that_has_ended_counts_with_its_cost() {
    for (thread, expected) in [
        ("a: cap 100, spawn b 40, end b 10", "cost 10, reserved 0, held 0, free 90"),
        ("a: cap 100, spawn b 40, end b 40", "cost 40, reserved 0, held 0, free 60"),
        (
            "a: cap 100, spawn b 40, end b 10 | b: cap 40, reserve 40",
            "cost 10, reserved 0, held 0, free 90",
        ),
        ("a: cap 100, spawn b 40, end b 41", "cost 41, reserved 0, held 0, free 0, overrun"),
        ("a: cap 100, spawn b 40, overran b 10", "cost 10, reserved 0, held 0, free 0, overrun"),
        (
            "a: cap 100, spawn b 40, overran b 10, spawn c 5, end c 5",
            "cost 15, reserved 0, held 0, free 0, overrun",
        ),
        (
            "a: cap 100, spawn b 60 | b: cap 60, spawn c 20, end c 21",
            "cost 21, reserved 0, held 39, free 0, overrun",
        ),
    ] {
        check(thread, expected);
    }
}

/// What cannot be read may have cost all that it might cost, and without a limit it is not known how much.
#[test]
fn a_transcript_that_cannot_be_relied_on_counts_with_its_whole_share() {
    for (threads, expected) in [
        ("a: cap 100, spawn b 40 | b: unreadable", "cost 40, reserved 0, held 0, free 60"),
        ("a: cap 100, spawn b 40 | b: cap 40, dream", "cost 40, reserved 0, held 0, free 60"),
        (
            "a: cap 100, spawn b 40 | b: cap 40, spawn c 30 | c: unreadable",
            "cost 30, reserved 0, held 10, free 60",
        ),
        (
            "a: cap 100, reserve 9, settle 9, continue b 91 | b: unreadable",
            "cost 100, reserved 0, held 0, free 0",
        ),
        (
            "a: cap 100, reserve 9, settle 9, continue b 91 | b: cap 91, dream",
            "cost 100, reserved 0, held 0, free 0",
        ),
    ] {
        check(threads, expected);
    }
    let thread = id("b");
    let unbounded = format!(
        "the transcript of `{thread}` cannot be read, and it had no spend limit, so its cost is not known; restore `.ai/threads/{thread}` or start the directive again"
    );
    for threads in [
        "a: cap unlimited, spawn b unlimited | b: unreadable",
        "a: cap unlimited, spawn b unlimited | b: cap unlimited, dream",
        "a: cap unlimited, continue b unlimited | b: unreadable",
        "a: cap unlimited, continue b unlimited | b: cap unlimited, dream",
    ] {
        assert_eq!(Tree::new(threads).account(), Err(unbounded.clone()), "{threads}");
    }
    assert_eq!(
        Tree::new("a: cap 100, dream").account().unwrap_err(),
        format!(
            "thread `{}` has the event `dream`, which this version does not know, so its cost cannot be computed; use the version that recorded it",
            id("a")
        )
    );
}

/// The threads of a conversation spend the limit of the first.
#[test]
fn a_continuation_spends_the_money_of_its_conversation() {
    for (threads, expected) in [
        (
            "a: cap 100, reserve 30, settle 30, continue b 70",
            "cost 30, reserved 0, held 0, free 70",
        ),
        (
            "a: cap 100, reserve 30, settle 30, continue b 70 | b: cap 70, reserve 20",
            "cost 50, reserved 20, held 0, free 50",
        ),
        (
            "a: cap 100, reserve 30, settle 30, continue b 70 | b: cap 70, spawn d 9, continue c 61 | c: cap 61, reserve 2",
            "cost 32, reserved 2, held 9, free 59",
        ),
        // A child that was continued still has one share.
        (
            "a: cap 100, spawn b 40 | b: cap 40, reserve 10, settle 10, continue c 30 | c: cap 30, reserve 5",
            "cost 15, reserved 5, held 25, free 60",
        ),
    ] {
        check(threads, expected);
    }
}

/// Raising is the operator's act, with knowledge of what was overrun. It counts only under its own checkpoint.
#[test]
fn a_raised_limit_is_the_limit_from_there_on() {
    for (threads, expected) in [
        ("a: cap 30, reserve 30, settle 30, raise 50", "cost 30, reserved 0, held 0, free 20"),
        ("a: cap 100, reserve 30, settle 40, raise 90", "cost 40, reserved 0, held 0, free 50"),
        (
            "a: cap 30, reserve 30, settle 40, raise 35",
            "cost 40, reserved 0, held 0, free 0, overrun",
        ),
        (
            "a: cap 100, reserve 30, settle 40, resume",
            "cost 40, reserved 0, held 0, free 0, overrun",
        ),
        ("a: cap 100, spawn b 40, overran b 50, raise 90", "cost 50, reserved 0, held 0, free 40"),
        (
            "a: cap 100, reserve 30, settle 40, raise 90, reserve 1, settle 2",
            "cost 42, reserved 0, held 0, free 0, overrun",
        ),
        ("a: cap 30, reserve 30, settle 30, smuggle 900", "cost 30, reserved 0, held 0, free 0"),
        (
            "a: cap 100, reserve 30, settle 31, smuggle 900",
            "cost 31, reserved 0, held 0, free 0, overrun",
        ),
    ] {
        check(threads, expected);
    }
}

#[test]
fn a_tree_has_an_end() {
    let circle = |thread: &str| {
        Err::<String, _>(format!(
            "thread `{}` is its own ancestor, or its tree is too deep, so its cost cannot be computed",
            id(thread)
        ))
    };
    for (threads, of) in [
        ("a: cap 9, spawn a 5", "a"),
        ("a: cap 9, continue a 5", "a"),
        ("a: cap 9, spawn b 5 | b: cap 5, spawn c 5 | c: cap 5, continue b 5", "b"),
    ] {
        assert_eq!(Tree::new(threads).account().map(|it| shown(&it)), circle(of), "{threads}");
    }
    let deep = |depth: usize, verb: &str| {
        let links = (0..depth).map(|at| format!("t{at}: cap 9, {verb} t{} 9", at + 1));
        let threads: Vec<String> = links.chain([format!("t{depth}: cap 9")]).collect();
        Tree::new(&threads.join("|")).account().map(|account| shown(&account))
    };
    assert_eq!(deep(64, "spawn"), Ok("cost 0, reserved 0, held 9, free 0".to_owned()));
    assert_eq!(deep(65, "spawn"), circle("t65"));
    assert_eq!(deep(66, "spawn"), circle("t65"));
    // A long conversation is not a deep tree.
    assert_eq!(deep(66, "continue"), Ok("cost 0, reserved 0, held 0, free 9".to_owned()));
}

#[test]
fn a_share_fits_into_what_is_free() {
    for (thread, share, is_covered) in [
        ("a: cap 100, reserve 30", "70", true),
        ("a: cap 100, reserve 30", "71", false),
        ("a: cap 100", "unlimited", false),
        ("a: cap 100, reserve 30, settle 31", "0", true),
        ("a: cap 100, reserve 30, settle 31", "1", false),
        ("a: cap unlimited, reserve 30", "71", true),
        ("a: cap unlimited", "unlimited", true),
    ] {
        let account = Tree::new(thread).account().unwrap();
        assert_eq!(account.covers(limit(share)), is_covered, "{thread}: {share}");
    }
}

#[test]
fn a_thread_that_never_began_has_no_limit_and_no_cost() {
    let account = Account::from_transcripts(&told(&[]), &|_| FoundTranscript::Absent);
    assert_eq!(account, Ok(Account::new(SpendLimit::Unlimited)));
}

/// The accounts of a tree, by the names of the threads.
#[track_caller]
fn check_each(accounts: &Accounts, expected: &[(&str, &str)]) {
    let found = |name: &str| accounts.account(&id(name)).map(|account| shown(&account));
    let found: BTreeMap<&str, String> =
        ["a", "b", "c", "d", "e"].into_iter().filter_map(|it| Some((it, found(it)?))).collect();
    let found: Vec<(&str, &str)> =
        found.iter().map(|(name, shown)| (*name, shown.as_str())).collect();
    assert_eq!(found, expected);
}

const FAMILY: &str = "a: cap 100, spawn b 60 | b: cap 60, spawn c 20, continue d 40 | \
     c: cap 20, reserve 5 | d: cap 40, spawn e 10, reserve 8, settle 6 | e: cap 10, reserve 1";

/// Returns the accounts of a process that appended all records of the tree itself, one thread after the other.
fn appended(tree: &Tree) -> Accounts {
    let mut accounts = Accounts::default();
    for (thread, reading) in &tree.0 {
        for (_, event) in reading.as_ref().unwrap().events() {
            accounts.record(thread, &event.unwrap());
        }
    }
    accounts
}

#[test]
fn each_thread_of_a_tree_has_an_account() {
    let tree = Tree::new(FAMILY);
    let expected = [
        ("a", "cost 12, reserved 6, held 48, free 40"),
        ("b", "cost 12, reserved 6, held 24, free 24"),
        ("c", "cost 5, reserved 5, held 0, free 15"),
        ("d", "cost 7, reserved 1, held 9, free 24"),
        ("e", "cost 1, reserved 1, held 0, free 9"),
    ];
    check_each(&tree.accounts(), &expected);
    assert_eq!(appended(&tree), tree.accounts(), "it is the same after a crash");
}

/// The parent has recorded what they cost.
#[test]
fn a_child_that_has_ended_is_forgotten_with_all_below_it() {
    let mut accounts = Tree::new(FAMILY).accounts();
    accounts.record(&id("d"), &event("end e 1"));
    let b = "cost 12, reserved 5, held 15, free 33";
    check_each(
        &accounts,
        &[
            ("a", "cost 12, reserved 5, held 48, free 40"),
            ("b", b),
            ("c", "cost 5, reserved 5, held 0, free 15"),
            ("d", "cost 7, reserved 0, held 0, free 33"),
        ],
    );
    accounts.record(&id("a"), &event("say"));
    accounts.record(&id("a"), &event("end b 12"));
    check_each(&accounts, &[("a", "cost 12, reserved 0, held 0, free 88")]);
}

/// A process takes over threads of a tree that others wrote.
#[test]
fn an_account_is_replaced_by_that_of_a_transcript() {
    let mut accounts = Tree::new("a: cap 100, spawn b 40 | b: cap 40, reserve 15").accounts();
    let later = Tree::new("b: cap 40, reserve 15, settle 2, spawn c 8");
    accounts.open(&id("b"), later.root());
    let a = "cost 2, reserved 0, held 38, free 60";
    let b = "cost 2, reserved 0, held 8, free 30";
    check_each(&accounts, &[("a", a), ("b", b)]);
    let below = Tree::new("b: cap 40, spawn c 8 | c: cap 8, reserve 3").accounts();
    accounts.extend(below, |thread| *thread != id("b"));
    check_each(
        &accounts,
        &[
            ("a", "cost 5, reserved 3, held 35, free 60"),
            ("b", "cost 5, reserved 3, held 5, free 30"),
            ("c", "cost 3, reserved 3, held 0, free 5"),
        ],
    );
}

/// Records of a process that began in the middle of a thread, or whose threads name each other, are added up as far as they go.
#[test]
fn what_was_appended_is_counted_once() {
    let mut accounts = Accounts::default();
    accounts.record(&id("a"), &event("reserve 30"));
    check_each(&accounts, &[("a", "cost 30, reserved 30, held 0, free any")]);
    accounts.record(&id("a"), &event("spawn a 50"));
    accounts.record(&id("a"), &event("continue a 50"));
    check_each(&accounts, &[("a", "cost 30, reserved 30, held 50, free any")]);
}

#[test]
fn the_ends_of_children_are_read_back() {
    let tree = Tree::new("a: cap 100, spawn b 40, spawn c 9, spawn d 1, end b 10, overran d 2");
    let ends = ended_children(tree.root());
    let ends: Vec<_> =
        ends.iter().map(|(child, end)| (child.clone(), end.cost.get(), end.is_overrun)).collect();
    assert_eq!(ends, [(id("b"), 10, false), (id("d"), 2, true)]);
}
