//! Where a thread's steps, its money and the right to drive it are kept.
//!
//! A thread is driven by whoever holds its [`Lease`]. Each lease has a higher epoch than the one before it, and a store
//! takes nothing more from one that was superseded, so that two programs can never both continue a thread.
//!
//! ```
//! use rye_thread::store::{Claim, MemoryStore, Store, StoreError};
//! use rye_thread::{Moment, ThreadId};
//!
//! let thread = ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000000")?;
//! let at = |seconds: i64| Moment::from_unix_millis(1_000 * seconds);
//! let store = MemoryStore::new();
//! let first = store.acquire(&thread, &Claim::new("a", at(0), at(60)))?;
//! store.append(&first, b"{}\n")?;
//!
//! // The first is never heard of again; after its time a second one goes on.
//! let second = store.acquire(&thread, &Claim::new("b", at(61), at(120)))?;
//! assert_eq!(store.journal(&thread)?, b"{}\n");
//! assert!(matches!(store.append(&first, b"{}\n"), Err(StoreError::Stale { .. })));
//! store.release(&second)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod files;
mod leases;
mod local;
mod memory;
mod owner;
mod view;

use std::io;
use std::path::PathBuf;

pub use self::local::LocalStore;
pub use self::memory::MemoryStore;
pub use self::view::StoreView;
use crate::budget::Ledger;
use crate::{Moment, ThreadId};

/// The step journal, the lease and the [`Ledger`] of threads, which another store can stand in for.
///
/// Every method is atomic, also against other programs that use the same store. What a new one must hold is in
/// `store::conformance`, behind the feature of that name.
pub trait Store: Send + Sync {
    /// The accounts of these threads.
    fn ledger(&self) -> &dyn Ledger;

    /// Takes the right to drive the thread, which supersedes every earlier lease.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] while another one may still drive it.
    fn acquire(&self, thread: &ThreadId, claim: &Claim) -> Result<Lease, StoreError>;

    /// Whether the lease of a program that dies is free at once, because the store sees that itself. Who drives a thread then claims
    /// it for as long as its program lives, and no time is up while a person thinks, or a machine sleeps.
    fn sees_death(&self) -> bool {
        false
    }

    /// Gives the right back; for a lease that was superseded nothing is left to do.
    ///
    /// # Errors
    ///
    /// When the store fails.
    fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Appends whole lines to the thread's journal; they are durable after [`Store::sync`]. Without lines it leaves a journal, which
    /// may be empty, and tells whether the lease still counts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Stale`] for a lease that was released or superseded; then nothing is written.
    fn append(&self, lease: &Lease, lines: &[u8]) -> Result<(), StoreError>;

    /// Does something outside of the store that only who holds the lease may do, such as giving a file its name.
    ///
    /// A store that can keeps others from taking the thread until it is done; this one looks just before. The action must not use
    /// the store.
    ///
    /// # Errors
    ///
    /// As [`Store::append`]; then nothing is done.
    fn holding(&self, lease: &Lease, action: &mut dyn FnMut()) -> Result<(), StoreError> {
        self.append(lease, b"")?;
        action();
        Ok(())
    }

    /// Makes everything appended so far outlive the machine.
    ///
    /// # Errors
    ///
    /// As [`Store::append`].
    fn sync(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Cuts the journal to its first `length` bytes, as an opening does with half a record at its end.
    ///
    /// # Errors
    ///
    /// As [`Store::append`].
    fn cut(&self, lease: &Lease, length: u64) -> Result<(), StoreError>;

    /// All bytes of the thread's journal; none for a thread that has none.
    ///
    /// # Errors
    ///
    /// When the store fails.
    fn journal(&self, thread: &ThreadId) -> Result<Vec<u8>, StoreError>;
}

/// Who wants to drive a thread, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// Who it is, for people: a lease that stands in the way is told with it.
    pub owner: String,
    /// The time of day.
    pub now: Moment,
    /// When another may go on, should this one never be heard of again.
    pub until: Moment,
}

impl Claim {
    /// A claim by `owner`.
    #[must_use]
    pub fn new(owner: &str, now: Moment, until: Moment) -> Self {
        Self { owner: owner.to_owned(), now, until }
    }
}

/// The right to drive one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a thread stays held until its lease is released or lapses"]
pub struct Lease {
    thread: ThreadId,
    epoch: u64,
}

impl Lease {
    /// A lease that a store gives out.
    pub const fn new(thread: ThreadId, epoch: u64) -> Self {
        Self { thread, epoch }
    }

    /// The thread.
    #[must_use]
    pub const fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Which opening of the thread this is, from 1.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database failed.
    #[error("cannot use the store of threads; check the disk and the permissions of `registry.db`")]
    Database {
        /// What the database met.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file of a journal failed.
    #[error("cannot use `{}`; check the disk and the permissions of its folder", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else drives the thread.
    #[error("thread `{thread}` is driven by {owner}; wait for its end, or stop that program")]
    Held {
        /// The thread.
        thread: ThreadId,
        /// Who it is.
        owner: String,
        /// When its lease lapses.
        until: Moment,
    },
    /// A link stands in the place of a journal, which would lead it elsewhere.
    #[error("`{}` is a link, through which no thread is recorded; put a file of its own in its place", .path.display())]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// The lease is not the thread's last one, or was given back.
    #[error(
        "thread `{thread}` was taken over by another program; what this one does no longer counts"
    )]
    Stale {
        /// The thread.
        thread: ThreadId,
    },
}

#[cfg(test)]
mod tests;
