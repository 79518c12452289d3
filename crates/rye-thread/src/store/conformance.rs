//! Conformance checks for implementations of [`Store`].
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
use crate::ThreadId;

/// Runs all checks. `open` returns an empty store each time.
///
/// # Panics
///
/// At the first check that fails, with its name.
pub fn check(open: &dyn Fn() -> Arc<dyn Store>) {
    for (name, check) in CHECKS {
        let store = open();
        let found = check(&*store);
        assert!(found.is_ok(), "{name}: {}", found.err().unwrap_or_default());
    }
    one_of_many_gets_it(&open());
}

type Check = fn(&dyn Store) -> Result<(), String>;

const CHECKS: [(&str, Check); 8] = [
    ("a thread without a transcript has none", no_journal),
    ("what was appended is read back", appends),
    ("threads have transcripts of their own", apart),
    ("a transcript is cut where it is said", cuts),
    ("an owned thread is not given out", holds),
    ("a released thread is given out again", releases),
    ("an ownership that was given back changes nothing", refuses_released),
    ("a tree has one account, which its owner alone has", one_account),
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
    let first = acquire(store, 1)?;
    let second = acquire(store, 2)?;
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
    // A second release does nothing.
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

fn one_account(store: &dyn Store) -> Result<(), String> {
    let first = acquire(store, 1)?;
    let second = acquire(store, 2)?;
    let (of_first, of_second) =
        (store.account(&first).map_err(text)?, store.account(&second).map_err(text)?);
    same(&Arc::ptr_eq(&of_first, &of_second), &true)?;
    store.release(&second);
    not_owned(store.account(&second))
}

/// Many threads acquire one thread at once and append to it. Exactly one succeeds.
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

/// Acquires one of the two threads of these checks, which form one tree.
fn acquire(store: &dyn Store, number: u8) -> Result<Ownership, String> {
    let thread = name(number);
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
