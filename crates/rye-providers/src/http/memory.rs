//! The memory of answers that are on their way, bounded for each of them and for all of the process.

use std::sync::LazyLock;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

const MIB: usize = 1024 * 1024;

/// The most bytes of one answer, where the configuration says nothing.
pub(crate) const DEFAULT_ANSWER_BYTES: usize = 32 * MIB;

/// The most bytes of one answer that a configuration can allow.
pub(crate) const MOST_ANSWER_BYTES: usize = 128 * MIB;

/// The memory that every answer has from its beginning; nearly all answers are shorter.
const SMALL: usize = MIB;

/// All answers of the process: 128 at a time, of 256 MiB together.
pub(super) static PROCESS: LazyLock<AnswerMemory> =
    LazyLock::new(|| AnswerMemory::new(128, MOST_ANSWER_BYTES));

/// The memory that answers share.
///
/// An answer waits for a small share before its request is sent. One that grows beyond that waits once for all that it may ever
/// need. The answers that hold such a large share need nothing more, so that each of them ends and none waits for ever.
pub(super) struct AnswerMemory {
    small: Semaphore,
    large: Semaphore,
    #[cfg(test)]
    held: AtomicUsize,
    #[cfg(test)]
    peak: AtomicUsize,
}

impl AnswerMemory {
    /// Has room for `answers` at a time, and `large` bytes for what any of them need beyond a small share.
    pub(super) fn new(answers: usize, large: usize) -> Self {
        Self {
            small: Semaphore::new(answers),
            large: Semaphore::new(large),
            #[cfg(test)]
            held: AtomicUsize::new(0),
            #[cfg(test)]
            peak: AtomicUsize::new(0),
        }
    }

    /// Waits for the room of an answer of at most `maximum` bytes.
    pub(super) async fn admit(&self, maximum: usize) -> Room<'_> {
        let small = self.small.acquire().await.expect("because nothing closes it");
        Room { memory: self, _small: small, large: None, held: 0, maximum }
    }

    /// The most bytes that were held at one time.
    #[cfg(test)]
    pub(super) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

/// The memory of one answer, which is given back when it is dropped.
pub(super) struct Room<'a> {
    memory: &'a AnswerMemory,
    _small: SemaphorePermit<'a>,
    large: Option<SemaphorePermit<'a>>,
    held: usize,
    maximum: usize,
}

/// An answer is longer than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) maximum: usize,
}

impl Room<'_> {
    /// The most bytes that the answer may have.
    pub(super) const fn maximum(&self) -> usize {
        self.maximum
    }

    /// Makes room for `bytes` of the answer in all, and waits for it where that is more than a small share.
    pub(super) async fn hold(&mut self, bytes: usize) -> Result<(), TooLong> {
        if self.maximum < bytes {
            return Err(TooLong { maximum: self.maximum });
        }
        if SMALL < bytes && self.large.is_none() {
            let rest = u32::try_from(self.maximum - SMALL).unwrap_or(u32::MAX);
            let large = self.memory.large.acquire_many(rest).await;
            self.large = Some(large.expect("because nothing closes it"));
        }
        self.note(bytes);
        Ok(())
    }

    fn note(&mut self, bytes: usize) {
        #[cfg(test)]
        {
            self.memory.held.fetch_sub(self.held, Ordering::SeqCst);
            let held = self.memory.held.fetch_add(bytes, Ordering::SeqCst) + bytes;
            self.memory.peak.fetch_max(held, Ordering::SeqCst);
        }
        self.held = bytes;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.note(0);
    }
}
