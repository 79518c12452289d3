use std::error::Error as _;
use std::path::Path;

use rusqlite::Connection;

use super::*;
use crate::Limits;
use crate::store::StoreView;

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

/// Makes `levels` pages of which each names the next one hundreds of times, above the only page of the table.
fn bomb(path: &Path, table: &str, levels: usize) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "delete").unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root: u32 = connection.query_row(root, [table], |row| row.get(0)).unwrap();
    let root = usize::try_from(root).unwrap();
    drop(connection);
    let mut file = std::fs::read(path).unwrap();
    let size = usize::from(u16::from_be_bytes([file[16], file[17]]));
    let leaf = file[(root - 1) * size..root * size].to_vec();
    let first = file.len() / size + 1;
    for level in 0..levels {
        let page = if level == 0 { root } else { first + level - 1 };
        let text = interior(first + level, size);
        file.resize(file.len().max(page * size), 0);
        file[(page - 1) * size..page * size].copy_from_slice(&text);
    }
    file.extend(leaf);
    let pages = u32::try_from(file.len() / size).unwrap();
    file[28..32].copy_from_slice(&pages.to_be_bytes());
    std::fs::write(path, file).unwrap();
}

/// A page of a table with as many cells as fit, all for the page `below`.
fn interior(below: usize, size: usize) -> Vec<u8> {
    let below = u32::try_from(below).unwrap().to_be_bytes();
    let count = (size - 12) / 7;
    let content = size - count * 5;
    let mut page = vec![5, 0, 0];
    for number in [count, content] {
        page.extend(u16::try_from(number).unwrap().to_be_bytes());
    }
    page.push(0);
    page.extend(below);
    for cell in 0..count {
        page.extend(u16::try_from(content + cell * 5).unwrap().to_be_bytes());
    }
    page.resize(content, 0);
    for _ in 0..count {
        page.extend(below);
        page.push(1);
    }
    page
}

/// Each file means more rows than could be read in a life, in a few pages.
#[test]
fn a_file_without_an_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let registry = Registry::open(&path).unwrap();
    registry.enter(&record(1, 0)).unwrap();
    drop(registry);
    bomb(&path, "thread", 8);
    let registry = StoreView::open(folder.path()).unwrap().unwrap().registry();
    let listed = registry.list().unwrap_err().to_string();
    let twice = "registry holds a thread that cannot be read: the row of `";
    assert!(listed.starts_with(twice), "{listed}");
    let sum = "SELECT SUM(cost_nanos) FROM thread";
    let sum = registry.database().read().query_row(sum, [], |row| row.get::<_, i64>(0));
    let summed = RegistryError::from(sum.unwrap_err()).source().unwrap().to_string();
    let endless = "reading `registry.db` takes more than 50000000 operations";
    assert!(summed.starts_with(endless), "{summed}");
}

/// A project can bring a `registry.db` along, and what it defines there must not run here.
#[test]
fn a_file_with_more_than_our_tables_is_refused() {
    let forgetful = "CREATE TRIGGER forgetful AFTER INSERT ON thread BEGIN DELETE FROM thread; END";
    let other = "DROP TABLE thread; CREATE TABLE thread (id TEXT PRIMARY KEY ON CONFLICT IGNORE)";
    for foreign in [forgetful, other, "CREATE VIEW other AS SELECT 1"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        drop(Registry::open(&path).unwrap());
        drop(Registry::open(&path).unwrap());
        Connection::open(&path).unwrap().execute_batch(foreign).unwrap();
        let error = Registry::open(&path).unwrap_err();
        let source = error.source().map(ToString::to_string).unwrap_or_default();
        assert!(source.contains("tables or triggers"), "{error}: {source}");
    }
}

#[test]
fn a_file_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    drop(Registry::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Registry::open(&path).unwrap_err();
    let source = error.source().map(ToString::to_string).unwrap_or_default();
    assert!(source.starts_with("`registry.db` has version 99"), "{error}: {source}");
}

#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (path, barrier) = (&path, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    Registry::open(path).unwrap().enter(&record(number, 0)).unwrap();
                });
            }
        });
        assert_eq!(Registry::open(&path).unwrap().list().unwrap().len(), 8);
    }
}
