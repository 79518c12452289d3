//! What a ledger is told that did not see a thread's requests.

use super::*;

const fn spending(answered: u64, unanswered: u64) -> Spending {
    Spending { answered: Nanos::new(answered), unanswered: Nanos::new(unanswered) }
}

type Row = (&'static str, &'static [u64], Spending, (u64, u64));

/// What the ledger knows, what the transcript says, and what is settled and beyond the cap of 100 then.
const ROWS: [Row; 8] = [
    ("nothing was spent", &[], spending(0, 0), (0, 0)),
    ("another ledger", &[], spending(40, 0), (40, 0)),
    ("another ledger, and a request without an answer", &[], spending(40, 30), (70, 0)),
    ("another ledger, and no answer at all", &[], spending(0, 30), (30, 0)),
    ("beyond the cap", &[], spending(90, 30), (100, 20)),
    ("the ledger that it ran with", &[10, 30], spending(40, 0), (40, 0)),
    ("one that failed for nothing", &[40, 0], spending(40, 30), (40, 0)),
    ("an older copy", &[10], spending(40, 30), (70, 0)),
];

#[test]
fn what_a_transcript_says_was_spent_is_settled_once() {
    for (row, known, told, (settled, overrun)) in ROWS {
        on_each(|name, ledger| {
            ledger.open(&id(1), at_most(100)).unwrap();
            for cost in known {
                let reservation = ledger.reserve(&id(1), Nanos::new(*cost)).unwrap();
                ledger.settle(reservation, Nanos::new(*cost)).unwrap();
            }
            for _ in 0..2 {
                let balance = ledger.recall(&id(1), told).unwrap();
                let found = (balance.settled.get(), balance.overrun.get());
                assert_eq!(found, (settled, overrun), "{name}: {row}");
                assert_eq!(ledger.open(&id(1), at_most(100)).unwrap(), balance, "{name}: {row}");
            }
        });
    }
}

/// What is settled for a child is not the thread's own, and hides nothing that is.
#[test]
fn children_are_counted_beside() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        for _ in 0..2 {
            ledger.recall_child(&id(1), &id(2), at_most(60), Nanos::new(50)).unwrap();
            let balance = ledger.recall(&id(1), spending(20, 0)).unwrap();
            assert_eq!((balance.settled.get(), balance.reserved.get()), (70, 0), "{name}");
        }
        assert_eq!(ledger.open(&id(2), at_most(60)).unwrap().settled.get(), 50, "{name}");
        assert_eq!(ledger.close_child(&id(2)).unwrap().settled.get(), 50, "{name}");
        let error = ledger.reserve(&id(2), Nanos::ZERO).unwrap_err();
        assert!(error.to_string().contains("is used up"), "{name}: {error}");
        let unknown = ledger.recall_child(&id(8), &id(9), at_most(1), Nanos::ZERO).unwrap_err();
        assert!(unknown.to_string().contains("has no account"), "{name}: {unknown}");
        let unknown = ledger.recall(&id(8), spending(1, 0)).unwrap_err();
        assert!(unknown.to_string().contains("has no account"), "{name}: {unknown}");
    });
}

/// An older copy of the ledger knows a child that had not ended then: what it had settled and set aside, its child likewise,
/// what it came to by its records, and what is settled for it then.
#[test]
fn a_child_that_ended_since_is_settled_as_it_ended() {
    let rows = [
        ("it spent more", (10, 20), None, 50, 50),
        ("it spent nothing of what was set aside", (10, 20), None, 10, 10),
        ("it never spent anything", (0, 30), None, 0, 0),
        ("the copy knows more", (40, 0), None, 30, 40),
        ("it had a child", (10, 5), Some((5, 10)), 45, 45),
        ("it passed its cap", (10, 5), None, 80, 80),
    ];
    for (row, (settled, reserved), below, cost, expected) in rows {
        on_each(|name, ledger| {
            ledger.open(&id(1), at_most(100)).unwrap();
            ledger.open_child(&id(1), &id(2), at_most(60)).unwrap();
            let spend = |number, (settled, reserved): (u64, u64)| {
                let thread = &id(number);
                let spent = ledger.reserve(thread, Nanos::new(settled)).unwrap();
                ledger.settle(spent, Nanos::new(settled)).unwrap();
                drop(ledger.reserve(thread, Nanos::new(reserved)).unwrap());
            };
            spend(2, (settled, reserved));
            if let Some(below) = below {
                ledger.open_child(&id(2), &id(3), at_most(30)).unwrap();
                spend(3, below);
            }
            for _ in 0..2 {
                ledger.recall_child(&id(1), &id(2), at_most(60), Nanos::new(cost)).unwrap();
                let parent = ledger.open(&id(1), at_most(100)).unwrap();
                let found = (parent.cost().get(), parent.reserved.get());
                assert_eq!(found, (expected, 0), "{name}: {row}");
                assert_eq!(
                    ledger.close_child(&id(2)).unwrap().cost().get(),
                    expected,
                    "{name}: {row}"
                );
                assert!(ledger.unsettled(&id(2)).unwrap().is_empty(), "{name}: {row}");
            }
            let error = ledger.reserve(&id(2), Nanos::ZERO).unwrap_err();
            assert!(error.to_string().contains("is used up"), "{name}: {row}: {error}");
            // Its own requests are known with it.
            let known = ledger.recall(&id(2), spending(200, 0)).unwrap();
            assert_eq!(known.cost().get(), expected, "{name}: {row}");
        });
    }
}

/// One that another thread started is not settled for this one.
#[test]
fn a_child_of_somebody_else_is_left_alone() {
    on_each(|name, ledger| {
        for parent in [1, 5] {
            ledger.open(&id(parent), at_most(100)).unwrap();
        }
        ledger.open_child(&id(5), &id(2), at_most(60)).unwrap();
        ledger.recall_child(&id(1), &id(2), at_most(60), Nanos::new(50)).unwrap();
        let stands = |thread| {
            let balance = ledger.open(&id(thread), at_most(100)).unwrap();
            (balance.cost().get(), balance.reserved.get())
        };
        assert_eq!((stands(1), stands(5)), ((0, 0), (0, 60)), "{name}");
    });
}

proptest! {
    // Each case has a database of its own.
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// However much a ledger is told that it did not see, in whatever order: no account passes its cap, nothing is forgotten,
    /// and both ledgers say the same.
    #[test]
    fn no_account_passes_its_cap(
        cap in 0..200u64,
        children in prop::collection::vec((0..100u64, 0..150u64), 0..4),
        open in 0..100u64,
        (answered, unanswered) in (0..150u64, 0..150u64),
        is_child_first: bool,
    ) {
        let told = spending(answered, unanswered);
        let balances = std::cell::RefCell::new(Vec::new());
        on_each(|_, ledger| {
            ledger.open(&id(1), at_most(cap)).unwrap();
            let live = || ledger.open_child(&id(1), &id(90), at_most(open)).is_ok();
            let early = is_child_first && live();
            ledger.recall(&id(1), told).unwrap();
            for (number, (cap, cost)) in (2..).zip(&children) {
                ledger.recall_child(&id(1), &id(number), at_most(*cap), Nanos::new(*cost)).unwrap();
            }
            let late = !is_child_first && live();
            let balance = ledger.recall(&id(1), told).unwrap();
            let below: u64 = children.iter().map(|(_, cost)| cost).sum();
            assert_eq!(balance.cost().get(), answered + unanswered + below);
            assert!(balance.settled.get() + balance.reserved.get() <= cap, "{balance:?}");
            assert_eq!(balance.reserved.get(), if early || late { open } else { 0 });
            balances.borrow_mut().push(balance);
        });
        let balances = balances.into_inner();
        prop_assert_eq!(balances[0], balances[1]);
    }
}
