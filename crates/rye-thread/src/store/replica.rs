//! A second place for records, beyond this machine.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use crate::ThreadId;

/// The future of [`Replica::sync_later`].
pub type ReplicaSync = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A place beyond this machine that keeps the transcripts of a store.
///
/// A [`LocalStore`](super::LocalStore) with a replica makes each change itself and then passes it on. A sync waits for
/// the replica and not for the disk, so that the files of the store are a cache of the replica. Another machine can
/// therefore go on from what the replica holds, at any time.
///
/// The methods may block. An error stops the thread, which can be resumed from what the replica holds.
pub trait Replica: fmt::Debug + Send + Sync {
    /// Takes whole lines that were appended to the transcript of a thread, in their order.
    ///
    /// # Errors
    ///
    /// When the place cannot take them, or another process continued the thread.
    fn append(&self, thread: &ThreadId, lines: &[u8]) -> io::Result<()>;

    /// Takes note that the transcript of a thread was truncated to its first `length` bytes.
    ///
    /// # Errors
    ///
    /// As [`Replica::append`].
    fn cut(&self, thread: &ThreadId, length: u64) -> io::Result<()>;

    /// Waits until the place keeps everything that it took of the thread.
    ///
    /// # Errors
    ///
    /// As [`Replica::append`].
    fn sync(&self, thread: &ThreadId) -> io::Result<()>;

    /// Does the same as [`Replica::sync`] in a future, which holds no system thread while it waits; `None` if the
    /// place cannot.
    fn sync_later(self: Arc<Self>, thread: &ThreadId) -> Option<ReplicaSync> {
        let _ = thread;
        None
    }
}
