use std::fs;
use std::thread;

use super::*;

mod conforming;
mod killed;
mod linked;

fn name() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn claim(now: i64) -> Claim {
    Claim::new("process 1", Moment::from_unix_millis(now), Moment::from_unix_millis(now + 1_000))
}

/// Programs take one thread from each other while it is written. Each reads the journal when it has the thread, and nobody
/// else has written anything there before it is taken from it.
#[test]
fn nothing_is_written_beside_a_program_that_took_over() {
    const PROGRAMS: i64 = 4;
    const ROUNDS: i64 = 50;
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join(name().as_str())).unwrap();
    let worker = |number: i64| {
        let store = LocalStore::open(place.path()).unwrap();
        let mut refused = 0;
        for round in 0..ROUNDS {
            // Later than every lease before it lasts, as far as one program can know.
            let now = 10_000 * (round * PROGRAMS + number);
            let Ok(lease) = store.acquire(&name(), &claim(now)) else { continue };
            let mut expected = store.journal(&name()).unwrap();
            for _ in 0..3 {
                let line = format!("{} {number}\n", lease.epoch());
                match store.append(&lease, line.as_bytes()) {
                    Ok(()) => expected.extend_from_slice(line.as_bytes()),
                    Err(StoreError::Stale { .. }) => refused += 1,
                    Err(error) => panic!("{error:?}"),
                }
                let found = store.journal(&name()).unwrap();
                assert!(found.starts_with(&expected), "{number} {round}");
            }
        }
        refused
    };
    let refused: i64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..PROGRAMS).map(|it| scope.spawn(move || worker(it))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let journal = fs::read_to_string(place.path().join(name().as_str()).join("transcript.jsonl"));
    let journal = journal.unwrap();
    let epochs: Vec<u64> =
        journal.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(epochs.is_sorted(), "{journal}");
    assert!(PROGRAMS < refused + i64::try_from(epochs.len()).unwrap());
}

/// Two stores over one folder, where the thread has its own, are two programs.
fn two_programs() -> (tempfile::TempDir, LocalStore, LocalStore) {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join(name().as_str())).unwrap();
    let (first, second) =
        (LocalStore::open(place.path()).unwrap(), LocalStore::open(place.path()).unwrap());
    (place, first, second)
}

#[test]
fn the_lease_of_a_program_that_died_is_free_at_once() {
    let (_place, first, second) = two_programs();
    let lease = first.acquire(&name(), &claim(0)).unwrap();
    first.append(&lease, b"one\n").unwrap();
    assert!(matches!(second.acquire(&name(), &claim(1)), Err(StoreError::Held { .. })));
    drop(first);
    if cfg!(unix) {
        assert_eq!(second.acquire(&name(), &claim(1)).unwrap().epoch(), 2);
    }
}

#[test]
fn the_error_says_who_holds_it() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let _lease = store.acquire(&name(), &claim(0)).unwrap();
    let error = store.acquire(&name(), &claim(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "thread `{}` is driven by process 1; wait for its end, or stop that program",
            name()
        )
    );
}

/// Whoever removed the file keeps nobody from taking a thread, so that what is written counts no more.
#[cfg(unix)]
#[test]
fn a_program_that_cannot_be_told_writes_nothing_more() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join(name().as_str())).unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let lease = store.acquire(&name(), &claim(0)).unwrap();
    store.append(&lease, b"one\n").unwrap();
    fs::remove_file(place.path().join(format!("owner-{}-0.taken", std::process::id()))).unwrap();
    assert!(matches!(store.append(&lease, b"two\n"), Err(StoreError::Stale { .. })));
    assert_eq!(store.journal(&name()).unwrap(), b"one\n");
}

/// Whoever removed the file that shows that a program lives does not let it write beside the one that takes its thread.
#[cfg(unix)]
#[test]
fn a_program_that_seems_to_have_died_writes_nothing_more_either() {
    let (place, first, second) = two_programs();
    let lease = first.acquire(&name(), &claim(0)).unwrap();
    first.append(&lease, b"one\n").unwrap();
    fs::remove_file(place.path().join(format!("owner-{}-0", std::process::id()))).unwrap();
    let taken = second.acquire(&name(), &claim(1)).unwrap();
    second.append(&taken, b"two\n").unwrap();
    assert!(matches!(first.append(&lease, b"three\n"), Err(StoreError::Stale { .. })));
    assert_eq!(second.journal(&name()).unwrap(), b"one\ntwo\n");
}

/// A thread that was stopped before anything was recorded can be read, gone on with and ended.
#[test]
fn a_journal_without_lines_is_an_empty_file() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join(name().as_str());
    fs::create_dir_all(&folder).unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let lease = store.acquire(&name(), &claim(0)).unwrap();
    store.append(&lease, b"").unwrap();
    assert_eq!(fs::read(folder.join("transcript.jsonl")).unwrap(), b"");
}
