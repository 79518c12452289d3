//! What a killed program leaves to the ones after it.

use super::*;

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
