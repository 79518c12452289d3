use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rye_sign::SigningKey;
use rye_types::Moment;

use super::lock::Lock;
use super::*;
use crate::Decision;

mod conforming;
mod replicating;
mod requesting;

fn name(number: u8) -> ThreadId {
    ThreadId::new("greet/hello", &format!("019a0000-0000-7000-8000-0000000000{number:02x}"))
        .unwrap()
}

fn lock_path(threads: &Path) -> PathBuf {
    threads.join(name(1).as_str()).join("lock")
}

/// Holds the lock of a tree as another process would, with another descriptor of the same file.
fn held_elsewhere(threads: &Path, operation: FlockOperation) -> File {
    fs::create_dir_all(threads.join(name(1).as_str())).unwrap();
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(false);
    let file = options.open(lock_path(threads)).unwrap();
    flock(&file, operation).unwrap();
    file
}

#[test]
fn rule_11_the_lock_is_held_only_while_something_is_driven() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let is_held = || Lock::is_held(&lock_path(place.path())).unwrap();
    let root = store.acquire(&name(1), &name(1)).unwrap();
    let child = store.acquire(&name(2), &name(1)).unwrap();
    assert!(is_held());
    store.release(&root);
    assert!(is_held(), "a child is driven");
    store.release(&child);
    assert!(!is_held());
}

/// Two stores over one folder share the trees of the process, also with different paths.
#[test]
fn rule_11_a_second_caller_in_the_process_joins_the_owner() {
    let place = tempfile::tempdir().unwrap();
    let threads = place.path().join("threads");
    let link = place.path().join("link");
    let first = LocalStore::open(&threads).unwrap();
    std::os::unix::fs::symlink(&threads, &link).unwrap();
    let second = LocalStore::open(&link).unwrap();
    let root = first.acquire(&name(1), &name(1)).unwrap();
    let child = second.acquire(&name(2), &name(1)).unwrap();
    assert!(matches!(second.acquire(&name(1), &name(1)), Err(StoreError::Held { .. })));
    first.release(&root);
    assert!(second.check(&child).is_ok());
    let again = second.acquire(&name(1), &name(1)).unwrap();
    second.release(&again);
    second.release(&child);
    assert!(!Lock::is_held(&lock_path(&threads)).unwrap());
}

/// A descriptor that another process inherited or received refers to the same open file, and would hold the lock.
#[test]
fn rule_12_the_lock_is_unlocked_although_a_descriptor_was_inherited() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join(name(1).as_str())).unwrap();
    let lock = Lock::take(&lock_path(place.path())).unwrap().unwrap();
    let inherited = lock.descriptor().try_clone().unwrap();
    drop(lock);
    assert!(Lock::take(&lock_path(place.path())).unwrap().is_some());
    drop(inherited);
}

#[test]
fn rule_12_the_lock_is_closed_when_another_program_starts() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join(name(1).as_str())).unwrap();
    let lock = Lock::take(&lock_path(place.path())).unwrap().unwrap();
    let flags = rustix::io::fcntl_getfd(lock.descriptor()).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
}

/// The lock file is removed or replaced, so that another process can lock it.
#[test]
fn rule_12_a_lock_that_was_replaced_is_owned_no_more() {
    for replaces in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let store = LocalStore::open(place.path()).unwrap();
        let owned = store.acquire(&name(1), &name(1)).unwrap();
        store.append(&owned, b"one\n").unwrap();
        store.sync(&owned).unwrap();
        fs::remove_file(lock_path(place.path())).unwrap();
        if replaces {
            fs::write(lock_path(place.path()), "").unwrap();
        }
        let refused = |done: Result<(), StoreError>| {
            assert!(matches!(done, Err(StoreError::LockReplaced { .. })), "{done:?}");
        };
        refused(store.append(&owned, b"two\n"));
        refused(store.sync(&owned));
        refused(store.cut(&owned, 0));
        assert_eq!(store.journal(&name(1)).unwrap(), b"one\n");
    }
}

/// A process that lost its lock ends while the next one owns the tree.
#[test]
fn rule_12_the_name_of_the_next_owner_stays() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let path = place.path().join(name(1).as_str()).join("owner");
    let next = |instance: &str| {
        let text = serde_json::json!({"process": 7, "host": "a", "instance": instance.repeat(32)});
        fs::write(&path, text.to_string()).unwrap();
        fs::read(&path).unwrap()
    };
    let lost = store.own(&name(1)).unwrap();
    fs::remove_file(lock_path(place.path())).unwrap();
    let lock = held_elsewhere(place.path(), FlockOperation::LockExclusive);
    let text = next("0");
    drop(lost);
    assert_eq!(fs::read(&path).unwrap(), text);
    drop(lock);
    // The lock is in place again, and the name belongs to another acquisition.
    let owned = store.own(&name(1)).unwrap();
    let text = next("1");
    drop(owned);
    assert_eq!(fs::read(&path).unwrap(), text);
}

/// The supervisor of a tool briefly survives a killed process.
#[test]
fn rule_12_a_resuming_process_waits_for_supervisors_of_tools() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    fs::create_dir(place.path().join(name(1).as_str())).unwrap();
    let path = place.path().join(name(1).as_str()).join("tools.lock");
    let supervisor = File::create(path).unwrap();
    flock(&supervisor, FlockOperation::LockShared).unwrap();
    let (owned, has_owned): (Sender<()>, Receiver<()>) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let tree = store.own(&name(1)).unwrap();
            owned.send(()).unwrap();
            drop(tree);
        });
        let waits = has_owned.recv_timeout(Duration::from_millis(100));
        assert!(waits.is_err(), "the tree is owned beside its tools");
        flock(&supervisor, FlockOperation::Unlock).unwrap();
        has_owned.recv_timeout(Duration::from_secs(9)).unwrap();
    });
}

#[test]
fn rule_13_a_reader_creates_nothing() {
    let place = tempfile::tempdir().unwrap();
    let files = || fs::read_dir(place.path()).unwrap().count();
    assert_eq!(StoreView::owner(place.path(), &name(1)).unwrap(), None);
    assert_eq!(files(), 0);
    fs::create_dir(place.path().join(name(1).as_str())).unwrap();
    assert_eq!(StoreView::owner(place.path(), &name(1)).unwrap(), None);
    assert!(!lock_path(place.path()).exists());
}

/// The reader may not write the lock file, and another reader looks at the same moment.
#[test]
fn rule_13_a_reader_sees_the_owner_beside_other_readers() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    drop(LocalStore::open(place.path()).unwrap().own(&name(1)).unwrap());
    fs::set_permissions(lock_path(place.path()), fs::Permissions::from_mode(0o444)).unwrap();
    let _reader = held_elsewhere_to_read(place.path());
    assert_eq!(StoreView::owner(place.path(), &name(1)).unwrap(), None);
}

fn held_elsewhere_to_read(threads: &Path) -> File {
    let file = File::open(lock_path(threads)).unwrap();
    flock(&file, FlockOperation::LockShared).unwrap();
    file
}

/// A reader holds a shared lock for a moment, during which an acquiring process tries again.
#[test]
fn rule_13_an_acquiring_process_tries_again() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let reader = held_elsewhere(place.path(), FlockOperation::LockShared);
    assert!(matches!(store.own_now(&name(1)), Err(StoreError::Held { .. })));
    std::thread::scope(|scope| {
        let owning = scope.spawn(|| store.own(&name(1)).map(drop));
        std::thread::yield_now();
        flock(&reader, FlockOperation::Unlock).unwrap();
        owning.join().unwrap().unwrap();
    });
    let _owner = held_elsewhere(place.path(), FlockOperation::LockExclusive);
    assert!(matches!(store.own(&name(1)), Err(StoreError::Held { .. })));
}

/// The other task ends the wait, so that a wait in place would not end.
#[tokio::test]
async fn rule_19_waiting_for_a_lock_lets_other_tasks_run() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let owner = held_elsewhere(place.path(), FlockOperation::LockExclusive);
    let leave = async { flock(&owner, FlockOperation::Unlock).unwrap() };
    let root = name(1);
    let (owned, ()) = tokio::join!(store.own_unblocked(&root), leave);
    owned.unwrap();
}

#[test]
fn rule_16_the_name_of_the_owner_lies_in_another_file() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let tree = store.own(&name(1)).unwrap();
    assert_eq!(fs::read(lock_path(place.path())).unwrap(), b"");
    let owner = StoreView::owner(place.path(), &name(1)).unwrap().unwrap();
    assert_eq!((&owner, owner.process), (tree.owner(), std::process::id()));
    let first = owner.instance;
    drop(tree);
    assert_eq!(StoreView::owner(place.path(), &name(1)).unwrap(), None);
    let tree = store.own(&name(1)).unwrap();
    assert_ne!(tree.owner().instance, first, "each acquisition has a number of its own");
}

/// The project may supply an invalid name file, or something that is not a plain file.
#[test]
fn rule_16_a_name_that_is_none_is_not_shown() {
    let place = tempfile::tempdir().unwrap();
    let _lock = held_elsewhere(place.path(), FlockOperation::LockExclusive);
    let path = place.path().join(name(1).as_str()).join("owner");
    let instance = "0".repeat(32);
    let other = format!("../{}", "0".repeat(29));
    for (host, instance) in [("a\u{1b}[31m", &instance), ("a", &other)] {
        let text = serde_json::json!({"process": 7, "host": host, "instance": instance});
        fs::write(&path, text.to_string()).unwrap();
        let owner = StoreView::owner(place.path(), &name(1)).unwrap().unwrap();
        assert_eq!(owner.to_string(), "another process");
    }
    let text = serde_json::json!({"process": 7, "host": "a-b.c", "instance": instance});
    fs::write(&path, text.to_string()).unwrap();
    let owner = StoreView::owner(place.path(), &name(1)).unwrap().unwrap();
    assert_eq!(owner.to_string(), "process 7 on a-b.c");
}

/// The project may supply a link in the place of the name. The file behind it stays as it is.
#[test]
fn rule_16_a_name_is_written_through_no_link() {
    let place = tempfile::tempdir().unwrap();
    let elsewhere = place.path().join("elsewhere");
    fs::write(&elsewhere, "precious").unwrap();
    let links: [fn(&Path, &Path) -> std::io::Result<()>; 2] =
        [|from, to| fs::hard_link(from, to), |from, to| std::os::unix::fs::symlink(from, to)];
    for (number, link) in (1..).zip(links) {
        let threads = place.path().join("threads");
        let path = threads.join(name(number).as_str()).join("owner");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        link(&elsewhere, &path).unwrap();
        let store = LocalStore::open(&threads).unwrap();
        let tree = store.own(&name(number)).unwrap();
        let owner = StoreView::owner(&threads, &name(number)).unwrap();
        assert_eq!(owner.as_ref(), Some(tree.owner()));
        drop(tree);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    }
}

#[test]
fn rule_17_exhaustion_has_an_error_of_its_own() {
    use rustix::io::Errno;
    let told = |errno: Errno| super::lock::lock_error(Path::new("lock"), errno.into()).to_string();
    assert!(told(Errno::NOLCK).starts_with("the system has no file lock left for `lock`"));
    for errno in [Errno::MFILE, Errno::NFILE] {
        assert!(told(errno).starts_with("this process has too many files open"), "{errno}");
    }
    assert!(told(Errno::IO).starts_with("cannot use `lock`"));
}

/// More trees than the default limit of open files on many systems.
#[test]
fn rule_17_one_process_owns_a_thousand_trees() {
    const MANY: u16 = 1_100;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < 2_000) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let tree = |number: u16| {
        let uuid = format!("019a0000-0000-7000-8000-00000000{number:04x}");
        store.own(&ThreadId::new("a", &uuid).unwrap())
    };
    let owned: Vec<TreeOwnership> = (0..MANY).map(|number| tree(number).unwrap()).collect();
    assert_eq!(owned.len(), usize::from(MANY));
}

/// A process of the previous format holds a lock on its own file for as long as it lives.
#[test]
fn rule_23_a_folder_of_a_living_process_of_the_old_format_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("owner-17-0");
    let old = File::create(&path).unwrap();
    drop(LocalStore::open(place.path()).unwrap());
    flock(&old, FlockOperation::LockExclusive).unwrap();
    let refused = LocalStore::open(place.path()).unwrap_err();
    assert!(matches!(&refused, StoreError::OldFormat { path: found } if *found == path));
    assert!(refused.to_string().starts_with("a process of an older version of Rye uses these"));
    flock(&old, FlockOperation::Unlock).unwrap();
    drop(LocalStore::open(place.path()).unwrap());
}

/// The error names the thing in place of the lock. No link is followed, and no pipe blocks.
#[test]
fn what_stands_in_the_place_of_a_lock_is_named() {
    type Lay = fn(&Path);
    let rows: [(&str, Lay, &str); 3] = [
        ("a link", |path| std::os::unix::fs::symlink("outside", path).unwrap(), "is a link"),
        ("a folder", |path| fs::create_dir(path).unwrap(), "cannot use"),
        (
            "a pipe",
            |path| {
                let kind = rustix::fs::FileType::Fifo;
                let mode = rustix::fs::Mode::RWXU;
                rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
            },
            "cannot use",
        ),
    ];
    for (row, lay, told) in rows {
        let place = tempfile::tempdir().unwrap();
        let store = LocalStore::open(place.path()).unwrap();
        fs::create_dir(place.path().join(name(1).as_str())).unwrap();
        lay(&lock_path(place.path()));
        let refused = store.own(&name(1)).unwrap_err().to_string();
        assert!(refused.contains(told) && refused.contains("lock"), "{row}: {refused}");
        assert!(!place.path().join(name(1).as_str()).join("outside").exists(), "{row}");
    }
}

#[test]
fn nothing_is_written_through_a_link() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let folder = place.path().join(name(1).as_str());
    fs::create_dir(&folder).unwrap();
    let outside = place.path().join("outside");
    std::os::unix::fs::symlink(&outside, folder.join("transcript.jsonl")).unwrap();
    let owned = store.acquire(&name(1), &name(1)).unwrap();
    assert!(matches!(store.append(&owned, b"x\n"), Err(StoreError::Linked { .. })));
    assert!(matches!(store.journal(&name(1)), Err(StoreError::Linked { .. })));
    assert!(!outside.exists());
}

/// A thread that was stopped before its first record can be read, resumed and ended.
#[test]
fn a_transcript_without_lines_is_an_empty_file() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let owned = store.acquire(&name(1), &name(1)).unwrap();
    store.append(&owned, b"").unwrap();
    let path = place.path().join(name(1).as_str()).join("transcript.jsonl");
    assert_eq!(fs::read(path).unwrap(), b"");
}

#[test]
fn the_error_names_the_owner() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let _owned = store.acquire(&name(1), &name(1)).unwrap();
    let error = store.acquire(&name(1), &name(1)).unwrap_err().to_string();
    let thread = name(1);
    let begins = format!("thread `{thread}` is driven by process {} on ", std::process::id());
    assert!(error.starts_with(&begins), "{error}");
    assert!(error.ends_with(&format!("; wait for its end, or `rye cancel {thread}`")), "{error}");
}
