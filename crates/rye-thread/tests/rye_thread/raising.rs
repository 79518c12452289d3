//! Threads that go on after a limit or a failure of their provider ended them (SPEC D18).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rye_thread::{Cancel, Outcome, ProviderErrorClass, ResumeError, recorded_end, recorded_limits};
use rye_types::{LimitSet, Nanos, RaisedLimits, SpendLimit, ThreadState, Usage};

use crate::doubles::FakeClock;
use crate::sweep::sweep;
use crate::unusable::{cut_call, malformed};
use crate::world::{EVERY, World, count, ended_as, line_ends, outcome, tokens, visible};

/// One way for a thread of twenty turns to end early.
struct Row {
    name: &'static str,
    /// What ends it.
    bounds: fn(&mut World),
    failure: &'static str,
    raises: fn() -> RaisedLimits,
}

const ROWS: &[Row] = &[
    Row {
        name: "turns",
        bounds: |world| world.limits.turns = 7,
        failure: "limit `turns` reached: 7 of 7",
        raises: || raised(|limits| limits.turns = Some(40)),
    },
    Row {
        name: "tokens",
        bounds: |world| world.limits.tokens = 25_000,
        failure: "limit `tokens` reached: 26600 of 25000",
        raises: || raised(|limits| limits.tokens = Some(10_000_000)),
    },
    Row {
        name: "spend",
        bounds: |world| world.limits.spend = SpendLimit::AtMost(Nanos::new(30_000_000)),
        failure: "limit `spend` reached",
        raises: || raised(|limits| limits.spend = Some("2.00".parse().unwrap())),
    },
    Row {
        name: "duration",
        bounds: |world| {
            let clock = Arc::new(FakeClock::default());
            (world.model.slow, world.clock) = (Some(Arc::clone(&clock)), clock);
            world.limits.duration_seconds = 7;
        },
        failure: "limit `duration_seconds` reached: 7 of 7",
        raises: || raised(|limits| limits.duration_seconds = Some(600)),
    },
    Row {
        name: "provider",
        bounds: |world| world.model.fails = Some((7, ProviderErrorClass::Overloaded)),
        failure: "it is down",
        raises: RaisedLimits::default,
    },
    Row {
        name: "malformed",
        bounds: |world| world.model.spoils = Some((7, 3, malformed)),
        failure: "the model stopped for `malformed_function_call`, so its answer may not be whole; it was asked three times",
        raises: RaisedLimits::default,
    },
    Row {
        name: "cut",
        bounds: |world| world.model.spoils = Some((7, 3, cut_call)),
        failure: "in the middle of a call; it may have 2000 tokens; raise `max_output` of `model-1` in the file of the provider `scripted`",
        raises: RaisedLimits::default,
    },
];

fn raised(set: impl FnOnce(&mut RaisedLimits)) -> RaisedLimits {
    let mut raised = RaisedLimits::default();
    set(&mut raised);
    raised
}

/// A world in which each answer costs almost as much as is reserved for it.
fn costly() -> World {
    let mut world = World::new();
    world.model.usage = Some(Usage::new(3_700, 100));
    world.limits.tokens = 5_000_000;
    world
}

async fn whole() -> (World, Outcome) {
    let whole = costly();
    let expected = whole.begin(Arc::clone(&whole.store) as _, &Cancel::new()).await.unwrap();
    assert_eq!(expected.state, ThreadState::Completed, "{:?}", expected.failure);
    (whole, expected)
}

impl Row {
    fn world(&self, whole: &World) -> World {
        let mut world = World { key: Arc::clone(&whole.key), ..costly() };
        (self.bounds)(&mut world);
        world
    }

    /// The thread up to its first end.
    async fn ended(&self, whole: &World) -> (World, Outcome) {
        let world = self.world(whole);
        let ended = world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
        let failure = ended.failure.as_ref().unwrap_or_else(|| panic!("{}", self.name));
        assert!(failure.message.contains(self.failure), "{}: {failure}", self.name);
        assert_eq!(ended.state, ThreadState::Error, "{}", self.name);
        assert!(ended.turns < 20, "{}", self.name);
        (world, ended)
    }

    /// The same world with the first bytes of a transcript in it, whose model does not fail.
    fn cut(&self, world: &World, bytes: &[u8]) -> World {
        let mut cut = cut(world, bytes);
        (self.bounds)(&mut cut);
        (cut.model.fails, cut.model.spoils) = (None, None);
        cut
    }
}

fn cut(world: &World, bytes: &[u8]) -> World {
    let mut cut = world.cut(bytes);
    (cut.model.usage, cut.limits.tokens) = (world.model.usage, 5_000_000);
    cut
}

/// The limits that bound what the thread may spend, by the transcript alone.
fn cap(world: &World) -> SpendLimit {
    recorded_limits(&world.reading()).map_or(world.limits.spend, |limits| limits.last.spend)
}

#[tokio::test]
async fn a_stopped_thread_goes_on_with_the_same_history() {
    let (whole, expected) = whole().await;
    for row in ROWS {
        let (world, ended) = row.ended(&whole).await;
        let before = visible(&world.reading());
        let found = world.reopen((row.raises)()).await.unwrap();
        assert_eq!(ended_as(&found), ended_as(&expected), "{}", row.name);
        let reading = world.reading();
        assert_eq!(found.usage, tokens(&reading), "{}", row.name);
        assert_eq!(visible(&reading), visible(&whole.reading()), "{}", row.name);
        assert_eq!(visible(&reading)[..before.len()], before, "{}", row.name);
        assert_eq!(count(&reading, "thread_resumed"), 1, "{}", row.name);
        assert_eq!(count(&reading, "thread_error"), 1, "{}", row.name);
        assert_eq!(world.effects(), whole.effects(), "{}: no effect twice", row.name);
        let replayed = world.replay("", "").await;
        assert_eq!((replayed.divergence, replayed.turns), (None, 20), "{}", row.name);
        let account = world.account();
        assert_eq!((account.cost, account.reserved), (found.cost, Nanos::ZERO), "{}", row.name);
        assert_eq!(account.cap, cap(&world), "{}", row.name);
        let lost = ended.cost.get() + expected.cost.get() - found.cost.get();
        assert!(ended.cost <= found.cost && lost <= found.cost.get(), "{}", row.name);
    }
}

/// Killed after any record of a thread that was reopened, it ends as it would have, and its money is that of one thread.
#[tokio::test]
async fn killed_after_it_was_reopened_it_ends_the_same() {
    let (whole, expected) = whole().await;
    for row in ROWS {
        let (world, ended) = row.ended(&whole).await;
        let first_end = world.bytes().len();
        world.reopen((row.raises)()).await.unwrap();
        let (bytes, reading) = (world.bytes(), world.reading());
        let reopened = reading.records.iter().position(|it| it.name() == "thread_resumed").unwrap();
        // Around the end each record, and of the rest some.
        let is_tried = |(index, _): &(usize, usize)| {
            EVERY || index.abs_diff(reopened) <= 10 || index.is_multiple_of(11)
        };
        let ends = line_ends(&bytes).enumerate().filter(is_tried);
        for (index, end) in sweep(ends, 0, 5) {
            let cut = row.cut(&world, &bytes[..end]);
            let before = cut.reading();
            let found = cut.resume("Begin.").await.unwrap_or_else(|error| {
                panic!("{} cut at record {index}: {error}", row.name);
            });
            // What the operator does counts once it is under a checkpoint.
            let is_reopened = reopened < index;
            let is_before_the_end = recorded_end(&before).is_none() && end < first_end;
            let state = match row.name {
                "cut" | "malformed" | "provider" if is_before_the_end => ThreadState::Completed,
                _ if is_reopened => ThreadState::Completed,
                _ => ThreadState::Error,
            };
            assert_eq!(found.state, state, "{} cut at record {index}", row.name);
            if state == ThreadState::Completed {
                assert_eq!(ended_as(&found), ended_as(&expected), "{} at {index}", row.name);
                assert_eq!(found.usage, tokens(&cut.reading()), "{} at {index}", row.name);
                assert_eq!(visible(&cut.reading()), visible(&whole.reading()), "{}", row.name);
            } else if ["tokens", "turns"].contains(&row.name) {
                // A request without an answer counts as spent, and of the time since the last record nobody knows.
                assert_eq!(found.turns, ended.turns, "{} cut at record {index}", row.name);
            }
            let account = cut.account();
            let spent = (account.cap, account.cost, account.reserved);
            assert_eq!(spent, (cap(&cut), found.cost, Nanos::ZERO), "{} at {index}", row.name);
        }
    }
}

/// A thread may be stopped and reopened any number of times.
#[tokio::test]
async fn a_limit_is_raised_again_and_again() {
    let (whole, expected) = whole().await;
    let mut world = World { key: Arc::clone(&whole.key), ..costly() };
    world.limits.turns = 1;
    world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
    for turns in 2..20 {
        let found = world.reopen(raised(|limits| limits.turns = Some(turns))).await.unwrap();
        assert_eq!((found.state, found.turns), (ThreadState::Error, turns));
        let limits = recorded_limits(&world.reading()).unwrap();
        assert_eq!((limits.first.turns, limits.last.turns), (1, turns));
    }
    let found = world.reopen(raised(|limits| limits.turns = Some(20))).await.unwrap();
    assert_eq!(outcome(&found), outcome(&expected));
    assert_eq!(visible(&world.reading()), visible(&whole.reading()));
    assert_eq!(world.replay("", "").await.divergence, None);
    assert_eq!(world.effects(), whole.effects());
}

/// Nothing is written where the operator raises nothing that helps, or the end is final.
#[tokio::test]
async fn what_does_not_help_is_refused_before_anything_is_done() {
    let (whole, _) = whole().await;
    let (world, _) = ROWS[0].ended(&whole).await;
    let before = world.bytes();
    let refuse = |limits: RaisedLimits| {
        let (world, before) = (&world, &before);
        async move {
            let error = world.reopen(limits).await.unwrap_err();
            assert_eq!(world.bytes(), *before, "{error}");
            error
        }
    };
    let error = refuse(RaisedLimits::default()).await;
    assert!(matches!(error, ResumeError::LimitStands { .. }), "{error}");
    let error = refuse(raised(|limits| limits.tokens = Some(6_000_000))).await;
    assert!(matches!(error, ResumeError::LimitStands { .. }), "{error}");
    let error = refuse(raised(|limits| limits.turns = Some(7))).await;
    assert!(matches!(error, ResumeError::NotRaised(_)), "{error}");
    assert_eq!(world.model.asked.load(Ordering::Relaxed), 7);
    // The end of a thread that is complete is written down, and nothing more.
    let found = whole.reopen(raised(|limits| limits.turns = Some(100))).await.unwrap();
    assert_eq!((found.state, found.turns), (ThreadState::Completed, 20));
    assert_eq!(count(&whole.reading(), "thread_resumed"), 0);
}

/// A running thread that was killed may get more, too.
#[tokio::test]
async fn the_limits_of_a_killed_thread_are_raised() {
    let (whole, expected) = whole().await;
    let bytes = whole.bytes();
    let reading = whole.reading();
    let mut answers = (0..).zip(&reading.records).filter(|(_, it)| it.name() == "step_finish");
    let (fifth, _) = answers.nth(4).unwrap();
    let end = line_ends(&bytes).nth(fifth).unwrap();
    let cut = cut(&whole, &bytes[..end]);
    let found = cut.reopen(raised(|limits| limits.turns = Some(50))).await.unwrap();
    assert_eq!(outcome(&found), outcome(&expected));
    assert_eq!(recorded_limits(&cut.reading()).unwrap().last, limits_of(&cut, 50));
}

fn limits_of(world: &World, turns: u64) -> LimitSet {
    let mut limits = world.limits.clone();
    limits.turns = turns;
    limits
}

/// An answer that cost more than was reserved for it ended the thread, whatever it said; its calls are run once it goes on.
#[tokio::test]
async fn a_thread_that_overran_goes_on_behind_its_answer() {
    for turn in [1, 18] {
        let mut world = costly();
        world.model.overruns = Some(turn);
        let ended = world.begin(Arc::clone(&world.store) as _, &Cancel::new()).await.unwrap();
        let failure = ended.failure.unwrap().message;
        assert!(failure.contains("more than the"), "{failure}");
        let refused = world.reopen(RaisedLimits::default()).await.unwrap_err();
        assert!(matches!(refused, ResumeError::LimitStands { .. }), "{refused}");
        let spend = raised(|limits| limits.spend = Some("3.00".parse().unwrap()));
        let found = world.reopen(spend).await.unwrap();
        assert_eq!(found.state, ThreadState::Completed, "{:?}", found.failure);
        assert_eq!(world.replay("", "").await.divergence, None, "turn {turn}");
        let account = world.account();
        let spent = (account.cap, account.cost, account.reserved);
        assert_eq!(spent, (cap(&world), found.cost, Nanos::ZERO), "turn {turn}");
    }
}
