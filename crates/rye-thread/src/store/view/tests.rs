use std::fs;
use std::path::Path;

use rye_types::{LimitSet, Moment, ThreadState};

use super::*;
use crate::ThreadRecord;
use crate::store::{LocalStore, TreeOwnership};

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap()
}

fn at(millis: i64) -> Moment {
    Moment::from_unix_millis(millis)
}

/// A store with one thread on its list, whose tree it owns.
fn held(folder: &Path) -> (LocalStore, TreeOwnership) {
    let store = LocalStore::open(folder).unwrap();
    let record = ThreadRecord::new(&thread(), "greet/hello", &LimitSet::default(), at(5));
    store.registry().enter(&record).unwrap();
    let tree = store.own(&thread()).unwrap();
    (store, tree)
}

/// Returns the files of a folder with their content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // The shared memory file belongs to the reading programs.
        let bytes = if name.ends_with("-shm") { Vec::new() } else { fs::read(path).unwrap() };
        (name, bytes)
    };
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).map(file).collect();
    files.sort();
    files
}

/// Reads a folder and checks that it stays unchanged. Returns the listed states and the owner of the thread.
#[track_caller]
fn look(folder: &Path) -> (Vec<ThreadState>, Option<u32>) {
    let before = files(folder);
    let view = StoreView::open(folder).unwrap().unwrap();
    let listed = view.registry().list().unwrap().iter().map(|row| row.state).collect();
    let driver = StoreView::owner(folder, &thread()).unwrap().map(|owner| owner.process);
    drop(view);
    assert_eq!(files(folder), before);
    (listed, driver)
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

const ONE: &[ThreadState] = &[ThreadState::Created];

#[test]
fn where_no_registry_is_there_is_nothing_to_look_at() {
    let folder = tempfile::tempdir().unwrap();
    assert!(StoreView::open(folder.path()).unwrap().is_none());
    assert!(files(folder.path()).is_empty());
}

#[test]
fn what_nobody_has_open_is_read_and_left() {
    let folder = tempfile::tempdir().unwrap();
    drop(held(folder.path()));
    assert_eq!(look(folder.path()), (ONE.to_vec(), None));
}

#[test]
fn a_thread_that_is_driven_is_seen_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _tree) = held(folder.path());
    assert_eq!(look(folder.path()), (ONE.to_vec(), Some(std::process::id())));
    let seen = StoreView::open(folder.path()).unwrap().unwrap();
    store.registry().enter(&ended()).unwrap();
    assert_eq!(seen.registry().list().unwrap()[0].state, ThreadState::Cancelled);
}

fn ended() -> ThreadRecord {
    let mut record = ThreadRecord::new(&thread(), "greet/hello", &LimitSet::default(), at(5));
    record.state = ThreadState::Cancelled;
    record
}

/// A copied folder may hold the last writes in a second file, with or without the shared memory file.
#[test]
fn what_a_killed_program_left_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = held(folder.path());
    for names in [
        &["registry.db", "registry.db-wal"][..],
        &["registry.db", "registry.db-wal", "registry.db-shm"],
    ] {
        let copied = tempfile::tempdir().unwrap();
        copy(folder.path(), copied.path(), names);
        assert_eq!(look(copied.path()), (ONE.to_vec(), None), "{names:?}");
    }
    drop(store);
}

/// Root can write everywhere. `crates/rye-cli/tests/cli` reads as another user.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_looked_at() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    let store = held(folder.path());
    mode(0o555);
    let driven = look(folder.path());
    mode(0o755);
    assert_eq!(driven, (ONE.to_vec(), Some(std::process::id())));
    drop(store);
    mode(0o555);
    let closed = look(folder.path());
    mode(0o755);
    assert_eq!(closed, (ONE.to_vec(), None));
}

/// The folders of the threads tell the same as a file that is not as this version writes it.
#[test]
fn a_file_that_is_none_of_this_program_is_not_believed() {
    for (change, expected) in [
        ("CREATE TABLE more (a)", "holds tables or triggers that this program did not create"),
        ("PRAGMA user_version = 99", "has version 99 and this program reads version 7"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(held(folder.path()));
        let path = folder.path().join("registry.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let error = StoreView::open(folder.path()).map(drop).unwrap_err();
        let told = std::error::Error::source(&error).unwrap().to_string();
        assert!(told.contains(expected), "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("registry.db"), "no database, but long enough to be read as one")
        .unwrap();
    assert!(StoreView::open(folder.path()).is_err());
}
