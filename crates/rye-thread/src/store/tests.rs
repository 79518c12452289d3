use std::fs;
use std::sync::Arc;

use super::conformance;
use super::*;

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn claim(now: i64) -> Claim {
    Claim::new("process 1", Moment::from_unix_millis(now), Moment::from_unix_millis(now + 1_000))
}

#[test]
fn the_store_in_memory_conforms() {
    conformance::check(&|| Arc::new(MemoryStore::new()));
}

/// Threads of a local store have a folder before they have a journal.
#[test]
fn the_local_store_conforms() {
    let place = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    conformance::check(&|| {
        number.set(number.get() + 1);
        let threads = place.path().join(number.get().to_string());
        for uuid in ["01", "02"] {
            let name = format!("check-019a0000-0000-7000-8000-0000000000{uuid}");
            fs::create_dir_all(threads.join(name)).unwrap();
        }
        Arc::new(LocalStore::open(&threads).unwrap())
    });
}

/// Two stores over one folder are two programs.
#[test]
fn the_lease_of_a_program_that_died_is_free_at_once() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join(thread().as_str())).unwrap();
    let (first, second) =
        (LocalStore::open(place.path()).unwrap(), LocalStore::open(place.path()).unwrap());
    let lease = first.acquire(&thread(), &claim(0)).unwrap();
    first.append(&lease, b"one\n").unwrap();
    assert!(matches!(second.acquire(&thread(), &claim(1)), Err(StoreError::Held { .. })));
    drop(first);
    if cfg!(unix) {
        assert_eq!(second.acquire(&thread(), &claim(1)).unwrap().epoch(), 2);
    }
}

#[test]
fn the_error_says_who_holds_it() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let _lease = store.acquire(&thread(), &claim(0)).unwrap();
    let error = store.acquire(&thread(), &claim(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "thread `{}` is driven by process 1; wait for its end, or stop that program",
            thread()
        )
    );
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let folder = place.path().join(thread().as_str());
    fs::create_dir(&folder).unwrap();
    let outside = place.path().join("outside");
    std::os::unix::fs::symlink(&outside, folder.join("transcript.jsonl")).unwrap();
    let lease = store.acquire(&thread(), &claim(0)).unwrap();
    assert!(matches!(store.append(&lease, b"x\n"), Err(StoreError::Linked { .. })));
    assert!(matches!(store.journal(&thread()), Err(StoreError::Linked { .. })));
    assert!(!outside.exists());
}
