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

use super::{Ownership, Store, StoreError};
use crate::budget::Reservation;
use crate::{Nanos, SpendLimit, ThreadId};

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

const CHECKS: [(&str, Check); 10] = [
    ("a thread without a transcript has none", no_journal),
    ("what was appended is read back", appends),
    ("threads have transcripts of their own", apart),
    ("a transcript is cut where it is said", cuts),
    ("an owned thread is not given out", holds),
    ("a released thread is given out again", releases),
    ("an ownership that was given back changes nothing", refuses_released),
    ("what was reserved and not settled is found", finds_unsettled),
    ("what is drawn is settled and the rest stays set aside", draws),
    ("what is drawn beyond what is set aside counts too", overdraws),
];

fn no_journal(store: &dyn Store) -> Result<(), String> {
    same(&store.journal(&name(1)).map_err(text)?, &Vec::new())
}

fn appends(store: &dyn Store) -> Result<(), String> {
    let owned = acquire(store, 1)?;
    store.append(&owned, b"one\n").map_err(text)?;
    store.append(&owned, b"two\nthree\n").map_err(text)?;
    store.sync(&owned).map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\ntwo\nthree\n".to_vec())
}

fn apart(store: &dyn Store) -> Result<(), String> {
    let (first, second) = (acquire(store, 1)?, acquire(store, 2)?);
    store.append(&first, b"one\n").map_err(text)?;
    store.append(&second, b"two\n").map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\n".to_vec())?;
    same(&store.journal(&name(2)).map_err(text)?, &b"two\n".to_vec())
}

fn cuts(store: &dyn Store) -> Result<(), String> {
    let owned = acquire(store, 1)?;
    store.append(&owned, b"one\ntw").map_err(text)?;
    store.cut(&owned, 4).map_err(text)?;
    store.append(&owned, b"two\n").map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\ntwo\n".to_vec())
}

fn holds(store: &dyn Store) -> Result<(), String> {
    let owned = acquire(store, 1)?;
    match store.acquire(&name(1), &name(1)) {
        Err(StoreError::Held { thread, .. }) => same(&thread, &name(1))?,
        other => return Err(format!("{other:?}")),
    }
    store.check(&owned).map_err(text)
}

fn releases(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1)?;
    store.append(&first, b"one\n").map_err(text)?;
    store.release(&first);
    let second = acquire(store, 1)?;
    store.append(&second, b"two\n").map_err(text)?;
    // Of one that was given back nothing is left to give back.
    store.release(&first);
    store.append(&second, b"three\n").map_err(text)?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\ntwo\nthree\n".to_vec())
}

fn refuses_released(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1)?;
    store.append(&first, b"one\n").map_err(text)?;
    store.release(&first);
    not_owned(store.append(&first, b"no\n"))?;
    let _second = acquire(store, 1)?;
    not_owned(store.append(&first, b"no\n"))?;
    not_owned(store.cut(&first, 0))?;
    not_owned(store.sync(&first))?;
    not_owned(store.check(&first))?;
    same(&store.journal(&name(1)).map_err(text)?, &b"one\n".to_vec())
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
        .map(|_| {
            let store = Arc::clone(store);
            thread::spawn(move || {
                let owned = store.acquire(&name(1), &name(1)).ok()?;
                store.append(&owned, b"mine\n").ok()
            })
        })
        .collect();
    let got = wanting.into_iter().filter_map(|thread| thread.join().ok().flatten()).count();
    let journal = store.journal(&name(1)).unwrap_or_default();
    assert!(got == 1 && journal == b"mine\n", "one of many gets a thread: {got} got it");
}

/// The two threads of these checks are one tree.
fn acquire(store: &dyn Store, number: u8) -> Result<Ownership, String> {
    let thread = name(number);
    if store.ledger().open(&thread, SpendLimit::AtMost(Nanos::new(100))).is_err() {
        return Err("its account cannot be opened".to_owned());
    }
    store.acquire(&thread, &name(1)).map_err(text)
}

fn name(number: u8) -> ThreadId {
    let uuid = format!("019a0000-0000-7000-8000-0000000000{number:02x}");
    ThreadId::new("conformance/check", &uuid).expect("because it is one")
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?} is not {expected:?}")) }
}

fn not_owned<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Result<(), String> {
    match result {
        Err(StoreError::NotOwned { .. }) => Ok(()),
        other => Err(format!("an ownership that was given back got {other:?}")),
    }
}

fn text(error: impl std::error::Error) -> String {
    error.to_string()
}
