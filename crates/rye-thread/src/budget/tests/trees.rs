//! Accounts below accounts.

use super::*;

/// The cap of the first account of a tree, under which all of it stays.
const CAP: u64 = 1_000;

#[test]
fn a_child_takes_its_cap_from_its_parent_and_gives_back_what_it_did_not_spend() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        ledger.open_child(&id(1), &id(2), at_most(60)).unwrap();
        assert_eq!(ledger.open(&id(1), at_most(100)).unwrap().reserved.get(), 60, "{name}");
        assert_eq!(ledger.unsettled(&id(1)).unwrap(), [], "{name}: the child's is the child's");
        let reservation = ledger.reserve(&id(2), Nanos::new(50)).unwrap();
        ledger.settle(reservation, Nanos::new(7)).unwrap();
        let closed = ledger.close_child(&id(2)).unwrap();
        assert_eq!(closed.settled.get(), 7, "{name}");
        let parent = ledger.open(&id(1), at_most(100)).unwrap();
        assert_eq!((parent.settled.get(), parent.reserved.get()), (7, 0), "{name}");
        assert_eq!(ledger.close_child(&id(2)).unwrap(), closed, "{name}: once");
        assert_eq!(ledger.open(&id(1), at_most(100)).unwrap(), parent, "{name}");
    });
}

#[test]
fn opening_a_child_again_finds_it() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        ledger.open(&id(3), at_most(100)).unwrap();
        for _ in 0..2 {
            ledger.open_child(&id(1), &id(2), at_most(60)).unwrap();
            assert_eq!(ledger.open(&id(1), at_most(100)).unwrap().reserved.get(), 60, "{name}");
        }
        let rows = [
            (ledger.open_child(&id(1), &id(2), at_most(61)), "has another spend limit"),
            (ledger.open_child(&id(3), &id(2), at_most(60)), "is not one of a child of"),
            (ledger.open_child(&id(1), &id(3), at_most(100)), "is not one of a child of"),
            (ledger.open_child(&id(1), &id(4), at_most(41)), "is used up"),
            (ledger.open_child(&id(1), &id(4), SpendLimit::Unlimited), "is used up"),
            (ledger.open_child(&id(9), &id(4), at_most(1)), "has no account"),
            (ledger.close_child(&id(1)), "has no account"),
        ];
        for (found, message) in rows {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(message), "{name}: {error}");
        }
        assert_eq!(ledger.open(&id(1), at_most(100)).unwrap().reserved.get(), 60, "{name}");
    });
}

/// The driver of a closed account may not know it yet.
#[test]
fn a_closed_child_spends_nothing_more() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        ledger.open_child(&id(1), &id(2), at_most(60)).unwrap();
        ledger.open_child(&id(2), &id(3), at_most(20)).unwrap();
        let (left, below) = (
            ledger.reserve(&id(2), Nanos::new(10)).unwrap(),
            ledger.reserve(&id(3), Nanos::new(5)).unwrap(),
        );
        ledger.close_child(&id(2)).unwrap();
        let parent = ledger.open(&id(1), at_most(100)).unwrap();
        assert_eq!((parent.settled.get(), parent.reserved.get()), (15, 0), "{name}");
        for child in [2, 3] {
            let error = ledger.reserve(&id(child), Nanos::new(1)).unwrap_err();
            assert!(matches!(error, LedgerError::Exhausted { .. }), "{name}: {error}");
        }
        for late in [left, below] {
            let error = ledger.settle(late, Nanos::ZERO).unwrap_err();
            assert!(matches!(error, LedgerError::UnknownReservation { .. }), "{name}: {error}");
        }
        assert_eq!(ledger.open(&id(1), at_most(100)).unwrap(), parent, "{name}");
    });
}

#[test]
fn a_child_without_a_cap_needs_a_parent_without_one() {
    on_each(|name, ledger| {
        ledger.open(&id(1), SpendLimit::Unlimited).unwrap();
        ledger.open_child(&id(1), &id(2), SpendLimit::Unlimited).unwrap();
        let reservation = ledger.reserve(&id(2), Nanos::new(50)).unwrap();
        ledger.settle(reservation, Nanos::new(70)).unwrap();
        ledger.close_child(&id(2)).unwrap();
        let parent = ledger.open(&id(1), SpendLimit::Unlimited).unwrap();
        assert_eq!((parent.cost().get(), parent.reserved.get()), (70, 0), "{name}");
    });
}

#[derive(Debug, Clone)]
enum Act {
    Close { which: usize },
    Crash,
    Draw { which: usize, actual: u64 },
    Reserve { which: usize, amount: u64 },
    Settle { which: usize, actual: u64 },
    Spawn { which: usize, cap: u64 },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let which = any::<usize>;
    let act = prop_oneof![
        2 => which().prop_map(|which| Act::Close { which }),
        1 => Just(Act::Crash),
        4 => (which(), 0..250u64).prop_map(|(which, actual)| Act::Draw { which, actual }),
        4 => (which(), 0..200u64).prop_map(|(which, amount)| Act::Reserve { which, amount }),
        4 => (which(), 0..250u64).prop_map(|(which, actual)| Act::Settle { which, actual }),
        3 => (which(), 0..600u64).prop_map(|(which, cap)| Act::Spawn { which, cap }),
    ];
    prop::collection::vec(act, 0..80)
}

/// The threads that have an account, with their parents and caps, and what their programs hold.
#[derive(Default)]
struct Forest {
    threads: Vec<(u8, Option<u8>, u64)>,
    closed: Vec<u8>,
    open: Vec<Reservation>,
    charged: u64,
}

impl Forest {
    fn act(&mut self, ledger: &dyn Ledger, act: &Act) -> String {
        match *act {
            Act::Crash => {
                self.open.clear();
                "crashed".to_owned()
            }
            Act::Close { which } => {
                let (thread, parent, _) = self.threads[which % self.threads.len()];
                if parent.is_some() {
                    self.close(thread);
                }
                said(ledger.close_child(&id(thread)))
            }
            Act::Draw { .. } if self.open.is_empty() => "nothing to draw from".to_owned(),
            Act::Draw { which, actual } => {
                let reservation = self.open.swap_remove(which % self.open.len());
                let actual = actual.min(reservation.amount().get());
                let drawn = ledger.draw(reservation, Nanos::new(actual));
                self.charged += if drawn.is_ok() { actual } else { 0 };
                drawn.map_or_else(
                    |error| error.to_string(),
                    |left| {
                        let said = format!("{:?}", left.as_ref().map(Reservation::amount));
                        self.open.extend(left);
                        said
                    },
                )
            }
            Act::Reserve { which, amount } => {
                let (thread, ..) = self.threads[which % self.threads.len()];
                let reserved = ledger.reserve(&id(thread), Nanos::new(amount));
                reserved
                    .map(|it| self.open.push(it))
                    .map_or_else(|it| it.to_string(), |()| "set aside".to_owned())
            }
            Act::Settle { .. } if self.open.is_empty() => "nothing to settle".to_owned(),
            Act::Settle { which, actual } => {
                let reservation = self.open.swap_remove(which % self.open.len());
                let actual = actual.min(reservation.amount().get());
                let settled = ledger.settle(reservation, Nanos::new(actual));
                self.charged += if settled.is_ok() { actual } else { 0 };
                said(settled)
            }
            Act::Spawn { which, cap } => {
                let (parent, ..) = self.threads[which % self.threads.len()];
                let child = u8::try_from(self.threads.len() + 1).unwrap();
                let opened = ledger.open_child(&id(parent), &id(child), at_most(cap));
                if opened.is_ok() {
                    self.threads.push((child, Some(parent), cap));
                }
                said(opened)
            }
        }
    }

    fn close(&mut self, thread: u8) {
        self.closed.push(thread);
        let below: Vec<u8> =
            self.threads.iter().filter(|it| it.1 == Some(thread)).map(|it| it.0).collect();
        below.into_iter().for_each(|child| self.close(child));
    }

    /// On every account what is settled and set aside is under its cap, so that the first one bounds the whole tree, and
    /// what was charged is nowhere forgotten.
    fn check(&self, ledger: &dyn Ledger) {
        for (thread, _, cap) in &self.threads {
            let balance = ledger.open(&id(*thread), at_most(*cap)).unwrap();
            assert!(
                balance.settled.get() + balance.reserved.get() <= *cap,
                "{thread}: {balance:?}"
            );
            assert_eq!(balance.overrun, Nanos::ZERO);
            if self.closed.contains(thread) {
                assert_eq!(balance.reserved, Nanos::ZERO, "{thread} is closed");
                assert!(ledger.reserve(&id(*thread), Nanos::ZERO).is_err(), "{thread} is closed");
            }
        }
        let all = ledger.open(&id(1), at_most(CAP)).unwrap();
        assert!(self.charged <= all.settled.get() + all.reserved.get(), "{all:?}");
    }
}

fn said(result: Result<Balance, LedgerError>) -> String {
    result.map_or_else(|error| error.to_string(), |balance| format!("{balance:?}"))
}

fn grow(ledger: &dyn Ledger, acts: &[Act]) -> Vec<String> {
    ledger.open(&id(1), at_most(CAP)).unwrap();
    let mut forest = Forest { threads: vec![(1, None, CAP)], ..Forest::default() };
    acts.iter()
        .map(|act| {
            let said = forest.act(ledger, act);
            forest.check(ledger);
            said
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_tree_never_passes_the_cap_of_its_first_thread(acts in acts()) {
        grow(&MemoryLedger::new(), &acts);
    }
}

/// What a ledger need not wait for: a loss of power may undo it, with all that followed.
fn may_be_undone(act: &Act) -> bool {
    matches!(act, Act::Crash | Act::Draw { .. } | Act::Settle { .. })
}

/// The tree after a loss of power, in which the last of what was done may never have been.
fn undo(done: &mut Vec<Act>, most: usize) -> (MemoryLedger, Forest) {
    let last = done.iter().rev().take(most).take_while(|act| may_be_undone(act)).count();
    done.truncate(done.len() - last);
    // A program that goes on has none of the reservations of the one before it.
    done.push(Act::Crash);
    let (ledger, mut forest) = (MemoryLedger::new(), Forest::default());
    ledger.open(&id(1), at_most(CAP)).unwrap();
    forest.threads.push((1, None, CAP));
    for act in &*done {
        forest.act(&ledger, act);
    }
    (ledger, forest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Nothing that was charged is forgotten, and nothing passes the cap, whoever goes on afterwards.
    #[test]
    fn a_loss_of_power_forgets_no_charge(
        lives in prop::collection::vec((acts(), any::<usize>()), 1..5)
    ) {
        let (mut done, mut charged) = (Vec::new(), 0);
        for (acts, most) in lives {
            let (ledger, mut forest) = undo(&mut done, most % 8);
            forest.charged = charged;
            forest.check(&ledger);
            for act in acts {
                forest.act(&ledger, &act);
                forest.check(&ledger);
                done.push(act);
            }
            charged = forest.charged;
        }
    }
}

proptest! {
    // Each case makes a database, and waits for the disk at each act.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn both_ledgers_grow_the_same_trees(acts in acts()) {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = SqliteLedger::open_file(&folder.path().join("registry.db")).unwrap();
        prop_assert_eq!(grow(&sqlite, &acts), grow(&MemoryLedger::new(), &acts));
    }
}

/// Children of one thread are opened, spend and are closed by many at once, over two connections.
#[test]
fn many_at_once_stay_under_the_cap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let ledgers =
        [SqliteLedger::open_file(&path).unwrap(), SqliteLedger::open_file(&path).unwrap()];
    ledgers[0].open(&id(1), at_most(CAP)).unwrap();
    let barrier = Barrier::new(6);
    let spent: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..6u8)
            .map(|worker| {
                let (ledger, barrier) = (&ledgers[usize::from(worker) % 2], &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    (0..4u8).map(|turn| live(ledger, 10 * (worker + 1) + turn)).sum::<u64>()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let all = ledgers[1].open(&id(1), at_most(CAP)).unwrap();
    assert_eq!((all.settled.get(), all.reserved, all.overrun), (spent, Nanos::ZERO, Nanos::ZERO));
    assert!(spent <= CAP && 0 < spent);
}

/// One child that asks for more than a fair part, and spends most of it.
fn live(ledger: &dyn Ledger, child: u8) -> u64 {
    if ledger.open_child(&id(1), &id(child), at_most(300)).is_err() {
        return 0;
    }
    let reservation = ledger.reserve(&id(child), Nanos::new(200)).unwrap();
    ledger.settle(reservation, Nanos::new(90)).unwrap();
    ledger.close_child(&id(child)).unwrap();
    90
}
