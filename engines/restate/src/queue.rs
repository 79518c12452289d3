//! The records of a driven thread tree, on their way to the engine.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rye::thread::ThreadId;
use rye::thread::store::Replica;
use tokio::sync::Notify;

use crate::records::{Change, REQUEST};

/// The most bytes of one step. The engine retries for ever with a value above its own limit of 32 MiB.
const STEP_BYTES: usize = 8 << 20;

/// A queue of changes. A sync of the tree waits until the engine keeps everything before it.
#[derive(Debug)]
pub struct Queue {
    /// The thread whose requests to its model begin a step each.
    root: String,
    state: Mutex<State>,
    /// Wakes the reader when a sync waits.
    asked: Notify,
    /// Wakes the syncs when the engine keeps more, or the queue is closed.
    kept: Condvar,
}

#[derive(Debug)]
struct State {
    /// The length of each transcript in bytes.
    lengths: BTreeMap<String, u64>,
    changes: VecDeque<Change>,
    /// The numbers of changes that were made, that were taken by the reader, and that the engine keeps.
    made: u64,
    taken: u64,
    kept: u64,
    waiting: usize,
    mode: Mode,
}

/// The answer to a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It waits for the engine.
    Waits,
    /// It returns at once, because the caller takes all changes afterwards and keeps them before it does anything else.
    Returns,
    /// It fails, because another driver may go on with the tree.
    Closed,
}

impl Queue {
    /// Creates a queue for the tree of `root` behind transcripts of these lengths.
    pub fn new(root: &str, lengths: BTreeMap<String, u64>) -> Self {
        Self::with_mode(root, lengths, Mode::Waits)
    }

    /// Creates a queue whose syncs do not wait, for one short change of a tree that nothing drives.
    pub fn without_waits(lengths: BTreeMap<String, u64>) -> Self {
        Self::with_mode("", lengths, Mode::Returns)
    }

    fn with_mode(root: &str, lengths: BTreeMap<String, u64>, mode: Mode) -> Self {
        let (made, taken, kept, waiting) = (0, 0, 0, 0);
        let changes = VecDeque::new();
        let state = State { lengths, changes, made, taken, kept, waiting, mode };
        let root = root.to_owned();
        Self { root, state: Mutex::new(state), asked: Notify::new(), kept: Condvar::new() }
    }

    /// Locks the state. No change of it is made in parts, so that a panic elsewhere does no harm.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a sync waits for changes.
    pub async fn wait_for_sync(&self) {
        loop {
            let asked = self.asked.notified();
            {
                let state = self.state();
                if 0 < state.waiting && !state.changes.is_empty() {
                    return;
                }
            }
            asked.await;
        }
    }

    /// Takes the oldest changes, up to the size of a step, or up to a request of the root to its model.
    pub fn take(&self) -> Vec<Change> {
        let mut state = self.state();
        let mut taken = Vec::new();
        let mut bytes = 0;
        while let Some(mut change) = state.changes.pop_front() {
            if !taken.is_empty() && self.request_line(&change) == Some(0) {
                state.changes.push_front(change);
                break;
            }
            let room = STEP_BYTES - bytes;
            if room < change.text.len() {
                let rest = split(&mut change, room);
                state.changes.push_front(rest);
                if !change.text.is_empty() {
                    taken.push(change);
                }
                break;
            }
            bytes += change.text.len();
            state.taken += 1;
            taken.push(change);
        }
        taken
    }

    /// Returns `true` if the root is about to ask its model. Nothing was sent yet, and no record says so in what was taken.
    ///
    /// The record of a request is what a worker that takes the tree over has to count as sent. Here it takes over for nothing.
    pub fn is_before_request(&self) -> bool {
        self.state().changes.front().is_some_and(|change| self.request_line(change) == Some(0))
    }

    /// Returns the place of the first line that says that the root asks its model.
    fn request_line(&self, change: &Change) -> Option<usize> {
        let place = change.text.find(REQUEST).filter(|_| change.thread == self.root)?;
        Some(change.text.get(..place)?.rfind('\n').map_or(0, |end| end + 1))
    }

    /// Lets the syncs go on that waited for what was taken, because the engine keeps it.
    pub fn keep(&self) {
        let mut state = self.state();
        state.kept = state.taken;
        self.kept.notify_all();
    }

    /// Ends the tree's driver: each of its changes fails from now on.
    pub fn close(&self) {
        self.state().mode = Mode::Closed;
        self.kept.notify_all();
    }

    fn push(&self, thread: &ThreadId, at: Option<u64>, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8(bytes.to_vec()).map_err(io::Error::other)?;
        let mut state = self.state();
        if state.mode == Mode::Closed {
            return Err(closed_error());
        }
        let thread = thread.as_str().to_owned();
        let length = state.lengths.entry(thread.clone()).or_default();
        let at = at.unwrap_or(*length);
        *length = at + text.len() as u64;
        let mut change = Change { thread, at, text };
        if let Some(place @ 1..) = self.request_line(&change) {
            let request = split(&mut change, place);
            state.changes.extend([change, request]);
            state.made += 2;
        } else {
            state.changes.push_back(change);
            state.made += 1;
        }
        Ok(())
    }
}

impl Replica for Queue {
    fn append(&self, thread: &ThreadId, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() { Ok(()) } else { self.push(thread, None, lines) }
    }

    fn cut(&self, thread: &ThreadId, length: u64) -> io::Result<()> {
        self.push(thread, Some(length), b"")
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        let own = state.made;
        if state.mode == Mode::Returns {
            return Ok(());
        }
        state.waiting += 1;
        self.asked.notify_one();
        while state.kept < own && state.mode != Mode::Closed {
            state = self.kept.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        if state.mode == Mode::Closed { Err(closed_error()) } else { Ok(()) }
    }
}

fn closed_error() -> io::Error {
    io::Error::other("another worker may go on with the thread, so that this one stops")
}

/// Splits a change after at most so many bytes, and returns the rest.
fn split(change: &mut Change, most: usize) -> Change {
    let end = (0..=most).rev().find(|end| change.text.is_char_boundary(*end)).unwrap_or(0);
    let text = change.text.split_off(end);
    Change { thread: change.thread.clone(), at: change.at + end as u64, text }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use rye_thread::store::{LocalStore, Store, conformance};
    use tokio::runtime::Handle;
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::records::assemble;

    fn thread() -> ThreadId {
        "greet-019a0000-0000-7000-8000-000000000001".parse().unwrap()
    }

    #[tokio::test]
    async fn a_sync_waits_until_the_engine_keeps_its_changes() {
        let queue = Arc::new(Queue::new(thread().as_str(), BTreeMap::new()));
        queue.append(&thread(), b"one\n").unwrap();
        let syncing = Arc::clone(&queue);
        let synced = spawn_blocking(move || syncing.sync());
        queue.wait_for_sync().await;
        let taken = queue.take();
        assert_eq!(taken.len(), 1);
        assert!(!synced.is_finished(), "the engine does not keep it yet");
        queue.keep();
        synced.await.unwrap().unwrap();
        queue.sync().unwrap();
    }

    /// The checks for every store of threads, with an engine that keeps what it takes.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_store_on_the_engine_conforms() {
        let place = tempfile::tempdir().unwrap();
        let stores = AtomicU32::new(0);
        let runtime = Handle::current();
        let open = move || {
            let number = stores.fetch_add(1, Ordering::Relaxed);
            let threads = place.path().join(number.to_string());
            // A thread has a folder before it has a transcript.
            fs::create_dir_all(threads.join("check-019a0000-0000-7000-8000-000000000002")).unwrap();
            let queue = Arc::new(Queue::new(thread().as_str(), BTreeMap::new()));
            let taking = Arc::clone(&queue);
            runtime.spawn(async move {
                loop {
                    taking.wait_for_sync().await;
                    assert!(!taking.take().is_empty());
                    taking.keep();
                }
            });
            let store = LocalStore::open(&threads).unwrap();
            Arc::new(store.with_replica(queue as _)) as Arc<dyn Store>
        };
        spawn_blocking(move || conformance::check(&open)).await.unwrap();
    }

    /// Another worker goes on without a request that may have been sent.
    #[tokio::test]
    async fn a_request_of_the_root_begins_a_step() {
        let child = "one-019a0000-0000-7000-8000-000000000002".parse().unwrap();
        let queue = Queue::new(thread().as_str(), BTreeMap::new());
        let request = "{\"event\":\"step_start\"}\n";
        queue.append(&child, request.as_bytes()).unwrap();
        queue.append(&thread(), format!("one\n{request}two\n").as_bytes()).unwrap();
        let texts = |changes: Vec<Change>| {
            changes.into_iter().map(|change| change.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(queue.take()), [request, "one\n"]);
        assert!(queue.is_before_request());
        assert_eq!(texts(queue.take()), [format!("{request}two\n")]);
        assert!(!queue.is_before_request());
    }

    #[tokio::test]
    async fn a_closed_queue_stops_its_driver() {
        let queue = Arc::new(Queue::new(thread().as_str(), BTreeMap::new()));
        queue.append(&thread(), b"one\n").unwrap();
        let syncing = Arc::clone(&queue);
        let synced = spawn_blocking(move || syncing.sync());
        queue.wait_for_sync().await;
        queue.close();
        synced.await.unwrap().unwrap_err();
        queue.append(&thread(), b"two\n").unwrap_err();
        queue.cut(&thread(), 0).unwrap_err();
    }

    /// A part of a line may be all that the engine keeps when a worker dies; the whole line comes together again.
    #[test]
    fn a_long_line_takes_several_steps() {
        let lengths = BTreeMap::from([(thread().as_str().to_owned(), 4)]);
        let queue = Queue::without_waits(lengths);
        let line = format!("{}\n", "ä".repeat(STEP_BYTES));
        queue.append(&thread(), line.as_bytes()).unwrap();
        queue.sync().unwrap();
        let mut steps = vec![vec![Change {
            thread: thread().as_str().to_owned(),
            at: 0,
            text: "one\n".to_owned(),
        }]];
        loop {
            let step = queue.take();
            if step.is_empty() {
                break;
            }
            assert!(step.iter().map(|change| change.text.len()).sum::<usize>() <= STEP_BYTES);
            steps.push(step);
        }
        assert_eq!(steps.len(), 4);
        let transcripts = assemble(steps.iter().flatten()).unwrap();
        assert_eq!(transcripts[thread().as_str()], format!("one\n{line}"));
    }
}
