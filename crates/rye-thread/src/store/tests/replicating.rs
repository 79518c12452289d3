//! A place beyond this machine that keeps the transcripts of a store.

use std::io;
use std::sync::Mutex;

use super::*;

/// Keeps the calls of a store, and fails where it is told to.
#[derive(Debug, Default)]
struct Kept {
    calls: Mutex<Vec<String>>,
    fails: bool,
}

impl Kept {
    fn add(&self, call: String) -> io::Result<()> {
        self.calls.lock().unwrap().push(call);
        if self.fails { Err(io::Error::other("the engine is gone")) } else { Ok(()) }
    }
}

impl Replica for Kept {
    fn append(&self, thread: &ThreadId, lines: &[u8]) -> io::Result<()> {
        let lines = String::from_utf8(lines.to_vec()).unwrap();
        self.add(format!("append {thread} {lines:?}"))
    }

    fn cut(&self, thread: &ThreadId, length: u64) -> io::Result<()> {
        self.add(format!("cut {thread} {length}"))
    }

    fn sync(&self, thread: &ThreadId) -> io::Result<()> {
        self.add(format!("sync {thread}"))
    }
}

#[test]
fn a_replica_has_each_change_in_order() {
    let place = tempfile::tempdir().unwrap();
    let kept = Arc::new(Kept::default());
    let store = LocalStore::open(place.path()).unwrap().with_replica(Arc::clone(&kept) as _);
    let root = store.acquire(&name(1), &name(1)).unwrap();
    fs::create_dir_all(place.path().join(name(1).as_str())).unwrap();
    store.append(&root, b"one\ntw").unwrap();
    store.cut(&root, 4).unwrap();
    store.append(&root, b"two\n").unwrap();
    store.sync(&root).unwrap();
    let thread = name(1);
    let expected = [
        format!("append {thread} \"one\\ntw\""),
        format!("cut {thread} 4"),
        format!("append {thread} \"two\\n\""),
        format!("sync {thread}"),
    ];
    assert_eq!(*kept.calls.lock().unwrap(), expected);
    assert_eq!(store.journal(&thread).unwrap(), b"one\ntwo\n");
    store.release(&root);
    store.append(&root, b"late\n").unwrap_err();
    assert_eq!(kept.calls.lock().unwrap().len(), 4, "a released thread has no changes");
}

#[test]
fn a_replica_that_fails_stops_the_thread() {
    let place = tempfile::tempdir().unwrap();
    let kept = Arc::new(Kept { fails: true, ..Kept::default() });
    let store = LocalStore::open(place.path()).unwrap().with_replica(kept);
    let root = store.acquire(&name(1), &name(1)).unwrap();
    for failed in [store.append(&root, b"one\n"), store.sync(&root), store.cut(&root, 0)] {
        assert!(matches!(failed, Err(StoreError::Replica { .. })), "{failed:?}");
    }
}
