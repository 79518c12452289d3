//! The thread trees that this process owns: one table, whatever the number of stores in the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::lock::{Lock, Sharing, failed, identity};
use super::owner::Owner;
use super::request::Inbox;
use super::{StoreError, watch};
use crate::{ThreadId, TreeAccount};

/// The ownership of one thread tree, which may be shared within the process. The lock is held until the last one is dropped.
pub struct TreeOwnership {
    key: Key,
    tree: Arc<OwnedTree>,
}

/// One attempt to own a tree.
enum Attempt<T> {
    Owned(T),
    /// Another process holds the lock.
    Held,
    /// Programs still run that tools of a killed process started.
    ToolsRun,
}

/// A tree is known by the folder of all threads, whatever its path, and its root.
type Key = (u64, u64, ThreadId);

/// A tree that this process owns.
pub(super) struct OwnedTree {
    lock: Lock,
    pub(super) owner: Owner,
    pub(super) root: ThreadId,
    /// The folder of all threads.
    pub(super) threads: PathBuf,
    /// The threads whose transcripts are appended to.
    appended: Mutex<BTreeSet<ThreadId>>,
    inboxes: Mutex<Vec<Weak<dyn Inbox>>>,
    /// Held while threads are changed that are not driven.
    changing: Mutex<()>,
    account: Arc<TreeAccount>,
}

struct Entry {
    tree: Arc<OwnedTree>,
    /// How many ownerships of it there are.
    shares: usize,
}

static TREES: Mutex<BTreeMap<Key, Entry>> = Mutex::new(BTreeMap::new());

/// A panic elsewhere leaves no half of a change behind.
fn trees() -> MutexGuard<'static, BTreeMap<Key, Entry>> {
    TREES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All trees that this process owns.
pub(super) fn owned() -> Vec<Arc<OwnedTree>> {
    trees().values().map(|entry| Arc::clone(&entry.tree)).collect()
}

impl TreeOwnership {
    /// Owns the tree of `root` below the folder of all threads, or joins the owner where that is this process already. A lock that
    /// another process holds is tried again for as long as `patience` lasts, because a reader holds it for a moment.
    pub(super) fn take(
        threads: &Path,
        root: &ThreadId,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        let began = Instant::now();
        loop {
            match Self::try_take(threads, root)? {
                Attempt::Owned(ownership) => return Ok(ownership),
                Attempt::Held if patience <= began.elapsed() => {
                    let thread = root.clone();
                    let owner = Owner::read(&threads.join(root.as_str()));
                    let owner = owner.unwrap_or_else(Owner::unknown);
                    return Err(StoreError::Held { thread, owner });
                }
                Attempt::ToolsRun if TOOLS_PATIENCE <= began.elapsed() => {
                    let path = threads.join(root.as_str()).join(TOOLS_LOCK);
                    return Err(StoreError::ToolsRun { root: root.clone(), path });
                }
                Attempt::Held | Attempt::ToolsRun => std::thread::sleep(PAUSE),
            }
        }
    }

    fn try_take(threads: &Path, root: &ThreadId) -> Result<Attempt<Self>, StoreError> {
        let found = fs::metadata(threads).map_err(|source| failed(threads, source))?;
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
        drop(trees);
        watch::start();
        Ok(Attempt::Owned(Self { key, tree }))
    }

    /// Has requests of other processes about threads of the tree go to `inbox`, for as long as that is there.
    pub fn receive(&self, inbox: &Arc<dyn Inbox>) {
        let mut inboxes = self.tree.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|known| 0 < known.strong_count());
        inboxes.push(Arc::downgrade(inbox));
    }

    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> &ThreadId {
        &self.tree.root
    }

    /// Keeps other callers of this process away that change threads of the tree without driving them.
    pub fn change(&self) -> MutexGuard<'_, ()> {
        self.tree.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of the tree, in the memory of this process.
    #[must_use]
    pub fn account(&self) -> &Arc<TreeAccount> {
        &self.tree.account
    }

    /// Takes over an account that was folded from transcripts. Each journal keeps the account of its own thread, so that threads are
    /// left out that this process appends to.
    pub fn take_account(&self, folded: TreeAccount) {
        let driven = self.tree.appended();
        self.tree.account.extend(folded, |thread| !driven.contains(thread));
    }

    /// Returns `true` while this process appends to a thread of the tree.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        !self.tree.appended().is_empty()
    }

    /// Begins to append to a thread of the tree; `false` where that is done already.
    pub(super) fn begin(&self, thread: &ThreadId) -> bool {
        self.tree.appended().insert(thread.clone())
    }

    pub(super) fn end(&self, thread: &ThreadId) {
        self.tree.appended().remove(thread);
    }

    /// The name of this process.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.tree.owner
    }

    /// Fails where another file stands in the place of the lock.
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
            // A process that lost its lock leaves the name of the next owner alone.
            if self.tree.lock.is_in_place() {
                self.tree.owner.remove(&self.tree.threads.join(self.tree.root.as_str()));
            }
            self.tree.lock.unlock();
            trees.remove(&self.key);
        }
    }
}

impl OwnedTree {
    /// Locks the tree, unless another process has it, or tools of one that was killed still run.
    fn lock(threads: &Path, root: &ThreadId) -> Result<Attempt<Self>, StoreError> {
        let folder = threads.join(root.as_str());
        make_folder(&folder)?;
        let Some(lock) = Lock::take(&folder.join("lock"))? else { return Ok(Attempt::Held) };
        if Lock::is_held_against(&folder.join(TOOLS_LOCK), Sharing::Exclusive)? {
            return Ok(Attempt::ToolsRun);
        }
        let owner = Owner::new();
        owner.write(&folder).map_err(|source| failed(&folder, source))?;
        Ok(Attempt::Owned(Self {
            lock,
            owner,
            root: root.clone(),
            threads: threads.to_owned(),
            appended: Mutex::default(),
            inboxes: Mutex::default(),
            changing: Mutex::default(),
            account: Arc::default(),
        }))
    }

    fn appended(&self) -> MutexGuard<'_, BTreeSet<ThreadId>> {
        self.appended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` while this process owns the tree by this very acquisition, and not by a later one.
    pub(super) fn is_owned(&self) -> bool {
        trees().values().any(|entry| entry.tree.owner.instance == self.owner.instance)
    }

    /// The inboxes that are still there.
    pub(super) fn inboxes(&self) -> Vec<Arc<dyn Inbox>> {
        let inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().filter_map(Weak::upgrade).collect()
    }
}

/// Makes the folder of a root that is gone, such as of a child whose parents were not copied along, and refuses a link in its place.
fn make_folder(folder: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_symlink() => Err(StoreError::Linked { path: folder.to_owned() }),
        Ok(_) => Ok(()),
        Err(_) => fs::create_dir(folder).map_err(|source| failed(folder, source)),
    }
}

/// The lock that supervisors of tools share, in the folder of the root.
const TOOLS_LOCK: &str = "tools.lock";

/// A supervisor asks programs to end when it sees that its caller died, and ends them two seconds later.
const TOOLS_PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait before a lock is tried again.
const PAUSE: Duration = Duration::from_millis(10);

/// With more trees than this the process may come to its limit of open files, which many systems set to 1,024.
const FEW: usize = 64;

/// Raises the soft limit of open files to the hard one, because each tree takes a descriptor. Where the system refuses, the error that
/// follows names the limit.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let _refused =
        setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
}

#[cfg(not(unix))]
fn raise_file_limit() {}
