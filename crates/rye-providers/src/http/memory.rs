//! Memory limits for answers that are being received: per answer and for the whole process.

use std::sync::LazyLock;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

const MIB: usize = 1024 * 1024;

/// The default for the largest number of bytes of an answer.
pub(crate) const DEFAULT_ANSWER_BYTES: usize = 32 * MIB;

/// The largest number of bytes of an answer that a configuration can allow.
pub(crate) const MOST_ANSWER_BYTES: usize = 128 * MIB;

/// The memory that every answer gets at its start. Nearly all answers are shorter.
const SMALL: usize = MIB;

/// The limit of the process: 128 answers at a time, with 256 MiB together.
pub(super) static PROCESS: LazyLock<AnswerMemory> =
    LazyLock::new(|| AnswerMemory::new(128, MOST_ANSWER_BYTES));

/// The memory that all answers share.
///
/// An answer waits for a small share before its request is sent. If it grows beyond the small share, it waits
/// once for its maximum. An answer with a large share never waits again, so each of them ends and no deadlock
/// is possible.
pub(super) struct AnswerMemory {
    small: Semaphore,
    large: Semaphore,
    #[cfg(test)]
    held: AtomicUsize,
    #[cfg(test)]
    peak: AtomicUsize,
}

impl AnswerMemory {
    /// Makes room for `answers` at a time, and `large` bytes for all that exceeds their small shares.
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

    /// Waits for room for an answer of at most `maximum` bytes.
    pub(super) async fn admit(&self, maximum: usize) -> Room<'_> {
        let small = self.small.acquire().await.expect("because nothing closes it");
        Room { memory: self, _small: small, large: None, held: 0, maximum }
    }

    /// The largest number of bytes held at one time.
    #[cfg(test)]
    pub(super) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

/// The memory of an answer. Dropping it frees the memory.
pub(super) struct Room<'a> {
    memory: &'a AnswerMemory,
    _small: SemaphorePermit<'a>,
    large: Option<SemaphorePermit<'a>>,
    held: usize,
    maximum: usize,
}

/// The error for an answer that is longer than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) maximum: usize,
}

impl Room<'_> {
    /// The largest number of bytes of the answer.
    pub(super) const fn maximum(&self) -> usize {
        self.maximum
    }

    /// Reserves memory for `bytes` of the answer in total. If that exceeds the small share, waits for the
    /// large one.
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
