//! One suite, run on every ledger.

mod drawing;
mod recalling;
mod trees;

use std::sync::Barrier;
use std::thread;

use proptest::prelude::*;

use super::*;

fn id(number: u8) -> ThreadId {
    ThreadId::new("d", &format!("019a0000-0000-7000-8000-0000000000{number:02x}")).unwrap()
}

fn at_most(nanos: u64) -> SpendLimit {
    SpendLimit::AtMost(Nanos::new(nanos))
}

/// Runs `check` on each ledger, with a name for the message.
#[track_caller]
fn on_each(check: impl Fn(&str, &dyn Ledger)) {
    check("memory", &MemoryLedger::new());
    check("plain", &drawing::Plain::default());
    let folder = tempfile::tempdir().unwrap();
    check("sqlite", &SqliteLedger::open_file(&folder.path().join("registry.db")).unwrap());
}

#[test]
fn a_cap_is_raised_and_never_below_what_is_set_aside() {
    on_each(|name, ledger| {
        let told = |balance: Balance| {
            let Balance { cap, settled, reserved, overrun } = balance;
            (cap, settled.get(), reserved.get(), overrun.get())
        };
        let opened = ledger.set_cap(&id(1), at_most(100)).unwrap();
        assert_eq!(told(opened), (at_most(100), 0, 0, 0), "{name}: it is opened");
        let spent = ledger.reserve(&id(1), Nanos::new(80)).unwrap();
        let held = ledger.reserve(&id(1), Nanos::new(20)).unwrap();
        ledger.settle(spent, Nanos::new(95)).unwrap();
        let before = ledger.open(&id(1), at_most(100)).unwrap();
        assert_eq!(told(before), (at_most(100), 80, 20, 15), "{name}: beyond the cap");
        let refused = ledger.set_cap(&id(1), at_most(19));
        assert!(matches!(refused, Err(LedgerError::CapDiffers { .. })), "{name}: {refused:?}");
        for (cap, settled, overrun) in [(110, 90, 5), (200, 95, 0), (100, 80, 15)] {
            let changed = ledger.set_cap(&id(1), at_most(cap)).unwrap();
            assert_eq!(told(changed), (at_most(cap), settled, 20, overrun), "{name} {cap}");
            assert_eq!(ledger.open(&id(1), at_most(cap)).unwrap(), changed, "{name} {cap}");
        }
        let unlimited = ledger.set_cap(&id(1), SpendLimit::Unlimited).unwrap();
        assert_eq!(told(unlimited), (SpendLimit::Unlimited, 95, 20, 0), "{name}");
        ledger.settle(held, Nanos::ZERO).unwrap();
    });
}

#[test]
fn the_cap_of_a_child_stays() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        ledger.open_child(&id(1), &id(2), at_most(40)).unwrap();
        assert!(ledger.set_cap(&id(2), at_most(40)).is_ok(), "{name}");
        let refused = ledger.set_cap(&id(2), at_most(41));
        assert!(matches!(refused, Err(LedgerError::CapDiffers { .. })), "{name}: {refused:?}");
        assert_eq!(ledger.open(&id(1), at_most(100)).unwrap().reserved, Nanos::new(40), "{name}");
    });
}

#[test]
fn what_is_not_spent_is_free_again() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        let reservation = ledger.reserve(&id(1), Nanos::new(80)).unwrap();
        let balance = ledger.settle(reservation, Nanos::new(30)).unwrap();
        assert_eq!(
            balance,
            Balance {
                cap: at_most(100),
                settled: Nanos::new(30),
                reserved: Nanos::ZERO,
                overrun: Nanos::ZERO
            },
            "{name}"
        );
        assert_eq!(balance.free(), Some(Nanos::new(70)), "{name}");
    });
}

#[test]
fn what_is_reserved_is_not_free() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        let first = ledger.reserve(&id(1), Nanos::new(60)).unwrap();
        let error = ledger.reserve(&id(1), Nanos::new(41)).unwrap_err();
        let message = format!(
            "spend limit of `{}` is used up: 0.000000041 USD needed, 0.00000004 USD free",
            id(1)
        );
        assert_eq!(error.to_string(), message, "{name}");
        let second = ledger.reserve(&id(1), Nanos::new(40)).unwrap();
        assert_eq!(ledger.open(&id(1), at_most(100)).unwrap().reserved, Nanos::new(100), "{name}");
        ledger.settle(first, Nanos::new(60)).unwrap();
        let balance = ledger.settle(second, Nanos::new(40)).unwrap();
        assert_eq!(balance.free(), Some(Nanos::ZERO), "{name}");
        let _none = ledger.reserve(&id(1), Nanos::ZERO).unwrap();
    });
}

#[test]
fn accounts_are_apart() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(10)).unwrap();
        ledger.open(&id(2), at_most(10)).unwrap();
        let _kept = ledger.reserve(&id(1), Nanos::new(10)).unwrap();
        assert_eq!(
            ledger.open(&id(2), at_most(10)).unwrap().free(),
            Some(Nanos::new(10)),
            "{name}"
        );
    });
}

#[test]
fn a_cap_is_fixed() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(10)).unwrap();
        for other in [at_most(11), SpendLimit::Unlimited] {
            let message = format!(
                "account of `{}` has another spend limit; a limit is fixed when the thread begins",
                id(1)
            );
            assert_eq!(ledger.open(&id(1), other).unwrap_err().to_string(), message, "{name}");
        }
    });
}

#[test]
fn without_a_cap_everything_is_counted() {
    on_each(|name, ledger| {
        ledger.open(&id(1), SpendLimit::Unlimited).unwrap();
        let reservation = ledger.reserve(&id(1), Nanos::new(5)).unwrap();
        let balance = ledger.settle(reservation, Nanos::new(7_000_000_000_000)).unwrap();
        assert_eq!(
            (balance.free(), balance.cost()),
            (None, Nanos::new(7_000_000_000_000)),
            "{name}"
        );
    });
}

#[test]
fn a_charge_beyond_the_cap_is_kept_apart_and_closes_the_account() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        let first = ledger.reserve(&id(1), Nanos::new(40)).unwrap();
        let other = ledger.reserve(&id(1), Nanos::new(50)).unwrap();
        let balance = ledger.settle(first, Nanos::new(70)).unwrap();
        let expected = Balance {
            cap: at_most(100),
            settled: Nanos::new(50),
            reserved: Nanos::new(50),
            overrun: Nanos::new(20),
        };
        assert_eq!(balance, expected, "{name}");
        let balance = ledger.settle(other, Nanos::ZERO).unwrap();
        assert_eq!((balance.free(), balance.cost()), (Some(Nanos::ZERO), Nanos::new(70)), "{name}");
        let error = ledger.reserve(&id(1), Nanos::new(1)).unwrap_err();
        assert!(matches!(error, LedgerError::Exhausted { .. }), "{name}: {error}");
    });
}

#[test]
fn unknown_accounts_and_reservations() {
    on_each(|name, ledger| {
        let error = ledger.reserve(&id(1), Nanos::ZERO).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("thread `{}` has no account; open it first", id(1)),
            "{name}"
        );
        ledger.open(&id(1), at_most(10)).unwrap();
        let reservation = ledger.reserve(&id(1), Nanos::new(10)).unwrap();
        let copy =
            Reservation { thread: id(1), number: reservation.number, amount: reservation.amount };
        ledger.settle(reservation, Nanos::new(1)).unwrap();
        let error = ledger.settle(copy, Nanos::new(1)).unwrap_err();
        let message = format!(
            "thread `{}` has no open reservation of this number; settle with the ledger that made it",
            id(1)
        );
        assert_eq!(error.to_string(), message, "{name}");
        assert_eq!(ledger.open(&id(1), at_most(10)).unwrap().settled, Nanos::new(1), "{name}");
    });
}

#[test]
fn amounts_past_nine_billion_dollars_do_not_fit() {
    let message = "amount does not fit the ledger; lower the limits or check the model's prices";
    on_each(|name, ledger| {
        let error = ledger.open(&id(1), at_most(u64::MAX)).unwrap_err();
        assert_eq!(error.to_string(), message, "{name}");
        ledger.open(&id(1), SpendLimit::Unlimited).unwrap();
        let error = ledger.reserve(&id(1), Nanos::new(u64::MAX)).unwrap_err();
        assert_eq!(error.to_string(), message, "{name}");
        let reservation = ledger.reserve(&id(1), Nanos::new(1)).unwrap();
        let error = ledger.settle(reservation, Nanos::new(u64::MAX)).unwrap_err();
        assert_eq!(error.to_string(), message, "{name}");
        assert_eq!(
            ledger.open(&id(1), SpendLimit::Unlimited).unwrap().reserved,
            Nanos::new(1),
            "{name}"
        );
    });
}

#[test]
fn a_program_that_dies_leaves_its_reservation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let ledger = SqliteLedger::open_file(&path).unwrap();
    ledger.open(&id(1), at_most(10)).unwrap();
    let _lost = ledger.reserve(&id(1), Nanos::new(7)).unwrap();
    drop(ledger);
    let ledger = SqliteLedger::open_file(&path).unwrap();
    assert_eq!(ledger.open(&id(1), at_most(10)).unwrap().free(), Some(Nanos::new(3)));
}

#[test]
fn a_database_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    drop(SqliteLedger::open_file(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 5).unwrap();
    let error = SqliteLedger::open_file(&path).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot use the ledger; check the disk and the permissions of `registry.db`"
    );
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "`registry.db` has version 5 and this program reads version 4; use the program that wrote it"
    );
}

/// Two connections to one file, from many threads at once: no more is ever given out than there is.
#[test]
fn nothing_is_given_out_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let ledgers =
        [SqliteLedger::open_file(&path).unwrap(), SqliteLedger::open_file(&path).unwrap()];
    ledgers[0].open(&id(1), at_most(50)).unwrap();
    let barrier = Barrier::new(8);
    let given: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|worker| {
                let (ledger, barrier) = (&ledgers[worker % 2], &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    (0..10).filter(|_| ledger.reserve(&id(1), Nanos::new(3)).is_ok()).count()
                })
            })
            .collect();
        workers.into_iter().map(|worker| u64::try_from(worker.join().unwrap()).unwrap()).sum()
    });
    assert_eq!(given, 16, "16 × 3 fit into 50");
    assert_eq!(ledgers[1].open(&id(1), at_most(50)).unwrap().reserved, Nanos::new(48));
}

/// Programs that start together make the file together.
#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for number in 0..8 {
                let (path, barrier) = (&path, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let ledger = SqliteLedger::open_file(path).unwrap();
                    ledger.open(&id(number), at_most(1)).unwrap();
                });
            }
        });
    }
}

#[derive(Debug, Clone)]
enum Move {
    Reserve { account: u8, amount: u64 },
    Settle { which: usize, actual: u64 },
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let reserve =
        (0..3u8, 0..60u64).prop_map(|(account, amount)| Move::Reserve { account, amount });
    // Some charges are larger than what was set aside.
    let settle =
        (any::<usize>(), 0..90u64).prop_map(|(which, actual)| Move::Settle { which, actual });
    prop::collection::vec(prop_oneof![reserve, settle], 0..60)
}

/// Runs the moves, and gives back what every step saw.
fn play(ledger: &dyn Ledger, moves: &[Move]) -> Vec<String> {
    let caps = [at_most(100), at_most(37), SpendLimit::Unlimited];
    let balance = |account: u8| ledger.open(&id(account), caps[usize::from(account)]).unwrap();
    for account in 0..3 {
        balance(account);
    }
    let mut open = Vec::new();
    let mut charged = [0; 3];
    moves
        .iter()
        .map(|step| {
            let seen = match *step {
                Move::Reserve { account, amount } => {
                    match ledger.reserve(&id(account), Nanos::new(amount)) {
                        Ok(reservation) => {
                            open.push((account, reservation));
                            "reserved".to_owned()
                        }
                        Err(error) => error.to_string(),
                    }
                }
                Move::Settle { .. } if open.is_empty() => "nothing to settle".to_owned(),
                Move::Settle { which, actual } => {
                    let (account, reservation) = open.swap_remove(which % open.len());
                    charged[usize::from(account)] += actual;
                    format!("{:?}", ledger.settle(reservation, Nanos::new(actual)).unwrap())
                }
            };
            for account in 0..3u8 {
                let balance = balance(account);
                if let SpendLimit::AtMost(cap) = balance.cap {
                    assert!(
                        balance.settled.get() + balance.reserved.get() <= cap.get(),
                        "{balance:?}"
                    );
                }
                let reserved: u64 = open
                    .iter()
                    .filter(|(owner, _)| *owner == account)
                    .map(|(_, reservation)| reservation.amount().get())
                    .sum();
                assert_eq!(balance.reserved.get(), reserved);
                assert_eq!(
                    balance.cost().get(),
                    charged[usize::from(account)],
                    "nothing charged is forgotten"
                );
            }
            seen
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn settled_and_reserved_never_pass_the_cap(moves in moves()) {
        play(&MemoryLedger::new(), &moves);
    }
}

proptest! {
    // Each case makes a database, and waits for the disk at each move.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn both_ledgers_say_the_same(moves in moves()) {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = SqliteLedger::open_file(&folder.path().join("registry.db")).unwrap();
        prop_assert_eq!(play(&sqlite, &moves), play(&MemoryLedger::new(), &moves));
    }
}

/// A project can bring a `registry.db` along, and what it defines there must not run inside the ledger.
#[test]
fn a_file_with_more_than_our_tables_is_refused() {
    let refund = "CREATE TRIGGER refund AFTER UPDATE ON account BEGIN \
                  UPDATE account SET settled_nanos = 0, reserved_nanos = 0; END";
    let forgetful = "DROP TABLE reservation; DROP TABLE account; CREATE TABLE account ( \
                     thread TEXT PRIMARY KEY, cap_nanos INTEGER, settled_nanos INTEGER, reserved_nanos INTEGER, \
                     overrun_nanos INTEGER, used INTEGER AS (0 < reserved_nanos) UNIQUE ON CONFLICT IGNORE)";
    for foreign in [refund, forgetful, "CREATE VIEW other AS SELECT 1"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        drop(SqliteLedger::open_file(&path).unwrap());
        drop(SqliteLedger::open_file(&path).unwrap());
        rusqlite::Connection::open(&path).unwrap().execute_batch(foreign).unwrap();
        let error = SqliteLedger::open_file(&path).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error}: {source}").contains("tables or triggers"), "{error}: {source}");
    }
}
