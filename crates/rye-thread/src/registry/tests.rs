use std::error::Error as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use rye_types::{LimitSet, ThreadState};

use super::*;
use crate::store::StoreView;

fn record(number: u8, created: i64) -> ThreadRecord {
    let uuid = format!("019a0000-0000-7000-8000-0000000000{number:02x}");
    let thread = ThreadId::new("a/d", &uuid).unwrap();
    ThreadRecord::new(&thread, "a/d", &LimitSet::default(), Moment::from_unix_millis(created))
}

#[test]
fn lists_the_newest_first_and_shows_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let registry = Registry::open(&path).unwrap();
    assert_eq!(registry.list().unwrap(), []);
    let old = record(1, 10);
    let mut new = record(2, 20);
    new.parent = Some(old.thread.clone());
    registry.enter(&old).unwrap();
    registry.enter(&new).unwrap();
    new.state = ThreadState::Completed;
    new.updated = Moment::from_unix_millis(30);
    new.cost = Nanos::new(4);
    new.model = Some("m".to_owned());
    new.turns = 3;
    new.usage = Usage::new(5, 6);
    (new.usage.cache_read, new.usage.cache_write) = (7, 8);
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
        model: Some("m".to_owned()),
        turns: 3,
        usage: new.usage,
        used_unsigned: Some(false),
    };
    assert_eq!(expected.duration(), Duration::from_millis(10));
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
         `created`, `error`, `running` or `suspended`; `rye threads reindex` writes the list anew"
    );
}

/// A folder from elsewhere may hold something else than a file. It is not opened, because opening a pipe blocks.
#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_refused() {
    for name in ["registry.db", "registry.db-wal", "registry.db-shm", "registry.db-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let elsewhere = folder.path().join("elsewhere");
        let made: [&dyn Fn(); 3] = [
            &|| std::fs::create_dir(&path).unwrap(),
            &|| std::os::unix::fs::symlink(&elsewhere, &path).unwrap(),
            &|| drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
        ];
        for make in made {
            make();
            let refused = Registry::open(&folder.path().join("registry.db")).unwrap_err();
            let cause = std::error::Error::source(&refused).unwrap().to_string();
            assert_eq!(cause, format!("`{}` is not a plain file; remove it", path.display()));
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).unwrap();
        }
        assert!(!elsewhere.exists());
    }
}

/// Its limits and its tools may be of a form that this version does not know.
#[test]
fn a_thread_of_a_newer_version_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let thread = record(1, 0).thread;
    let path = folder.path().join(thread.as_str());
    std::fs::create_dir(&path).unwrap();
    let at = "2026-11-20T18:00:00.250Z";
    let line = serde_json::json!({
        "ts": at, "thread_id": thread.as_str(), "directive": "a/d", "event": "thread_start",
        "payload": { "root": thread.as_str(), "created": at, "model": "m", "limits": 7 },
    });
    std::fs::write(path.join("transcript.jsonl"), format!("{line}\n")).unwrap();
    let registry = Registry::open(&folder.path().join("registry.db")).unwrap();
    registry.rebuild(folder.path()).unwrap();
    let listed = registry.list().unwrap();
    assert_eq!(listed[0].model.as_deref(), Some("m"));
}

/// Writes `levels` pages, each of which names the next one hundreds of times, above the only page of the table.
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

/// Returns a page of a table with as many cells as fit, all for the page `below`.
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

/// Each file stands for an endless number of rows in a few pages.
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
    drop(registry);
    let registry = Registry::open(&path).unwrap();
    registry.rebuild(folder.path()).unwrap();
    assert_eq!(registry.list().unwrap(), []);
}

/// Changes the file of an index.
type Change = fn(&Path);

/// Changes after which the file holds no index of this version. A project can bring such a file along, and what it defines must not run
/// here.
const DAMAGE: [(&str, Change); 8] = [
    ("no database", |path| std::fs::write(path, "x".repeat(4_096)).unwrap()),
    ("a few bytes", |path| std::fs::write(path, "no database").unwrap()),
    ("half a database", |path| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }),
    ("a trigger", |path| {
        let forgetful =
            "CREATE TRIGGER forgetful AFTER INSERT ON thread BEGIN DELETE FROM thread; END";
        Connection::open(path).unwrap().execute_batch(forgetful).unwrap();
    }),
    ("another table", |path| {
        let other =
            "DROP TABLE thread; CREATE TABLE thread (id TEXT PRIMARY KEY ON CONFLICT IGNORE)";
        Connection::open(path).unwrap().execute_batch(other).unwrap();
    }),
    ("a view", |path| {
        Connection::open(path).unwrap().execute_batch("CREATE VIEW other AS SELECT 1").unwrap();
    }),
    ("a newer version", |path| {
        Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    }),
    ("an older version", |path| {
        Connection::open(path).unwrap().pragma_update(None, "user_version", 5).unwrap();
    }),
];

#[test]
fn rule_22_a_file_that_is_no_index_is_emptied_in_its_place() {
    for (name, damage) in DAMAGE {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        Registry::open(&path).unwrap().enter(&record(1, 0)).unwrap();
        damage(&path);
        let before = identity(&path);
        let seen = StoreView::open(folder.path()).map(drop);
        assert!(seen.is_err(), "{name}");
        let registry = Registry::open(&path).unwrap();
        assert_eq!(registry.list().unwrap(), [], "{name}");
        registry.enter(&record(2, 0)).unwrap();
        drop(registry);
        assert_eq!(Registry::open(&path).unwrap().list().unwrap().len(), 1, "{name}");
        assert_eq!(identity(&path), before, "{name}: the file was removed");
    }
}

/// Another process that has the index open goes on with it.
#[test]
fn rule_22_an_index_is_written_anew_below_a_process_that_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    let first = Registry::open(&path).unwrap();
    let second = Registry::open(&path).unwrap();
    first.enter(&record(1, 0)).unwrap();
    second.database().empty().unwrap();
    assert_eq!(first.list().unwrap(), []);
    first.enter(&record(2, 0)).unwrap();
    assert_eq!(second.list().unwrap().len(), 1);
}

#[cfg(unix)]
fn identity(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap())
}

#[cfg(not(unix))]
fn identity(_: &Path) -> u64 {
    0
}

#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    Registry::open(path).unwrap().enter(&record(number, 0)).unwrap();
                });
            }
        });
        assert_eq!(Registry::open(&path).unwrap().list().unwrap().len(), 8);
    }
}
