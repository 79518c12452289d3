//! The drivers of this worker, between two steps of their trees.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anyhow::Context as _;
use rye::SystemClock;
use rye::thread::{Cancel, Clock as _};
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;

use crate::project::Project;
use crate::queue::Queue;
use crate::records::{Advance, End, Step};
use crate::requests::Order;

/// The drivers of this worker.
#[derive(Debug, Default)]
pub struct Drivers {
    /// Those between two steps, by the roots of their trees.
    idle: Arc<Mutex<HashMap<String, Driven>>>,
    /// A lock for each tree that a driver, or an order, writes the files of.
    alone: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

/// The right to write the files of a tree, until the last copy of it is dropped. Work on another system thread has a copy, because it
/// goes on when the handler that began it is given up.
pub type Alone = Arc<OwnedMutexGuard<()>>;

/// The time after which a driver ends whose next step did not come. A later step makes another one from the records.
///
/// It is long enough for a server that comes back, because requests and calls may be under way.
const IDLE: Duration = Duration::from_secs(60);

/// The same between two turns, where nothing is under way and another worker may have the next one.
const IDLE_BETWEEN_TURNS: Duration = Duration::from_secs(5);

impl Drivers {
    /// Keeps a driver for the next step. If another worker gets that step, the driver ends here after a while.
    pub fn keep(&self, root: &str, driven: Driven) {
        let root = root.to_owned();
        let last = driven.last.clone();
        let idle = if driven.is_between_turns { IDLE_BETWEEN_TURNS } else { IDLE };
        lock(&self.idle).insert(root.clone(), driven);
        let drivers = Arc::downgrade(&self.idle);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            let Some(drivers) = drivers.upgrade() else { return };
            let mut drivers = lock(&drivers);
            if drivers.get(&root).is_some_and(|driven| driven.last == last) {
                drivers.remove(&root);
            }
        });
    }

    /// Takes the driver of the tree, if its last step is the last one that the engine keeps.
    ///
    /// Any other driver ends. The engine has steps of another worker instead of its own.
    pub fn take(&self, place: &Place) -> Option<Driven> {
        let driven = self.remove(&place.root)?;
        (driven.next == place.next() && driven.last == place.last).then_some(driven)
    }

    /// Waits until no other driver of this worker writes files of the tree. A dropped driver may do so until it notices.
    pub async fn wait_alone(&self, root: &str) -> Alone {
        let own = {
            let mut alone = lock(&self.alone);
            alone.retain(|_, lock| 0 < lock.strong_count());
            let known = alone.get(root).and_then(Weak::upgrade).unwrap_or_default();
            alone.insert(root.to_owned(), Arc::downgrade(&known));
            known
        };
        Arc::new(own.lock_owned().await)
    }

    /// Removes the driver of a tree.
    pub fn remove(&self, root: &str) -> Option<Driven> {
        lock(&self.idle).remove(root)
    }
}

/// Locks a table. No change of one is made in parts.
fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a step in its tree.
#[derive(Debug, Clone)]
pub struct Place {
    /// The root of the tree, which is the key of the object.
    pub root: String,
    /// The number of steps before this invocation, which the engine keeps.
    pub kept: u64,
    /// The digest of the last step that the engine keeps, which may be one of this invocation.
    pub last: Option<String>,
    /// The steps of this invocation so far, and their length in bytes.
    pub steps: Arc<Vec<Step>>,
    bytes: usize,
}

/// The steps of an invocation, and their bytes, after which the tree is brought to a place where it can move to another worker. A
/// worker that takes a handler over gets all of them.
pub const MOST_STEPS: usize = 64;
const MOST_BYTES: usize = 8 << 20;

impl Place {
    /// Creates the place of the first step of an invocation.
    pub fn new(root: &str, kept: u64, last: Option<String>) -> Self {
        Self { root: root.to_owned(), kept, last, steps: Arc::default(), bytes: 0 }
    }

    /// Returns the number of the next step.
    pub fn next(&self) -> u64 {
        self.kept + self.steps.len() as u64
    }

    /// Returns `true` if the invocation has steps enough.
    pub fn is_full(&self) -> bool {
        MOST_STEPS <= self.steps.len() || MOST_BYTES <= self.bytes
    }

    /// Moves behind a step, which the engine keeps.
    pub fn advance(&mut self, step: Step) {
        self.last = Some(step.digest(self.last.as_deref()));
        self.bytes += step.bytes();
        Arc::make_mut(&mut self.steps).push(step);
    }
}

/// A tree with its driver. Dropping it ends the driver, which the next step makes anew.
#[derive(Debug)]
pub struct Driven {
    /// The number of the step that is next.
    next: u64,
    /// The digest of the step before it.
    last: Option<String>,
    is_between_turns: bool,
    /// The copy whose files it uses.
    pub project: Arc<Project>,
    queue: Arc<Queue>,
    /// Ends the tree as its operator's order does on one machine.
    cancel: Cancel,
    driver: JoinHandle<anyhow::Result<End>>,
    end: Option<anyhow::Result<End>>,
}

/// A driver as an order reaches it.
#[derive(Debug)]
pub struct Remote {
    queue: Arc<Queue>,
    cancel: Cancel,
}

impl Remote {
    /// Ends the tree for a cancel, and otherwise brings it to a place where its turn ends.
    pub fn make_room_for(&self, order: &Order) {
        match order {
            Order::Cancel => self.cancel.cancel(),
            Order::Decide { .. } => self.queue.drain(true),
        }
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.queue.close();
        self.driver.abort();
    }
}

impl Driven {
    /// Creates the value for a driver that rests on the records before `place`.
    pub fn new(
        place: &Place,
        project: Arc<Project>,
        (queue, cancel): (Arc<Queue>, Cancel),
        driver: JoinHandle<anyhow::Result<End>>,
    ) -> Self {
        let last = place.last.clone();
        let next = place.next();
        Self { next, last, is_between_turns: false, project, queue, cancel, driver, end: None }
    }

    /// Returns the means by which an order reaches the driver while a step runs.
    pub fn remote(&self) -> Remote {
        Remote { queue: Arc::clone(&self.queue), cancel: self.cancel.clone() }
    }

    /// Lets the driver go on to its next step, because the engine keeps all steps before it.
    pub async fn advance(&mut self, place: &Place) -> anyhow::Result<Advance> {
        // An order that waits drains the queue, too, until the turn ends.
        if place.steps.is_empty() || place.is_full() {
            self.queue.drain(!place.steps.is_empty());
        }
        self.queue.keep();
        if self.end.is_none() {
            tokio::select! {
                () = wait_for_changes(&self.queue) => {}
                ended = &mut self.driver => {
                    self.end = Some(ended.context("the driver failed").flatten());
                }
            }
        }
        let taken = self.queue.take();
        // An end follows the last change, and so does a failure: what was paid for and done before it is kept.
        let end = if taken.changes.is_empty() { self.end.take().transpose()? } else { None };
        let step = Step { changes: taken.changes, end, ..Step::default() };
        self.next += 1;
        self.last = Some(step.digest(self.last.as_deref()));
        self.is_between_turns = taken.is_before_request;
        Ok(Advance {
            step,
            millis: SystemClock::new().now().as_unix_millis(),
            asks: taken.asks,
            is_before_request: taken.is_before_request,
            bundle: None,
        })
    }
}

/// The longest time for which requests are held back. What is under way may wait for them in a way that no record tells of.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

async fn wait_for_changes(queue: &Queue) {
    if tokio::time::timeout(LONGEST_DRAIN, queue.wait_for_changes()).await.is_err() {
        queue.drain(false);
        queue.wait_for_changes().await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use rye::thread::ThreadId;
    use rye::thread::store::Replica as _;

    use super::*;

    const ROOT: &str = "count-019a0000-0000-7000-8000-000000000001";

    fn root() -> ThreadId {
        ROOT.parse().unwrap()
    }

    /// A project and a user space with a key.
    fn project(folder: &Path) -> Arc<Project> {
        let keys = folder.join(".ai/config/keys/signing");
        fs::create_dir_all(&keys).unwrap();
        let key = rye::sign::SigningKey::generate().unwrap();
        let pem = key.to_pkcs8_pem();
        fs::write(keys.join("private_key.pem"), pem.as_str()).unwrap();
        Arc::new(Project::open(folder, folder, &[], &folder.join("cache")).unwrap())
    }

    fn new_driver(project: &Arc<Project>, place: &Place) -> Driven {
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        let driver = tokio::spawn(std::future::pending());
        Driven::new(place, Arc::clone(project), (queue, Cancel::new()), driver)
    }

    /// A tree went on with another worker: nothing of it stays here.
    #[tokio::test(start_paused = true)]
    async fn a_driver_whose_next_step_does_not_come_ends() {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        let drivers = Drivers::default();
        let is_kept = || lock(&drivers.idle).contains_key(ROOT);
        for (is_between_turns, idle) in [(false, IDLE), (true, IDLE_BETWEEN_TURNS)] {
            let half = idle / 2 + Duration::from_secs(1);
            let mut place = Place::new(ROOT, 1, None);
            let mut driven = new_driver(&project, &place);
            driven.is_between_turns = is_between_turns;
            drivers.keep(ROOT, driven);
            tokio::time::sleep(half).await;
            assert!(is_kept(), "its step may still come");
            drop(drivers.take(&place).unwrap());
            place.advance(Step::default());
            let mut next = new_driver(&project, &place);
            next.is_between_turns = is_between_turns;
            let queue = Arc::clone(&next.queue);
            drivers.keep(ROOT, next);
            tokio::time::sleep(half).await;
            assert!(is_kept(), "the time of the step before does not count");
            tokio::time::sleep(half).await;
            assert!(!is_kept());
            queue.cut(&root(), 0).unwrap_err();
        }
    }

    /// The files of a tree are written anew only after the last driver let go of them.
    #[tokio::test(start_paused = true)]
    async fn one_driver_at_a_time_writes_the_files_of_a_tree() {
        let drivers = Drivers::default();
        let first = drivers.wait_alone(ROOT).await;
        let wait = Duration::from_secs(1);
        assert!(tokio::time::timeout(wait, drivers.wait_alone(ROOT)).await.is_err());
        drop(tokio::time::timeout(wait, drivers.wait_alone("another")).await.unwrap());
        drop(first);
        drop(tokio::time::timeout(wait, drivers.wait_alone(ROOT)).await.unwrap());
        drop(drivers.wait_alone("another").await);
        assert_eq!(lock(&drivers.alone).len(), 1, "ended trees leave nothing");
    }

    /// The engine may have a step of another worker in the place of the last one of this worker.
    #[tokio::test]
    async fn a_driver_whose_last_step_is_not_kept_ends() {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        let drivers = Drivers::default();
        let place = Place::new(ROOT, 1, None);
        let mut driven = new_driver(&project, &place);
        let queue = Arc::clone(&driven.queue);
        queue.append(&root(), b"here\n").unwrap();
        let own = driven.advance(&place).await.unwrap().step;
        drivers.keep(ROOT, driven);
        let mut elsewhere = place.clone();
        let mut other = own.clone();
        other.changes[0].text = "elsewhere\n".to_owned();
        elsewhere.advance(other);
        assert_eq!(elsewhere.next(), 2);
        assert!(drivers.take(&elsewhere).is_none());
        queue.append(&root(), b"more\n").unwrap_err();

        let mut kept = place.clone();
        kept.advance(own.clone());
        let mut driven = new_driver(&project, &place);
        driven.queue.append(&root(), b"here\n").unwrap();
        assert_eq!(driven.advance(&place).await.unwrap().step, own);
        drivers.keep(ROOT, driven);
        assert!(drivers.take(&kept).is_some());
    }
}
