//! The money of a thread tree: one account, folded from the records of its threads (SPEC 10.6).
//!
//! A finished request counts with the cost of its reply. A request without a record of its end counts with its whole
//! reservation. A finished child counts with the cost in its `child_ended`. An unfinished child counts with its whole
//! share, and its own records say which part of the share is spent.
//!
//! While a process owns a tree, it holds the [`Accounts`] in memory and each appended record changes them. After a crash
//! the same changes are read from the transcripts. No account is stored beside the transcripts.
//!
//! ```
//! use rye_transcript::Account;
//! use rye_types::{Nanos, SpendLimit};
//!
//! let account = Account::new(SpendLimit::AtMost(Nanos::new(100)));
//! assert_eq!(account.free(), Some(Nanos::new(100)));
//! ```

mod accounts;
mod ended;
mod thread;

use std::borrow::Cow;

pub use self::accounts::Accounts;
pub use self::ended::ended_children;
use rye_types::{Nanos, SpendLimit};

use self::thread::ThreadAccount;
use crate::{Reading, ThreadId};

/// The transcript of a thread, as a reader of its tree finds it.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a transcript is verified, missing or unreliable")]
pub enum FoundTranscript<'a> {
    /// The thread has not begun, so it has no transcript.
    Absent,
    /// The transcript was changed, or cannot be read.
    Unreadable,
    /// The verified transcript.
    Transcript(Cow<'a, Reading>),
}

/// The spent and reserved money of a conversation and all its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// The most that the thread may spend.
    pub cap: SpendLimit,
    /// The most that was charged: settled costs, and the reservations of requests without a record of their end.
    pub cost: Nanos,
    /// The part of `cost` that is reserved for requests without a record of their end.
    pub reserved: Nanos,
    /// The money held back for unfinished children, beside `cost`.
    pub held: Nanos,
    /// `true` if a request cost more than its reservation. Then nothing is free.
    pub is_overrun: bool,
}

impl Account {
    /// The account of a thread that has spent nothing.
    #[must_use]
    pub const fn new(cap: SpendLimit) -> Self {
        let zero = Nanos::ZERO;
        Self { cap, cost: zero, reserved: zero, held: zero, is_overrun: false }
    }

    /// Computes the account of a thread from its transcript and the transcripts of its unfinished children.
    ///
    /// A child is unfinished while its parent has no `child_ended` for it.
    ///
    /// # Errors
    ///
    /// The errors of [`Accounts::from_transcripts`].
    pub fn from_transcripts<'a>(
        thread: &Reading,
        read: &dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    ) -> Result<Self, AccountError> {
        let tree = Accounts::from_transcripts(thread, read)?;
        let id = thread.records.first().map(|record| &record.thread);
        Ok(id.and_then(|id| tree.account(id)).unwrap_or(Self::new(SpendLimit::Unlimited)))
    }

    /// Returns the money that can still be reserved, or `None` without a limit.
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
    pub fn covers(&self, share: SpendLimit) -> bool {
        match (self.free(), share) {
            (None, _) => true,
            (Some(free), SpendLimit::AtMost(share)) => share <= free,
            (Some(_), SpendLimit::Unlimited) => false,
        }
    }
}

/// The reason why an account cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// A thread is its own ancestor, or the tree is deeper than any limit allows.
    #[error(
        "thread `{thread}` is its own ancestor, or its tree is too deep, so its cost cannot be computed"
    )]
    Circle {
        /// The thread.
        thread: ThreadId,
    },
    /// A newer version recorded an event that may hold money.
    #[error(
        "thread `{thread}` has the event `{event}`, which this version does not know, so its cost cannot be computed; use the version that recorded it"
    )]
    Foreign {
        /// The thread.
        thread: ThreadId,
        /// The name of the event.
        event: String,
    },
    /// The thread has no limit and no readable transcript, so nothing bounds its cost.
    #[error(
        "the transcript of `{thread}` cannot be read, and it had no spend limit, so its cost is not known; restore `.ai/threads/{thread}` or start the directive again"
    )]
    Unbounded {
        /// The thread.
        thread: ThreadId,
    },
}

/// The cost of a thread by its own records: its settled requests, and its children that have ended.
pub(crate) fn recorded_cost(reading: &Reading) -> Nanos {
    ThreadAccount::of(reading).cost()
}

/// Returns `true` if the cost is beyond the limit.
fn is_over(limit: SpendLimit, cost: Nanos) -> bool {
    matches!(limit, SpendLimit::AtMost(limit) if limit < cost)
}

#[cfg(test)]
mod tests;
