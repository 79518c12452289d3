//! The transcripts of threads, and the right to append to them.
//!
//! A process that drives a thread owns the whole tree of that thread. So two processes never append to the same
//! transcript. Within the process, each thread has one [`Ownership`] at a time.
//!
//! ```
//! use rye_thread::ThreadId;
//! use rye_thread::store::{MemoryStore, Store, StoreError};
//!
//! let thread = ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000000")?;
//! let store = MemoryStore::new();
//! let first = store.acquire(&thread, &thread)?;
//! store.append(&first, b"{}\n")?;
//! assert!(matches!(store.acquire(&thread, &thread), Err(StoreError::Held { .. })));
//!
//! store.release(&first);
//! let second = store.acquire(&thread, &thread)?;
//! assert_eq!(store.journal(&thread)?, b"{}\n");
//! assert!(matches!(store.append(&first, b"{}\n"), Err(StoreError::NotOwned { .. })));
//! # store.release(&second);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod file_system;
mod files;
mod local;
mod lock;
mod memory;
mod owner;
mod replica;
mod request;
mod trees;
mod view;
mod watch;

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

pub use self::file_system::shared_file_system;
pub use self::local::{LocalStore, StoreOptions};
pub use self::memory::MemoryStore;
pub use self::owner::Owner;
pub(crate) use self::owner::has_other_names;
pub use self::replica::{Replica, ReplicaSync};
pub use self::request::{Inbox, PostedRequest, ReceivedRequest, RequestedAction, ThreadRequest};
pub use self::trees::TreeOwnership;
pub use self::view::StoreView;
use crate::{ThreadId, TreeAccount};

/// The future of [`Store::sync_later`].
pub type StoreSync = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// A store of transcripts, with the right to append to them and the account of each tree.
///
/// Every method is atomic, also against other processes that use the same store. The feature `conformance` offers
/// checks for a new implementation in `store::conformance`.
pub trait Store: Send + Sync {
    /// Acquires the right to append to the transcript of `thread`, which belongs to the tree of `root`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] while another process owns the tree, or while this process already appends to the thread.
    fn acquire(&self, thread: &ThreadId, root: &ThreadId) -> Result<Ownership, StoreError>;

    /// Releases the right. A second release does nothing.
    fn release(&self, ownership: &Ownership);

    /// Returns the account of the tree of an owned thread. It is the same value for as long as the process owns the
    /// tree.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotOwned`] for a released ownership.
    fn account(&self, ownership: &Ownership) -> Result<Arc<TreeAccount>, StoreError>;

    /// Checks that this process may still append.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotOwned`] for a released ownership. [`StoreError::LockReplaced`] if the lock of the tree is not
    /// the one that this process locked.
    fn check(&self, ownership: &Ownership) -> Result<(), StoreError>;

    /// Appends whole lines to the thread's transcript. They are durable after [`Store::sync`].
    ///
    /// Without lines, it creates a missing transcript.
    ///
    /// # Errors
    ///
    /// As [`Store::check`]. Then nothing is written.
    fn append(&self, ownership: &Ownership, lines: &[u8]) -> Result<(), StoreError>;

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    ///
    /// As [`Store::check`], which runs first.
    fn sync(&self, ownership: &Ownership) -> Result<(), StoreError>;

    /// Does the same as [`Store::sync`] in a future, which holds no system thread while it waits; `None` for a store
    /// that waits for a disk.
    fn sync_later(&self, ownership: &Ownership) -> Option<StoreSync> {
        let _ = ownership;
        None
    }

    /// Truncates the transcript to its first `length` bytes, for example to remove an incomplete record at its end.
    ///
    /// # Errors
    ///
    /// As [`Store::append`].
    fn cut(&self, ownership: &Ownership, length: u64) -> Result<(), StoreError>;

    /// Returns all bytes of the thread's transcript, or none without a transcript.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store fails.
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError>;
}

/// The right to append to the transcript of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a tree stays owned until each ownership of it is released"]
pub struct Ownership {
    thread: ThreadId,
    root: ThreadId,
    number: u64,
}

impl Ownership {
    /// Creates an ownership, for a store. Its number is unique within the process.
    pub const fn new(thread: ThreadId, root: ThreadId, number: u64) -> Self {
        Self { thread, root, number }
    }

    /// Returns the thread.
    #[must_use]
    pub const fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the root of the thread's tree.
    #[must_use]
    pub const fn root(&self) -> &ThreadId {
        &self.root
    }

    /// Returns the number that identifies the ownership within the process.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }
}

/// The reason why an operation of a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database failed.
    #[error("cannot use the store of threads; check the disk and the permissions of `registry.db`")]
    Database {
        /// The error of the database.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file of a thread, or its lock, failed.
    #[error("cannot use `{}`; check the disk and the permissions of its folder", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process owns the tree, or this process already appends to the thread.
    #[error("thread `{thread}` is driven by {owner}; wait for its end, or `rye cancel {thread}`")]
    Held {
        /// The thread.
        thread: ThreadId,
        /// The owner of its tree.
        owner: Owner,
    },
    /// A file of the store is a link, which would lead to another place.
    #[error("`{}` is a link, through which no thread is recorded; put a file of its own in its place", .path.display())]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// The lock of the tree was removed or replaced while this process owned it.
    #[error(
        "`{}` is not the file that this process locked, so that another process may own the thread tree; the thread stops, and `rye \
         resume` continues it", .path.display()
    )]
    LockReplaced {
        /// The lock.
        path: PathBuf,
    },
    /// The file system has no locks that processes on other machines see.
    #[error(
        "`{}` is on {kind}, where a file lock may not exclude processes of other machines; move the project to a local disk, or \
         set `single_host: true` in `config/trust.yaml` of the user space if only this machine uses it", .path.display()
    )]
    NetworkFileSystem {
        /// The folder of all threads.
        path: PathBuf,
        /// The name of the kind of file system.
        kind: &'static str,
    },
    /// The platform has no file locks that this version uses.
    #[error("this platform has no file locks that Rye can use, so it runs no threads here")]
    NoLocks,
    /// The system has no locks left.
    #[error("the system has no file lock left for `{}`; end other programs that lock files", .path.display())]
    LocksExhausted {
        /// The lock.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The process has no file descriptors left.
    #[error(
        "this process has too many files open to own another thread tree (`{}`); raise the limit (`ulimit -n`) or drive fewer \
         trees at once", .path.display()
    )]
    FilesExhausted {
        /// The lock.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The ownership was released, or belongs to another store.
    #[error("this process no longer owns thread `{thread}`; resume the thread")]
    NotOwned {
        /// The thread.
        thread: ThreadId,
    },
    /// A process that uses an older format is alive.
    #[error(
        "a process of an older version of Rye uses these threads (`{}` is locked); end it first, because it does not see the locks of \
         this version", .path.display()
    )]
    OldFormat {
        /// The file that the process locked.
        path: PathBuf,
    },
    /// The replica did not keep a change.
    #[error(
        "the records of thread `{thread}` did not reach the place beyond this machine that keeps them"
    )]
    Replica {
        /// The thread.
        thread: ThreadId,
        /// The error of the replica.
        source: io::Error,
    },
    /// Tools of a killed process still run.
    #[error(
        "programs that tools of thread tree `{root}` started still run; wait for their end, or end the process that holds `{}`",
        .path.display()
    )]
    ToolsRun {
        /// The root of the tree.
        root: ThreadId,
        /// The lock that the supervisors of the programs hold.
        path: PathBuf,
    },
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
