//! The money of a thread tree: one account, a fold over the records of its threads (SPEC 10.6).
//!
//! A request counts as what its reply cost, and as its whole reservation while no record ends it. A child counts as the cost in its
//! `child_ended`. Before that its whole share is taken, and its own records say how much of it was spent.
//!
//! While a process owns a tree, [`TreeAccount`] holds the account in memory, and each record changes it when it is appended. After a
//! crash the same changes are read from the transcripts, so that nothing of the account is ever stored beside them.
//!
//! ```
//! use rye_thread::{Account, Nanos, SpendLimit};
//!
//! let account = Account::new(SpendLimit::AtMost(Nanos::new(100)));
//! assert_eq!(account.free(), Some(Nanos::new(100)));
//! ```

mod change;
pub(crate) mod disk;
mod thread;
mod tree;

use std::borrow::Cow;

pub use self::change::ended_children;
pub use self::tree::TreeAccount;
use crate::transcript::Reading;
use crate::{Nanos, SpendLimit, ThreadId, ThreadState};

/// The end of a child, as its parent records it once it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildEnd {
    /// The child; of a conversation its first thread.
    pub child: ThreadId,
    /// How it ended.
    pub state: ThreadState,
    /// What it and all below it cost.
    pub cost: Nanos,
    /// Whether a request of it, or of a thread below it, cost more than was reserved.
    pub is_overrun: bool,
    /// How many records its transcript has; of a conversation that of its last thread.
    pub records: u64,
    /// The hash of these records.
    pub head: String,
}

impl ChildEnd {
    /// The end of a child that stayed within its reservations.
    #[must_use]
    pub fn new(
        child: ThreadId,
        state: ThreadState,
        cost: Nanos,
        (records, head): (u64, String),
    ) -> Self {
        Self { child, state, cost, is_overrun: false, records, head }
    }
}

/// The transcript of a thread, as a reader of its tree finds it.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a transcript is there, or not, or cannot be relied on"
)]
pub enum FoundTranscript<'a> {
    /// The thread has none, because it did not begin yet.
    Absent,
    /// It was changed, or cannot be read.
    Unreadable,
    /// It is verified.
    Transcript(Cow<'a, Reading>),
}

/// What a thread, the threads that continue its conversation and all below them have spent and hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The most that the thread may spend.
    pub cap: SpendLimit,
    /// What was charged at the most: settled costs, and the reservations of requests that no record ends.
    pub cost: Nanos,
    /// The part of `cost` that is reserved for requests that no record ends.
    pub reserved: Nanos,
    /// What is kept back beside `cost` for children that have not ended.
    pub held: Nanos,
    /// Whether a request cost more than was reserved for it, which leaves nothing free.
    pub is_overrun: bool,
}

impl Account {
    /// The account of a thread that has spent nothing.
    #[must_use]
    pub const fn new(cap: SpendLimit) -> Self {
        let zero = Nanos::ZERO;
        Self { cap, cost: zero, reserved: zero, held: zero, is_overrun: false }
    }

    /// Computes the account of the thread from its transcript and those of its children that have no `child_ended`.
    ///
    /// # Errors
    ///
    /// As [`TreeAccount::from_transcripts`].
    pub fn from_transcripts<'a>(
        thread: &Reading,
        read: &dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    ) -> Result<Self, AccountError> {
        let tree = TreeAccount::from_transcripts(thread, read)?;
        let id = thread.records.first().map(|record| &record.thread);
        Ok(id.and_then(|id| tree.account(id)).unwrap_or(Self::new(SpendLimit::Unlimited)))
    }

    /// Returns what can still be reserved; `None` without a limit.
    #[must_use]
    pub fn free(&self) -> Option<Nanos> {
        match self.cap {
            SpendLimit::Unlimited => None,
            SpendLimit::AtMost(_) if self.is_overrun => Some(Nanos::ZERO),
            SpendLimit::AtMost(cap) => {
                Some(cap.saturating_sub(self.cost.saturating_add(self.held)))
            }
        }
    }

    /// Returns `true` if a child can have this share.
    pub(crate) fn covers(&self, share: SpendLimit) -> bool {
        match (self.free(), share) {
            (None, _) => true,
            (Some(free), SpendLimit::AtMost(share)) => share <= free,
            (Some(_), SpendLimit::Unlimited) => false,
        }
    }
}

/// Why an account cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// The threads stand below themselves, or deeper than any limit allows.
    #[error("thread `{thread}` stands below itself or too deep, so its cost cannot be computed")]
    Circle {
        /// The thread.
        thread: ThreadId,
    },
    /// Nothing bounds what the thread has cost.
    #[error(
        "the transcript of `{thread}` cannot be read, and it had no spend limit, so its cost is not known; restore `.ai/threads/{thread}` or start the directive again"
    )]
    Unbounded {
        /// The thread.
        thread: ThreadId,
    },
}

/// Returns `true` if the cost is beyond the limit.
fn is_over(limit: SpendLimit, cost: Nanos) -> bool {
    matches!(limit, SpendLimit::AtMost(limit) if limit < cost)
}

#[cfg(test)]
mod tests;
