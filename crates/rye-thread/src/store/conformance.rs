//! What every store holds, as checks that a new one is put through.
//!
//! ```ignore
//! #[test]
//! fn my_store_conforms() {
//!     rye_thread::store::conformance::check(&|| Arc::new(MyStore::new()));
//! }
//! ```

use std::sync::Arc;
use std::thread;

use super::{Claim, Lease, Store, StoreError};
use crate::budget::Reservation;
use crate::{Moment, Nanos, SpendLimit, ThreadId};

/// Puts stores through all checks; `open` gives an empty one each time.
///
/// # Panics
///
/// At the first promise that a store breaks, with its name.
pub fn check(open: &dyn Fn() -> Arc<dyn Store>) {
    for (name, check) in CHECKS {
        let store = open();
        let found = check(&*store);
        assert!(found.is_ok(), "{name}: {}", found.err().unwrap_or_default());
    }
    one_of_many_gets_it(&open());
}

type Check = fn(&dyn Store) -> Result<(), String>;

const CHECKS: [(&str, Check); 13] = [
    ("a thread without a journal has none", no_journal),
    ("what was appended is read back", appends),
    ("threads have journals of their own", apart),
    ("a journal is cut where it is said", cuts),
    ("a held thread is not given out", holds),
    ("a released thread is given out with a higher epoch", releases),
    ("a lapsed lease is superseded", supersedes),
    ("a stale lease changes nothing", refuses_stale),
    ("a stale lease does nothing beside the journal", refuses_beside),
    ("a stale release frees nobody", stale_release),
    ("what was reserved and not settled is found", finds_unsettled),
    ("what is drawn is settled and the rest stays set aside", draws),
    ("what is drawn beyond what is set aside counts too", overdraws),
];

fn no_journal(store: &dyn Store) -> Result<(), String> {
    same(&store.journal(&name(1)).map_err(text)?, &Vec::new())
}

fn appends(store: &dyn Store) -> Result<(), String> {
    let lease = acquire(store, 1, "a", 0)?;
    store.append(&lease, b"one\n").map_err(text)?;
    store.append(&lease, b"two\nthree\n").map_err(text)?;
    store.sync(&lease).map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\ntwo\nthree\n".to_vec())
}

fn apart(store: &dyn Store) -> Result<(), String> {
    let (first, second) = (acquire(store, 1, "a", 0)?, acquire(store, 2, "a", 0)?);
    store.append(&first, b"one\n").map_err(text)?;
    store.append(&second, b"two\n").map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\n".to_vec())?;
    same(&store.journal(&name(2)).map_err(text)?, &b"two\n".to_vec())
}

fn cuts(store: &dyn Store) -> Result<(), String> {
    let lease = acquire(store, 1, "a", 0)?;
    store.append(&lease, b"one\ntw").map_err(text)?;
    store.cut(&lease, 4).map_err(text)?;
    store.append(&lease, b"two\n").map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\ntwo\n".to_vec())
}

fn holds(store: &dyn Store) -> Result<(), String> {
    let _held = acquire(store, 1, "a", 0)?;
    match store.acquire(&name(1), &claim("b", HELD - 1)) {
        Err(StoreError::Held { thread, owner, until }) => {
            same(&(thread, owner, until), &(name(1), "a".to_owned(), at(HELD)))
        }
        other => Err(format!("{other:?}")),
    }
}

fn releases(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1, "a", 0)?;
    same(&first.epoch(), &1)?;
    store.append(&first, b"one\n").map_err(text)?;
    store.release(&first).map_err(text)?;
    let second = acquire(store, 1, "a", 0)?;
    same(&second.epoch(), &2)?;
    store.append(&second, b"two\n").map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\ntwo\n".to_vec())
}

fn supersedes(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1, "a", 0)?;
    let second = acquire(store, 1, "b", HELD)?;
    same(&(first.epoch() < second.epoch()), &true)?;
    store.append(&second, b"two\n").map_err(text)
}

fn refuses_stale(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1, "a", 0)?;
    store.append(&first, b"one\n").map_err(text)?;
    let second = acquire(store, 1, "b", HELD)?;
    stale(store.append(&first, b"no\n"))?;
    stale(store.cut(&first, 0))?;
    stale(store.sync(&first))?;
    store.release(&second).map_err(text)?;
    stale(store.append(&second, b"no\n"))?;
    stale(store.append(&first, b"no\n"))?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\n".to_vec())
}

fn refuses_beside(store: &dyn Store) -> Result<(), String> {
    let mut done = 0;
    let first = acquire(store, 1, "a", 0)?;
    store.holding(&first, &mut || done += 1).map_err(text)?;
    let second = acquire(store, 1, "b", HELD)?;
    stale(store.holding(&first, &mut || done += 10))?;
    store.holding(&second, &mut || done += 1).map_err(text)?;
    store.release(&second).map_err(text)?;
    stale(store.holding(&second, &mut || done += 10))?;
    same(&done, &2)
}

fn stale_release(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1, "a", 0)?;
    let second = acquire(store, 1, "b", HELD)?;
    store.release(&first).map_err(text)?;
    store.append(&second, b"two\n").map_err(text)?;
    match store.acquire(&name(1), &claim("c", HELD + 1)) {
        Err(StoreError::Held { .. }) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

fn finds_unsettled(store: &dyn Store) -> Result<(), String> {
    let cap = SpendLimit::AtMost(Nanos::new(100));
    for number in [1, 2] {
        store.ledger().open(&name(number), cap).map_err(text)?;
    }
    let settled = store.ledger().reserve(&name(1), Nanos::new(10)).map_err(text)?;
    let left = store.ledger().reserve(&name(1), Nanos::new(20)).map_err(text)?;
    let _other = store.ledger().reserve(&name(2), Nanos::new(30)).map_err(text)?;
    store.ledger().settle(settled, Nanos::new(10)).map_err(text)?;
    let mut found = store.ledger().unsettled(&name(1)).map_err(text)?;
    same(&found, &vec![left])?;
    let balance = store.ledger().settle(found.remove(0), Nanos::new(5)).map_err(text)?;
    same(&(balance.settled, balance.reserved), &(Nanos::new(15), Nanos::ZERO))?;
    same(&store.ledger().unsettled(&name(1)).map_err(text)?, &Vec::new())
}

fn draws(store: &dyn Store) -> Result<(), String> {
    let cap = SpendLimit::AtMost(Nanos::new(100));
    store.ledger().open(&name(1), cap).map_err(text)?;
    let purse = store.ledger().reserve(&name(1), Nanos::new(80)).map_err(text)?;
    let purse = drawn(store, purse, 30)?;
    same(&purse.amount(), &Nanos::new(50))?;
    let balance = store.ledger().open(&name(1), cap).map_err(text)?;
    same(&(balance.settled, balance.reserved), &(Nanos::new(30), Nanos::new(50)))?;
    let purse = drawn(store, purse, 50)?;
    same(&store.ledger().unsettled(&name(1)).map_err(text)?.len(), &1)?;
    let balance = store.ledger().settle(purse, Nanos::ZERO).map_err(text)?;
    same(&(balance.settled, balance.reserved), &(Nanos::new(80), Nanos::ZERO))?;
    same(&store.ledger().unsettled(&name(1)).map_err(text)?, &Vec::new())
}

fn overdraws(store: &dyn Store) -> Result<(), String> {
    let cap = SpendLimit::AtMost(Nanos::new(100));
    store.ledger().open(&name(1), cap).map_err(text)?;
    let purse = store.ledger().reserve(&name(1), Nanos::new(80)).map_err(text)?;
    let left = store.ledger().draw(purse, Nanos::new(130)).map_err(text)?;
    same(&left.map_or(Nanos::ZERO, |left| left.amount()), &Nanos::ZERO)?;
    let balance = store.ledger().open(&name(1), cap).map_err(text)?;
    same(&(balance.cost(), balance.reserved), &(Nanos::new(130), Nanos::ZERO))?;
    same(&balance.free(), &Some(Nanos::ZERO))
}

fn drawn(store: &dyn Store, purse: Reservation, actual: u64) -> Result<Reservation, String> {
    let left = store.ledger().draw(purse, Nanos::new(actual)).map_err(text)?;
    left.ok_or_else(|| "nothing stays set aside".to_owned())
}

/// Many want one thread at once, and append when they get it: exactly one does.
fn one_of_many_gets_it(store: &Arc<dyn Store>) {
    const MANY: usize = 16;
    let wanting: Vec<_> = (0..MANY)
        .map(|number| {
            let store = Arc::clone(store);
            thread::spawn(move || {
                let lease = store.acquire(&name(1), &claim(&number.to_string(), 0)).ok()?;
                store.append(&lease, b"mine\n").ok()
            })
        })
        .collect();
    let got = wanting.into_iter().filter_map(|thread| thread.join().ok().flatten()).count();
    let journal = store.journal(&name(1)).unwrap_or_default();
    assert!(got == 1 && journal == b"mine\n", "one of many gets a thread: {got} got it");
}

/// How many seconds a lease of these checks lasts.
const HELD: i64 = 60;

fn acquire(store: &dyn Store, number: u8, owner: &str, now: i64) -> Result<Lease, String> {
    let thread = name(number);
    if store.ledger().open(&thread, SpendLimit::AtMost(Nanos::new(100))).is_err() {
        return Err("its account cannot be opened".to_owned());
    }
    store.acquire(&thread, &claim(owner, now)).map_err(text)
}

fn claim(owner: &str, now: i64) -> Claim {
    Claim::new(owner, at(now), at(now + HELD))
}

fn at(seconds: i64) -> Moment {
    Moment::from_unix_millis(1_000 * seconds)
}

fn name(number: u8) -> ThreadId {
    let uuid = format!("019a0000-0000-7000-8000-0000000000{number:02x}");
    ThreadId::new("conformance/check", &uuid).expect("because it is one")
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?} is not {expected:?}")) }
}

fn stale<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Result<(), String> {
    match result {
        Err(StoreError::Stale { .. }) => Ok(()),
        other => Err(format!("a stale lease got {other:?}")),
    }
}

fn text(error: impl std::error::Error) -> String {
    error.to_string()
}
