//! The thread trees that this process owns, in one table for all stores of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::StoreError;
use super::lock::{Lock, Sharing, identity, lock_error};
use super::owner::Owner;
use super::request::Inbox;
use crate::durability::run_on_pool;
use crate::{ThreadId, TreeAccount};

/// The ownership of one thread tree. It may be shared within the process, and the lock is held until the last share is
/// dropped.
pub struct TreeOwnership {
    key: Key,
    tree: Arc<OwnedTree>,
}

/// The result of one attempt to own a tree.
enum Attempt<T> {
    Owned(T),
    /// Another process holds the lock.
    Held,
    /// Programs still run that tools of a killed process started.
    ToolsRun,
}

/// The key of a tree: the device and the inode of the folder of all threads, and the root.
type Key = (u64, u64, ThreadId);

/// A tree that this process owns.
pub(super) struct OwnedTree {
    lock: Lock,
    pub(super) owner: Owner,
    pub(super) root: ThreadId,
    /// The folder of all threads.
    pub(super) threads: PathBuf,
    /// The threads to which this process appends.
    driven_threads: Mutex<BTreeSet<ThreadId>>,
    inboxes: Mutex<Vec<Weak<dyn Inbox>>>,
    /// Held while threads are changed without being driven.
    changing: Mutex<()>,
    account: Arc<TreeAccount>,
}

struct Entry {
    tree: Arc<OwnedTree>,
    /// The number of ownerships of the tree.
    shares: usize,
}

static TREES: Mutex<BTreeMap<Key, Entry>> = Mutex::new(BTreeMap::new());

/// Locks the table. A panic leaves no partial change.
fn trees() -> MutexGuard<'static, BTreeMap<Key, Entry>> {
    TREES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns all trees that this process owns.
pub(super) fn owned_trees() -> Vec<Arc<OwnedTree>> {
    trees().values().map(|entry| Arc::clone(&entry.tree)).collect()
}

impl TreeOwnership {
    /// Acquires the tree of `root` below the folder of all threads, or shares it if this process owns it already.
    ///
    /// If another process holds the lock, it is tried again until `patience` is over, because a reader holds it for a
    /// moment.
    pub(super) fn take(
        threads: &Path,
        root: &ThreadId,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let began = Instant::now();
        loop {
            let attempt = match Self::try_take(threads, root)? {
                Attempt::Owned(ownership) => return Ok(ownership),
                attempt => attempt,
            };
            let waited = began.elapsed();
            if let Some(error) = Self::refusal(&attempt, threads, root, (patience, waited)) {
                return Err(error);
            }
            #[expect(clippy::disallowed_methods, reason = "`take_unblocked` is for async code")]
            std::thread::sleep(PAUSE);
        }
    }

    /// Acquires the tree like [`TreeOwnership::take`], and lets other tasks run while it waits.
    pub(super) async fn take_unblocked(
        threads: &Path,
        root: &ThreadId,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        if let Attempt::Owned(ownership) = Self::try_take(threads, root)? {
            return Ok(ownership);
        }
        let threads = threads.to_owned();
        let root = root.clone();
        run_on_pool(move || Self::take(&threads, &root, patience)).await
    }

    /// Returns the reason for giving up, once the patience of the caller is over.
    fn refusal(
        attempt: &Attempt<Self>,
        threads: &Path,
        root: &ThreadId,
        (patience, waited): (Duration, Duration),
    ) -> Option<StoreError> {
        let folder = threads.join(root.as_str());
        let root = root.clone();
        match attempt {
            Attempt::Held if patience <= waited => {
                let owner = Owner::read(&folder).unwrap_or_else(Owner::unknown);
                Some(StoreError::Held { thread: root, owner })
            }
            Attempt::ToolsRun if TOOLS_PATIENCE <= waited => {
                Some(StoreError::ToolsRun { root, path: folder.join(TOOLS_LOCK) })
            }
            _ => None,
        }
    }

    fn try_take(threads: &Path, root: &ThreadId) -> Result<Attempt<Self>, StoreError> {
        let found = fs::metadata(threads).map_err(|source| lock_error(threads, source))?;
        let (device, inode) = identity(&found);
        let key = (device, inode, root.clone());
        let mut trees = trees();
        if let Some(entry) = trees.get_mut(&key) {
            entry.shares += 1;
            return Ok(Attempt::Owned(Self { key, tree: Arc::clone(&entry.tree) }));
        }
        if trees.len() == FEW {
            raise_file_limit();
        }
        let tree = match OwnedTree::lock(threads, root)? {
            Attempt::Owned(tree) => Arc::new(tree),
            Attempt::Held => return Ok(Attempt::Held),
            Attempt::ToolsRun => return Ok(Attempt::ToolsRun),
        };
        trees.insert(key.clone(), Entry { tree: Arc::clone(&tree), shares: 1 });
        Ok(Attempt::Owned(Self { key, tree }))
    }

    /// Sends requests of other processes about threads of the tree to `inbox`, for as long as the inbox lives.
    pub fn receive(&self, inbox: &Arc<dyn Inbox>) {
        let mut inboxes = self.tree.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|known| 0 < known.strong_count());
        inboxes.push(Arc::downgrade(inbox));
    }

    /// Returns the root of the tree.
    #[must_use]
    pub fn root(&self) -> &ThreadId {
        &self.tree.root
    }

    /// Locks out other callers of this process that change threads of the tree without driving them.
    pub fn change(&self) -> MutexGuard<'_, ()> {
        self.tree.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the account of the tree, in the memory of this process.
    #[must_use]
    pub fn account(&self) -> &Arc<TreeAccount> {
        &self.tree.account
    }

    /// Adds an account that was folded from transcripts.
    ///
    /// Threads to which this process appends are left out, because their journals keep their accounts.
    pub fn take_account(&self, folded: TreeAccount) {
        let driven = self.tree.driven_threads();
        self.tree.account.extend(folded, |thread| !driven.contains(thread));
    }

    /// Returns `true` while this process appends to a thread of the tree.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        !self.tree.driven_threads().is_empty()
    }

    /// Marks a thread of the tree as appended to. Returns `false` if it is marked already.
    pub(super) fn begin(&self, thread: &ThreadId) -> bool {
        self.tree.driven_threads().insert(thread.clone())
    }

    pub(super) fn end(&self, thread: &ThreadId) {
        self.tree.driven_threads().remove(thread);
    }

    /// Returns the name of this process.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.tree.owner
    }

    /// Checks that the lock file was not replaced.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self.tree.lock.is_in_place() {
            true => Ok(()),
            false => Err(StoreError::LockReplaced { path: self.tree.lock.path().to_owned() }),
        }
    }
}

impl fmt::Debug for TreeOwnership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TreeOwnership").field(&self.tree.root).finish()
    }
}

impl Drop for TreeOwnership {
    fn drop(&mut self) {
        let mut trees = trees();
        let Some(entry) = trees.get_mut(&self.key) else { return };
        entry.shares -= 1;
        if entry.shares == 0 {
            // If the lock was lost, the name belongs to the next owner and stays.
            if self.tree.lock.is_in_place() {
                self.tree.owner.remove(&self.tree.threads.join(self.tree.root.as_str()));
            }
            self.tree.lock.unlock();
            trees.remove(&self.key);
        }
    }
}

impl OwnedTree {
    /// Locks the tree, unless another process has it or tools of a killed process still run.
    fn lock(threads: &Path, root: &ThreadId) -> Result<Attempt<Self>, StoreError> {
        let folder = threads.join(root.as_str());
        make_folder(&folder)?;
        let Some(lock) = Lock::take(&folder.join("lock"))? else { return Ok(Attempt::Held) };
        if Lock::is_held_against(&folder.join(TOOLS_LOCK), Sharing::Exclusive)? {
            return Ok(Attempt::ToolsRun);
        }
        let owner = Owner::new();
        owner.write(&folder).map_err(|source| lock_error(&folder, source))?;
        Ok(Attempt::Owned(Self {
            lock,
            owner,
            root: root.clone(),
            threads: threads.to_owned(),
            driven_threads: Mutex::default(),
            inboxes: Mutex::default(),
            changing: Mutex::default(),
            account: Arc::default(),
        }))
    }

    fn driven_threads(&self) -> MutexGuard<'_, BTreeSet<ThreadId>> {
        self.driven_threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` while this process owns the tree by this acquisition, and not by a later one.
    pub(super) fn is_owned(&self) -> bool {
        trees().values().any(|entry| entry.tree.owner.instance == self.owner.instance)
    }

    /// Returns the inboxes that still live.
    pub(super) fn inboxes(&self) -> Vec<Arc<dyn Inbox>> {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Creates the folder of a missing root, and refuses a link in its place. The root of a child is missing if only the
/// child's folder was copied.
fn make_folder(folder: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_symlink() => Err(StoreError::Linked { path: folder.to_owned() }),
        Ok(_) => Ok(()),
        Err(_) => fs::create_dir(folder).map_err(|source| lock_error(folder, source)),
    }
}

/// The lock that supervisors of tools share, in the folder of the root.
const TOOLS_LOCK: &str = "tools.lock";

/// The wait for tools. When its caller dies, a supervisor asks the programs to end, and kills them two seconds later.
const TOOLS_PATIENCE: Duration = Duration::from_secs(10);

/// The pause between two attempts to lock.
const PAUSE: Duration = Duration::from_millis(10);

/// The number of trees from which the limit of open files may be reached. Many systems set it to 1,024.
const FEW: usize = 64;

/// Raises the soft limit of open files to the hard limit, because each tree takes a descriptor. If the system refuses,
/// the error that follows names the limit.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let _refused =
        setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}

#[cfg(not(unix))]
fn raise_file_limit() {}
