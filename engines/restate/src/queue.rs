//! The records of a driven thread tree, on their way to the engine.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rye::thread::ThreadId;
use rye::thread::store::{Replica, ReplicaSync};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tokio::task::block_in_place;

use crate::activity::Activity;
use crate::entry::{Entry, Extent, entries_of, number, split};
use crate::records::Change;

/// The most bytes of one step. The engine retries for ever with a value above its own limit of 32 MiB.
pub const STEP_BYTES: usize = 1 << 20;

/// The time after which records are taken that no sync waits for, so that they outlive this worker.
const UNSYNCED: Duration = Duration::from_millis(50);

/// A queue of changes. A sync of a thread waits until the engine keeps everything of the thread before it.
///
/// A request to a model begins a step. It is held back until no other request and no call of the tree is under way. At that
/// moment, another worker could go on with the whole tree and lose nothing.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    /// Wakes the reader when there are changes.
    changed: Notify,
    /// Wakes the syncs when the engine keeps more, or the queue is closed.
    kept: Condvar,
    /// Wakes those syncs that hold no system thread.
    kept_later: Notify,
}

#[derive(Debug)]
struct State {
    threads: BTreeMap<String, Known>,
    entries: VecDeque<Entry>,
    activity: Activity,
    /// `true` if requests are held back although something is under way.
    is_draining: bool,
    waiting: usize,
    mode: Mode,
}

/// A transcript as this queue passed it on.
#[derive(Debug, Default)]
struct Known {
    extent: Extent,
    /// The numbers of changes that were made, that were taken by the reader, and that the engine keeps.
    made: u64,
    taken: u64,
    kept: u64,
}

/// The changes of one step.
#[derive(Debug, Default)]
pub struct Taken {
    /// The changes, in the order of each thread.
    pub changes: Vec<Change>,
    /// `true` if a thread sends a request to its model once the engine keeps these changes.
    pub asks: bool,
    /// `true` if the whole tree waits, and all that is left are requests to models, of which no record was taken.
    ///
    /// The record of a request is what a worker that takes the tree over has to count as sent. Here it takes over for nothing.
    pub is_before_request: bool,
    bytes: usize,
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
    /// Creates a queue behind transcripts of these extents.
    pub fn new(extents: BTreeMap<String, Extent>) -> Self {
        Self::with_mode(extents, Mode::Waits)
    }

    /// Creates a queue whose syncs do not wait, for one short change of a tree that nothing drives.
    pub fn without_waits(extents: BTreeMap<String, Extent>) -> Self {
        Self::with_mode(extents, Mode::Returns)
    }

    fn with_mode(extents: BTreeMap<String, Extent>, mode: Mode) -> Self {
        let known = |(thread, extent)| (thread, Known { extent, ..Known::default() });
        let state = State {
            threads: extents.into_iter().map(known).collect(),
            entries: VecDeque::new(),
            activity: Activity::default(),
            is_draining: false,
            waiting: 0,
            mode,
        };
        Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            kept: Condvar::new(),
            kept_later: Notify::new(),
        }
    }

    /// Locks the state. No change of it is made in parts, so that a panic elsewhere does no harm.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a sync waits for changes that can be taken, or some were written long ago.
    pub async fn wait_for_changes(&self) {
        loop {
            let changed = self.changed.notified();
            let (has_records, is_ready) = {
                let state = self.state();
                (state.has_records(), state.is_ready())
            };
            if is_ready {
                return;
            }
            if !has_records {
                changed.await;
            } else if tokio::time::timeout(UNSYNCED, changed).await.is_err() {
                return;
            }
        }
    }

    /// Holds requests back from now on until nothing else is under way, or no longer.
    pub fn drain(&self, is_draining: bool) {
        self.state().is_draining = is_draining;
        self.changed.notify_one();
    }

    /// Takes the oldest changes, up to the size of a step.
    ///
    /// Requests are taken alone, or beside work that is under way.
    pub fn take(&self) -> Taken {
        let mut state = self.state();
        let mut taken = Taken::default();
        if !state.take_records(&mut taken) {
            return taken;
        }
        let is_idle = state.activity.is_idle();
        let is_alone = is_idle && taken.changes.is_empty();
        if is_alone || (!is_idle && !state.is_draining) {
            state.take_requests(&mut taken);
        }
        taken.is_before_request = is_idle && !state.entries.is_empty();
        taken
    }

    /// Lets the syncs go on that waited for what was taken, because the engine keeps it.
    pub fn keep(&self) {
        self.state().threads.values_mut().for_each(|known| known.kept = known.taken);
        self.kept.notify_all();
        self.kept_later.notify_waiters();
    }

    /// Ends the tree's driver: each of its changes fails from now on.
    pub fn close(&self) {
        self.state().mode = Mode::Closed;
        self.kept.notify_all();
        self.kept_later.notify_waiters();
    }

    fn push(&self, thread: &ThreadId, at: Option<u64>, bytes: &[u8]) -> io::Result<()> {
        let text = String::from_utf8(bytes.to_vec()).map_err(io::Error::other)?;
        let mut state = self.state();
        if state.mode == Mode::Closed {
            return Err(closed_error());
        }
        let thread = thread.as_str().to_owned();
        let known = state.threads.entry(thread.clone()).or_default();
        let Extent { bytes, records } = Extent::of(&text);
        let extent = &mut known.extent;
        if at.is_none() && number(&text).is_some_and(|number| number != extent.records)
            || at.is_some_and(|at| extent.bytes < at)
        {
            return Err(gap_error(&thread));
        }
        if at == Some(0) {
            *extent = Extent::default();
        }
        let at = at.unwrap_or(extent.bytes);
        *extent = Extent { bytes: at + bytes, records: extent.records + records };
        let entries = entries_of(Change { thread, at, text });
        known.made += entries.len() as u64;
        state.entries.extend(entries);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }
}

impl State {
    /// Returns `true` if there are changes that are no requests.
    fn has_records(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_request())
    }

    /// Returns `true` if a sync waits for changes that can be taken now.
    fn is_ready(&self) -> bool {
        let takes_requests = !self.is_draining || self.activity.is_idle();
        0 < self.waiting && (self.has_records() || (takes_requests && !self.entries.is_empty()))
    }

    /// Takes the changes before the threads' requests. Returns `false` if the step has no room for all.
    fn take_records(&mut self, taken: &mut Taken) -> bool {
        let mut held: VecDeque<Entry> = VecDeque::new();
        let mut rest = None;
        while let Some(entry) = self.entries.pop_front() {
            let is_behind = |held: &Entry| held.change.thread == entry.change.thread;
            if entry.is_request() || held.iter().any(is_behind) {
                held.push_back(entry);
                continue;
            }
            rest = self.take_entry(entry, taken);
            if rest.is_some() {
                break;
            }
        }
        let has_room = rest.is_none();
        held.extend(rest);
        held.append(&mut self.entries);
        self.entries = held;
        has_room
    }

    fn take_requests(&mut self, taken: &mut Taken) {
        while let Some(entry) = self.entries.pop_front() {
            taken.asks |= entry.is_request();
            if let Some(rest) = self.take_entry(entry, taken) {
                self.entries.push_front(rest);
                return;
            }
        }
    }

    /// Takes a change, or a part of it up to the size of a step. Returns the rest.
    fn take_entry(&mut self, mut entry: Entry, taken: &mut Taken) -> Option<Entry> {
        let room = STEP_BYTES - taken.bytes;
        if room < entry.change.text.len() {
            let change = split(&mut entry.change, room);
            taken.bytes = STEP_BYTES;
            if !entry.change.text.is_empty() {
                taken.changes.push(entry.change);
            }
            return Some(Entry { change, notes: entry.notes });
        }
        taken.bytes += entry.change.text.len();
        self.activity.note(&entry.change.thread, &entry.notes);
        self.threads.entry(entry.change.thread.clone()).or_default().taken += 1;
        taken.changes.push(entry.change);
        None
    }
}

impl Replica for Queue {
    fn append(&self, thread: &ThreadId, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() { Ok(()) } else { self.push(thread, None, lines) }
    }

    fn cut(&self, thread: &ThreadId, length: u64) -> io::Result<()> {
        self.push(thread, Some(length), b"")
    }

    fn sync(&self, thread: &ThreadId) -> io::Result<()> {
        let is_of_runtime = Handle::try_current()
            .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        // The task that takes the changes may be the next one of this system thread, and no other thread would run it.
        if is_of_runtime {
            block_in_place(|| self.wait_for_sync(thread))
        } else {
            self.wait_for_sync(thread)
        }
    }

    fn sync_later(self: Arc<Self>, thread: &ThreadId) -> Option<ReplicaSync> {
        let thread = thread.clone();
        Some(Box::pin(async move {
            let waiter = Waiter::new(&self, &thread);
            loop {
                let kept = self.kept_later.notified();
                tokio::pin!(kept);
                // What is kept from now on wakes it.
                kept.as_mut().enable();
                let answer = waiter.answer(&self.state());
                if let Some(answer) = answer {
                    return answer;
                }
                kept.await;
            }
        }))
    }
}

impl Queue {
    /// Waits on this system thread until the engine keeps all that the thread made, or the queue is closed.
    fn wait_for_sync(&self, thread: &ThreadId) -> io::Result<()> {
        let waiter = Waiter::new(self, thread);
        let mut state = self.state();
        loop {
            if let Some(answer) = waiter.answer(&state) {
                return answer;
            }
            state = self.kept.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A sync that waits, until it is dropped.
struct Waiter<'a> {
    queue: &'a Queue,
    thread: &'a ThreadId,
    /// The number of the thread's last change.
    own: u64,
}

impl<'a> Waiter<'a> {
    fn new(queue: &'a Queue, thread: &'a ThreadId) -> Self {
        let mut state = queue.state();
        let own = state.threads.get(thread.as_str()).map_or(0, |known| known.made);
        state.waiting += 1;
        drop(state);
        queue.changed.notify_one();
        Self { queue, thread, own }
    }

    /// Returns the result of the sync; `None` while it has to wait.
    fn answer(&self, state: &State) -> Option<io::Result<()>> {
        let known = state.threads.get(self.thread.as_str());
        match state.mode {
            Mode::Closed => Some(Err(closed_error())),
            Mode::Returns => Some(Ok(())),
            Mode::Waits => known.is_none_or(|known| self.own <= known.kept).then_some(Ok(())),
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.queue.state().waiting -= 1;
    }
}

fn closed_error() -> io::Error {
    io::Error::other("another worker may go on with the thread, so that this one stops")
}

fn gap_error(thread: &str) -> io::Error {
    io::Error::other(format!(
        "the engine would lack records of thread `{thread}` before the next one"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rye_thread::store::{LocalStore, Store};
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::activity::line;
    use crate::records::assemble;

    fn thread() -> ThreadId {
        "greet-019a0000-0000-7000-8000-000000000001".parse().unwrap()
    }

    #[tokio::test]
    async fn a_sync_waits_until_the_engine_keeps_its_changes() {
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        queue.append(&thread(), b"one\n").unwrap();
        let syncing = Arc::clone(&queue);
        let synced = spawn_blocking(move || syncing.sync(&thread()));
        queue.wait_for_changes().await;
        let taken = queue.take();
        assert_eq!(taken.changes.len(), 1);
        assert!(!synced.is_finished(), "the engine does not keep it yet");
        queue.keep();
        synced.await.unwrap().unwrap();
        queue.sync(&thread()).unwrap();
    }

    /// A thousand threads that wait for the engine hold no system thread.
    #[tokio::test]
    async fn a_thread_waits_for_the_engine_in_a_future() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join(thread().as_str())).unwrap();
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        let store = LocalStore::open(place.path()).unwrap().with_replica(Arc::clone(&queue) as _);
        let owned = store.acquire(&thread(), &thread()).unwrap();
        store.append(&owned, b"one\n").unwrap();
        let synced = tokio::spawn(store.sync_later(&owned).unwrap());
        queue.wait_for_changes().await;
        assert_eq!(queue.take().changes.len(), 1);
        assert!(!synced.is_finished(), "the engine does not keep it yet");
        queue.keep();
        synced.await.unwrap().unwrap();
        store.append(&owned, b"two\n").unwrap();
        let synced = tokio::spawn(store.sync_later(&owned).unwrap());
        queue.wait_for_changes().await;
        queue.close();
        synced.await.unwrap().unwrap_err();
        assert_eq!(queue.state().waiting, 0);
        store.release(&owned);
        store.sync_later(&owned).unwrap().await.unwrap_err();
    }

    fn child() -> ThreadId {
        "one-019a0000-0000-7000-8000-000000000002".parse().unwrap()
    }

    fn request() -> String {
        line("step_start", "{}")
    }

    fn answer() -> String {
        line("step_finish", "{}")
    }

    /// A record of a call, whose arguments hold what looks like a record of a request.
    fn call(event: &str) -> String {
        let payload = r#"{"call_id":"1","name":"x","arguments":{"event":"step_start"},"content":null,"is_error":false}"#;
        line(event, payload)
    }

    fn texts(taken: Taken) -> (Vec<String>, bool) {
        let texts = taken.changes.into_iter().map(|change| change.text);
        (texts.collect(), taken.is_before_request)
    }

    /// Another worker goes on without a request that may have been sent.
    #[test]
    fn a_request_begins_a_step_while_nothing_else_is_under_way() {
        let queue = Queue::new(BTreeMap::new());
        queue.append(&thread(), format!("one\n{}", request()).as_bytes()).unwrap();
        assert_eq!(texts(queue.take()), (vec!["one\n".to_owned()], true));
        let taken = queue.take();
        assert!(taken.asks);
        assert_eq!(texts(taken), (vec![request()], false));
        // A child's request is sent beside it, and the tree does not move meanwhile.
        queue.append(&child(), format!("two\n{}", request()).as_bytes()).unwrap();
        assert_eq!(texts(queue.take()), (vec!["two\n".to_owned(), request()], false));
        queue.append(&thread(), (answer() + &request()).as_bytes()).unwrap();
        assert_eq!(texts(queue.take()), (vec![answer(), request()], false));
    }

    /// The answer was paid for, so that it must not be divided from its request and lost.
    #[test]
    fn a_call_whose_arguments_look_like_a_request_is_none() {
        let queue = Queue::new(BTreeMap::new());
        let records = answer() + &call("tool_call_start");
        queue.append(&thread(), records.as_bytes()).unwrap();
        let taken = queue.take();
        assert!(!taken.asks);
        assert_eq!(texts(taken), (vec![records], false));
    }

    /// The call of a child that runs beside its parent would be done again by the worker that takes the tree over.
    #[test]
    fn a_tree_does_not_move_while_a_call_is_under_way() {
        let queue = Queue::new(BTreeMap::new());
        let begins = call("tool_call_start");
        queue.append(&child(), begins.as_bytes()).unwrap();
        queue.append(&thread(), request().as_bytes()).unwrap();
        assert_eq!(texts(queue.take()), (vec![begins, request()], false));
        let ends = call("tool_call_result");
        queue.append(&thread(), (answer() + &request()).as_bytes()).unwrap();
        queue.append(&child(), ends.as_bytes()).unwrap();
        assert_eq!(texts(queue.take()), (vec![answer(), ends], true));
    }

    #[tokio::test]
    async fn a_drained_queue_holds_requests_until_calls_end() {
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        queue.append(&child(), call("tool_call_start").as_bytes()).unwrap();
        assert_eq!(queue.take().changes.len(), 1);
        queue.drain(true);
        queue.append(&thread(), request().as_bytes()).unwrap();
        let syncing = Arc::clone(&queue);
        let synced = spawn_blocking(move || syncing.sync(&thread()));
        let ready = queue.wait_for_changes();
        tokio::pin!(ready);
        assert!(tokio::time::timeout(2 * UNSYNCED, ready.as_mut()).await.is_err());
        assert_eq!(texts(queue.take()), (vec![], false));
        queue.append(&child(), call("tool_call_result").as_bytes()).unwrap();
        ready.await;
        assert_eq!(texts(queue.take()), (vec![call("tool_call_result")], true));
        queue.close();
        synced.await.unwrap().unwrap_err();
    }

    /// A receipt that no sync follows yet outlives the worker, as it outlives the process on one machine.
    #[tokio::test(start_paused = true)]
    async fn written_records_are_taken_before_a_sync() {
        let queue = Queue::new(BTreeMap::new());
        let wait = tokio::time::timeout(2 * UNSYNCED, queue.wait_for_changes());
        assert!(wait.await.is_err(), "there is nothing");
        queue.append(&thread(), b"one\n").unwrap();
        let wait = tokio::time::timeout(2 * UNSYNCED, queue.wait_for_changes());
        wait.await.unwrap();
    }

    /// A thread that this machine knows, and the engine does not, would begin in the middle there.
    #[test]
    fn records_behind_a_gap_are_refused() {
        let queue = Queue::new(BTreeMap::new());
        let error = queue.append(&thread(), b"{\"seq\":5}\n").unwrap_err();
        assert!(error.to_string().contains("would lack records of thread"), "{error}");
        queue.append(&thread(), b"{\"seq\":0}\n").unwrap();
        queue.append(&thread(), b"{\"seq\":1}\n{\"seq\":2}\n").unwrap();
        queue.append(&thread(), b"{\"seq\":4}\n").unwrap_err();
        queue.cut(&thread(), 1_000).unwrap_err();
        queue.append(&thread(), b"{\"seq\":3}\n").unwrap();
    }

    /// A thread that cannot begin records its end in its task, without a wait of its own.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_sync_in_a_task_leaves_the_runtime_its_thread() {
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        let taking = Arc::clone(&queue);
        let taken = tokio::spawn(async move {
            taking.wait_for_changes().await;
            assert_eq!(taking.take().changes.len(), 1);
            taking.keep();
        });
        let synced = tokio::spawn(async move {
            queue.append(&thread(), b"one\n").unwrap();
            queue.sync(&thread()).unwrap();
        });
        synced.await.unwrap();
        taken.await.unwrap();
    }

    #[tokio::test]
    async fn a_closed_queue_stops_its_driver() {
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        queue.append(&thread(), b"one\n").unwrap();
        let syncing = Arc::clone(&queue);
        let synced = spawn_blocking(move || syncing.sync(&thread()));
        queue.wait_for_changes().await;
        queue.close();
        synced.await.unwrap().unwrap_err();
        queue.append(&thread(), b"two\n").unwrap_err();
        queue.cut(&thread(), 0).unwrap_err();
    }

    /// A part of a line may be all that the engine keeps when a worker dies; the whole line comes together again.
    #[test]
    fn a_long_line_takes_several_steps() {
        let extents = BTreeMap::from([(thread().as_str().to_owned(), Extent::of("one\n"))]);
        let queue = Queue::without_waits(extents);
        let line = format!("{}\n", "ä".repeat(STEP_BYTES));
        queue.append(&thread(), line.as_bytes()).unwrap();
        queue.sync(&thread()).unwrap();
        let mut steps = vec![vec![Change {
            thread: thread().as_str().to_owned(),
            at: 0,
            text: "one\n".to_owned(),
        }]];
        loop {
            let step = queue.take().changes;
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
