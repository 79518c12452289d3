use rusqlite::Connection;

use super::*;
use crate::Limits;

fn record(number: u8, created: i64) -> ThreadRecord {
    let uuid = format!("019a0000-0000-7000-8000-0000000000{number:02x}");
    let thread = ThreadId::new("a/d", &uuid).unwrap();
    ThreadRecord::new(&thread, "a/d", &Limits::default(), Moment::from_unix_millis(created))
}

#[test]
fn lists_the_newest_first_and_shows_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let registry = Registry::open(&path).unwrap();
    assert_eq!(registry.list().unwrap(), []);
    let (old, mut new) = (record(1, 10), record(2, 20));
    new.parent = Some(old.thread.clone());
    registry.enter(&old).unwrap();
    registry.enter(&new).unwrap();
    new.state = ThreadState::Completed;
    new.updated = Moment::from_unix_millis(30);
    new.cost = Nanos::new(4);
    registry.enter(&new).unwrap();
    drop(registry);

    let registry = Registry::open(&path).unwrap();
    let listed = registry.list().unwrap();
    assert_eq!(
        listed.iter().map(|row| &row.thread).collect::<Vec<_>>(),
        [&new.thread, &old.thread]
    );
    let expected = ThreadSummary {
        thread: new.thread.clone(),
        parent: Some(old.thread),
        directive: "a/d".to_owned(),
        state: ThreadState::Completed,
        created: Moment::from_unix_millis(20),
        updated: Moment::from_unix_millis(30),
        cost: Nanos::new(4),
    };
    assert_eq!(registry.show(&new.thread).unwrap(), Some(expected));
    assert_eq!(registry.show(&record(3, 0).thread).unwrap(), None);
}

#[test]
fn a_row_that_nobody_wrote_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let registry = Registry::open(&path).unwrap();
    registry.enter(&record(1, 0)).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE thread SET state = 'dreaming'", []).unwrap();
    assert_eq!(
        registry.list().unwrap_err().to_string(),
        "registry holds a thread that cannot be read: `dreaming` is not a thread state; use `cancelled`, `completed`, `continued`, \
         `created`, `error`, `running` or `suspended`; restore `registry.db`"
    );
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    std::fs::write(&path, "x".repeat(4_096)).unwrap();
    let error = Registry::open(&path).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot use the registry of threads; check the disk and the permissions of `registry.db`"
    );
}

/// What a folder that somebody sent may hold in place of a file is not opened: a pipe would be waited for.
#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_refused() {
    for name in ["registry.db", "registry.db-wal", "registry.db-shm", "registry.db-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join(name), folder.path().join("elsewhere"));
        let made: [&dyn Fn(); 3] = [
            &|| std::fs::create_dir(&path).unwrap(),
            &|| std::os::unix::fs::symlink(&elsewhere, &path).unwrap(),
            &|| drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
        ];
        for make in made {
            make();
            let refused = Registry::open(&folder.path().join("registry.db")).unwrap_err();
            let cause = std::error::Error::source(&refused).unwrap().to_string();
            assert_eq!(cause, format!("`{}` is no plain file; remove it", path.display()));
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).unwrap();
        }
        assert!(!elsewhere.exists());
    }
}
