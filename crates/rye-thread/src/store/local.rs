//! The store of a project: each transcript is in the folder of its thread.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rye_sign::SigningKey;
use rye_types::Moment;

use super::files::Files;
use super::lock::Lock;
use super::request::{PostedRequest, ThreadRequest};
use super::trees::TreeOwnership;
use super::{Owner, Ownership, Replica, Store, StoreError, StoreSync, file_system, watch};
use crate::database::{self, Database, DatabaseError};
use crate::registry::Reindexed;
use crate::{Registry, RegistryError, ThreadId, TreeAccount};

/// Threads below one folder of one machine, shared by any number of processes there.
///
/// Only the process that owns a thread's tree appends to the thread. The kernel releases the lock of a process that
/// dies, so nothing needs recovery.
pub struct LocalStore {
    database: Arc<Mutex<Database>>,
    files: Files,
    threads: PathBuf,
    owned: Mutex<BTreeMap<ThreadId, Owned>>,
    replica: Option<Arc<dyn Replica>>,
}

/// A thread to which this process appends.
struct Owned {
    number: u64,
    tree: TreeOwnership,
}

/// Facts that the operator declares about the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreOptions {
    /// `true` if only this machine uses the folder, although other machines can reach its file system.
    pub is_single_host: bool,
}

impl StoreOptions {
    /// Declares that only this machine uses the folder.
    #[must_use]
    pub const fn single_host(is_single_host: bool) -> Self {
        Self { is_single_host }
    }
}

impl LocalStore {
    /// Opens the folder of all threads, which is made where it is missing. Its `registry.db` is written anew where it is damaged or of
    /// another version, and gets a row for each thread that it lacks.
    ///
    /// # Errors
    ///
    /// When the folder or its `registry.db` cannot be used; when file locks do not work there, and while a
    /// process of an older format uses the folder.
    pub fn open(threads: &Path) -> Result<Self, StoreError> {
        Self::open_with(threads, StoreOptions::default())
    }

    /// Opens the folder of all threads with the operator's declarations.
    ///
    /// # Errors
    ///
    /// As [`LocalStore::open`].
    pub fn open_with(threads: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let failed = |source| StoreError::File { path: threads.to_owned(), source };
        fs::create_dir_all(threads).map_err(failed)?;
        file_system::check(threads, options.is_single_host)?;
        refuse_old_format(threads)?;
        let database = Database::open(&threads.join("registry.db"))?;
        let database = Arc::new(Mutex::new(database));
        Registry::new(&database).complete(threads)?;
        Ok(Self {
            database,
            files: Files::new(threads),
            threads: threads.to_owned(),
            owned: Mutex::default(),
            replica: None,
        })
    }

    /// Passes on each change of a transcript to a place beyond this machine, and has a sync wait for that place.
    #[must_use]
    pub fn with_replica(mut self, replica: Arc<dyn Replica>) -> Self {
        self.replica = Some(replica);
        self
    }

    /// Returns the list of these threads, over the same connection. So neither must read again what the other writes.
    #[must_use]
    pub fn registry(&self) -> Registry {
        Registry::new(&self.database)
    }

    /// Writes `registry.db` anew from the first and the last records of all threads, in one transaction.
    ///
    /// # Errors
    ///
    /// When the database cannot be written; then it holds all that it held before.
    pub fn reindex(&self) -> Result<Reindexed, StoreError> {
        Ok(self.registry().rebuild(&self.threads)?)
    }

    /// Acquires the tree of `root`, or shares it if this process owns it already.
    ///
    /// The tree stays owned until this value and every [`Ownership`] of its threads are dropped.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] while another process owns it.
    pub fn own(&self, root: &ThreadId) -> Result<TreeOwnership, StoreError> {
        TreeOwnership::take(&self.threads, root, PATIENCE).inspect(|_| watch::start())
    }

    /// Acquires the tree like [`LocalStore::own`], and lets other tasks of the runtime run while it waits.
    ///
    /// # Errors
    ///
    /// As [`LocalStore::own`].
    pub async fn own_unblocked(&self, root: &ThreadId) -> Result<TreeOwnership, StoreError> {
        let taken = TreeOwnership::take_unblocked(&self.threads, root, PATIENCE).await;
        taken.inspect(|_| watch::start())
    }

    /// Acquires the tree like [`LocalStore::own`], without waiting.
    ///
    /// # Errors
    ///
    /// As [`LocalStore::own`].
    pub fn own_now(&self, root: &ThreadId) -> Result<TreeOwnership, StoreError> {
        TreeOwnership::take(&self.threads, root, Duration::ZERO).inspect(|_| watch::start())
    }

    /// Returns the process that owns the tree of `root`, if any.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the lock cannot be read.
    pub fn owner(&self, root: &ThreadId) -> Result<Option<Owner>, StoreError> {
        super::StoreView::owner(&self.threads, root)
    }

    /// Asks the owner of the tree of `root` for a change. Dropping the returned value removes the request.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the request cannot be written.
    pub fn request(
        &self,
        root: &ThreadId,
        owner: &Owner,
        request: &ThreadRequest,
        key: Option<&SigningKey>,
        now: Moment,
    ) -> Result<PostedRequest, StoreError> {
        PostedRequest::post(&self.threads, root, owner, request, key, now)
    }

    /// Removes the rows of these threads from the list.
    ///
    /// The caller must own their tree, so that no other process starts to drive one of them meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the database fails. Then its content is unchanged.
    pub fn forget(&self, threads: &[ThreadId]) -> Result<(), StoreError> {
        self.database().write(|connection| {
            for thread in threads {
                database::execute(connection, FORGET, [thread.as_str()])?;
            }
            Ok(())
        })
    }

    /// Locks the database. A panic leaves no partial change, because an unfinished transaction is rolled back.
    fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the replica take a change; `None` without a replica.
    fn pass_on(
        &self,
        thread: &ThreadId,
        take: impl FnOnce(&dyn Replica) -> io::Result<()>,
    ) -> Option<Result<(), StoreError>> {
        let taken = take(self.replica.as_deref()?);
        Some(taken.map_err(|source| StoreError::Replica { thread: thread.clone(), source }))
    }

    fn owned_threads(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Owned>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The time for which acquiring a tree is tried.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of the last ownership of this process.
static LAST: AtomicU64 = AtomicU64::new(0);

impl Store for LocalStore {
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError> {
        let tree = self.own(root).map_err(|error| match error {
            StoreError::Held { owner, .. } => StoreError::Held { thread: thread.clone(), owner },
            error => error,
        })?;
        if !tree.begin(thread) {
            let thread = thread.clone();
            let owner = tree.owner().clone();
            return Err(StoreError::Held { thread, owner });
        }
        // An open file may belong to a removed folder.
        self.files.close(thread);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        self.owned_threads().insert(thread.clone(), Owned { number, tree });
        Ok(Ownership::new(thread.clone(), root.clone(), number))
    }

    fn release(&self, ownership: &Ownership) {
        let thread = ownership.thread();
        let mut owned = self.owned_threads();
        if owned.get(thread).is_some_and(|owned| owned.number == ownership.number()) {
            self.files.close(thread);
            let released = owned.remove(thread);
            released.inspect(|owned| owned.tree.end(thread));
        }
    }

    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError> {
        self.check(ownership)?;
        let owned = self.owned_threads();
        let tree = owned.get(ownership.thread()).map(|owned| Arc::clone(owned.tree.account()));
        tree.ok_or_else(|| StoreError::NotOwned { thread: ownership.thread().clone() })
    }

    fn check(&self, ownership: &Ownership) -> Result<(), StoreError> {
        let owned = self.owned_threads();
        match owned.get(ownership.thread()) {
            Some(owned) if owned.number == ownership.number() => owned.tree.check(),
            _ => Err(StoreError::NotOwned { thread: ownership.thread().clone() }),
        }
    }

    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError> {
        self.check(ownership)?;
        let thread = ownership.thread();
        self.files.append(thread, lines)?;
        self.pass_on(thread, |replica| replica.append(thread, lines)).unwrap_or(Ok(()))
    }

    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError> {
        self.check(ownership)?;
        let thread = ownership.thread();
        let synced = self.pass_on(thread, |replica| replica.sync(thread));
        synced.unwrap_or_else(|| self.files.sync(thread))
    }

    fn sync_later(&self, ownership: &Ownership) -> Option<StoreSync> {
        let thread = ownership.thread().clone();
        let synced = Arc::clone(self.replica.as_ref()?).sync_later(&thread)?;
        let checked = self.check(ownership);
        Some(Box::pin(async move {
            checked?;
            synced.await.map_err(|source| StoreError::Replica { thread, source })
        }))
    }

    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError> {
        self.check(ownership)?;
        let thread = ownership.thread();
        self.files.cut(thread, length)?;
        self.pass_on(thread, |replica| replica.cut(thread, length)).unwrap_or(Ok(()))
    }

    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError> {
        self.files.read(thread)
    }
}

/// Refuses a folder while a process with the lease format uses it. Such a process has locked a file `owner-` with two
/// numbers there.
fn refuse_old_format(threads: &Path) -> Result<(), StoreError> {
    let entries = fs::read_dir(threads).into_iter().flatten().flatten();
    let is_old = |name: &str| {
        let numbers = name.strip_prefix("owner-").and_then(|numbers| numbers.split_once('-'));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
    };
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_old)) {
        let path = entry.path();
        if Lock::is_held(&path).unwrap_or_default() {
            return Err(StoreError::OldFormat { path });
        }
    }
    Ok(())
}

const FORGET: &str = "DELETE FROM thread WHERE id = ?1";

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database { source: crate::database::reason(error) }
    }
}

impl From<RegistryError> for StoreError {
    fn from(error: RegistryError) -> Self {
        Self::Database { source: Box::new(error) }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Database { source: Box::new(error) }
    }
}
