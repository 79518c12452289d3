use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::conformance;
use super::*;

fn name() -> ThreadId {
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
fn folders(place: &tempfile::TempDir) -> impl Fn() -> std::path::PathBuf {
    let number = std::cell::Cell::new(0);
    move || {
        number.set(number.get() + 1);
        let threads = place.path().join(number.get().to_string());
        for uuid in ["01", "02"] {
            let name = format!("check-019a0000-0000-7000-8000-0000000000{uuid}");
            fs::create_dir_all(threads.join(name)).unwrap();
        }
        threads
    }
}

#[test]
fn the_local_store_conforms() {
    let place = tempfile::tempdir().unwrap();
    let next = folders(&place);
    conformance::check(&|| Arc::new(LocalStore::open(&next()).unwrap()));
}

/// What one program takes over, another one had, which lives on.
#[test]
fn two_local_stores_over_one_folder_conform() {
    let place = tempfile::tempdir().unwrap();
    let next = folders(&place);
    conformance::check(&|| {
        let threads = next();
        let open = || LocalStore::open(&threads).unwrap();
        Arc::new(Programs {
            stores: [open(), open()],
            leases: Mutex::default(),
            paid: AtomicUsize::new(0),
        })
    });
}

/// Two programs, of which each lease is given to the one that did not have the lease before it.
struct Programs {
    stores: [LocalStore; 2],
    /// All leases, with the program that holds them.
    leases: Mutex<Vec<(Lease, usize)>>,
    /// How often either asked about the money, which they do in turn.
    paid: AtomicUsize,
}

impl Programs {
    fn of(&self, lease: &Lease) -> &LocalStore {
        let leases = self.leases.lock().unwrap();
        let found = leases.iter().find(|(it, _)| it == lease).unwrap();
        &self.stores[found.1]
    }
}

impl Store for Programs {
    fn ledger(&self) -> &dyn Ledger {
        self.stores[self.paid.fetch_add(1, Ordering::Relaxed) % 2].ledger()
    }
    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError> {
        let last = self.leases.lock().unwrap().last().map_or(1, |(_, number)| *number);
        let lease = self.stores[1 - last].acquire(thread, claim)?;
        self.leases.lock().unwrap().push((lease.clone(), 1 - last));
        Ok(lease)
    }
    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.of(lease).release(lease)
    }
    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError> {
        self.of(lease).append(lease, lines)
    }
    fn sync(&self, lease: &Lease) -> Result<(), StoreError> {
        self.of(lease).sync(lease)
    }
    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError> {
        self.of(lease).cut(lease, length)
    }
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.stores[0].journal(thread)
    }
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

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let folder = place.path().join(name().as_str());
    fs::create_dir(&folder).unwrap();
    let outside = place.path().join("outside");
    std::os::unix::fs::symlink(&outside, folder.join("transcript.jsonl")).unwrap();
    let lease = store.acquire(&name(), &claim(0)).unwrap();
    assert!(matches!(store.append(&lease, b"x\n"), Err(StoreError::Linked { .. })));
    assert!(matches!(store.journal(&name()), Err(StoreError::Linked { .. })));
    assert!(!outside.exists());
}

/// The file in which leases are taken away is made anew, whatever a project brought along under its name.
#[cfg(unix)]
#[test]
fn no_link_leads_to_what_is_written_when_a_thread_is_taken() {
    let place = tempfile::tempdir().unwrap();
    let outside = place.path().join("outside");
    fs::write(&outside, "kept").unwrap();
    let path = place.path().join(format!("owner-{}-0.taken", std::process::id()));
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let (first, second) =
        (LocalStore::open(place.path()).unwrap(), LocalStore::open(place.path()).unwrap());
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    let _held = first.acquire(&name(), &claim(0)).unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let taken = second.acquire(&name(), &claim(5_000));
    assert!(matches!(taken, Err(StoreError::File { .. })), "{taken:?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
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

/// The folder as a program that is killed now leaves it, which had the thread.
#[cfg(unix)]
fn killed(place: &tempfile::TempDir) -> std::path::PathBuf {
    let (alive, left) = (place.path().join("alive"), place.path().join("left"));
    fs::create_dir_all(alive.join(name().as_str())).unwrap();
    fs::create_dir_all(left.join(name().as_str())).unwrap();
    let store = LocalStore::open(&alive).unwrap();
    let lease = store.acquire(&name(), &claim(0)).unwrap();
    store.append(&lease, b"one\n").unwrap();
    let files = fs::read_dir(&alive).unwrap().map(Result::unwrap);
    for file in files.filter(|file| file.file_type().unwrap().is_file()) {
        fs::copy(file.path(), left.join(file.file_name())).unwrap();
    }
    left
}

/// In containers most programs have the same number.
#[cfg(unix)]
#[test]
fn a_program_with_the_number_of_a_killed_one_goes_on_at_once() {
    let place = tempfile::tempdir().unwrap();
    let left = killed(&place);
    let store = LocalStore::open(&left).unwrap();
    assert_eq!(store.driver(&name(), claim(1).now).unwrap(), None);
    let lease = store.acquire(&name(), &claim(1)).unwrap();
    assert_eq!(lease.epoch(), 2);
    store.append(&lease, b"two\n").unwrap();
    assert_eq!(store.driver(&name(), claim(2).now).unwrap(), Some("process 1".to_owned()));
}

/// Nobody else takes it for the one that was killed, either.
#[cfg(unix)]
#[test]
fn a_program_with_the_number_of_a_killed_one_does_not_stand_for_it() {
    let place = tempfile::tempdir().unwrap();
    let left = killed(&place);
    let namesake = LocalStore::open(&left).unwrap();
    let other = LocalStore::open(&left).unwrap();
    assert_eq!(other.driver(&name(), claim(1).now).unwrap(), None);
    let lease = other.acquire(&name(), &claim(1)).unwrap();
    other.append(&lease, b"two\n").unwrap();
    assert!(matches!(namesake.acquire(&name(), &claim(2)), Err(StoreError::Held { .. })));
}

/// Makes the program that was killed one with the number 1.
#[cfg(unix)]
fn renumber(left: &std::path::Path) {
    let own = format!("owner-{}-", std::process::id());
    fs::rename(left.join(format!("{own}0")), left.join("owner-1-0")).unwrap();
    fs::remove_file(left.join(format!("{own}0.taken"))).unwrap();
    let database = rusqlite::Connection::open(left.join("registry.db")).unwrap();
    let rename = "UPDATE lease SET holder = replace(holder, ?1, 'owner-1-')";
    assert_eq!(database.execute(rename, [own]).unwrap(), 1);
}

/// What somebody laid where a killed program had a file is named, and in nobody's way once it is removed.
#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_a_file_of_a_killed_program_is_named() {
    type Lay = fn(&std::path::Path);
    let rows: [(&str, Lay); 3] = [
        ("a link", |path| std::os::unix::fs::symlink("outside", path).unwrap()),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a pipe", |path| {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }),
    ];
    for (row, lay) in rows {
        for file in ["owner-1-0", "owner-1-0.taken"] {
            let place = tempfile::tempdir().unwrap();
            let left = killed(&place);
            renumber(&left);
            let laid = left.join(file);
            let _was_there = fs::remove_file(&laid);
            lay(&laid);
            let store = LocalStore::open(&left).unwrap();
            let refused = store.acquire(&name(), &claim(1)).unwrap_err();
            let StoreError::File { path, source } = &refused else { panic!("{row}: {refused:?}") };
            assert_eq!(*path, laid, "{row}");
            assert_eq!(source.to_string(), "it is no plain file; remove it", "{row}");
            match laid.symlink_metadata().unwrap().is_dir() {
                true => fs::remove_dir(&laid).unwrap(),
                false => fs::remove_file(&laid).unwrap(),
            }
            assert_eq!(store.acquire(&name(), &claim(1)).unwrap().epoch(), 2, "{row} {file}");
        }
    }
}

/// Nobody knows how to ask whether a program of another version lives, nor how to tell it that its thread is taken.
#[test]
fn a_holder_of_another_form_is_waited_for() {
    for (holder, is_free) in [
        ("", true),
        ("owner-1-0-1", true),
        ("owner-123-0", false),
        ("owner-123-0-1-new", false),
        ("x", false),
    ] {
        let place = tempfile::tempdir().unwrap();
        let store = LocalStore::open(place.path()).unwrap();
        let _superseded = store.acquire(&name(), &claim(0)).unwrap();
        let database = rusqlite::Connection::open(place.path().join("registry.db")).unwrap();
        assert_eq!(database.execute("UPDATE lease SET holder = ?1", [holder]).unwrap(), 1);
        let driver = store.driver(&name(), claim(999).now).unwrap();
        assert_eq!(driver.is_none(), is_free, "{holder}");
        match store.acquire(&name(), &claim(999)) {
            Err(StoreError::Held { .. }) => {
                assert!(!is_free, "{holder}");
                assert_eq!(store.acquire(&name(), &claim(1_000)).unwrap().epoch(), 2, "{holder}");
            }
            taken => assert_eq!((taken.unwrap().epoch(), is_free), (2, true), "{holder}"),
        }
    }
}

/// Whoever opens the folder removes what killed programs left, and nothing else.
#[cfg(unix)]
#[test]
fn files_of_killed_programs_go() {
    let place = tempfile::tempdir().unwrap();
    let alive = LocalStore::open(place.path()).unwrap();
    let lease = alive.acquire(&name(), &claim(0)).unwrap();
    let gone = ["owner-1-0", "owner-1-0.taken", "owner-1-1"];
    let other =
        ["owner-2-0.taken", "owner-3", "owner-3-0-1", "owner-3-0x", "owner--0", "transcript"];
    for file in gone.iter().chain(&other) {
        fs::write(place.path().join(file), "1").unwrap();
    }
    fs::create_dir(place.path().join("owner-4-0")).unwrap();
    let _second = LocalStore::open(place.path()).unwrap();
    let left = |file: &&&str| place.path().join(file).exists();
    assert_eq!(gone.iter().find(left), None);
    assert_eq!(other.iter().filter(left).count(), other.len());
    assert!(place.path().join("owner-4-0").is_dir());
    fs::create_dir(place.path().join(name().as_str())).unwrap();
    alive.append(&lease, b"one\n").unwrap();
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
