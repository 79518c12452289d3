//! The account of a thread tree, in the memory of the process that owns it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rye_transcript::Accounts;

use crate::transcript::{Event, Reading};
use crate::{Account, AccountError, ChildEnd, FoundTranscript, ThreadId};

/// The money of a thread tree, by thread.
///
/// The owner of a tree has one. The journal of each thread changes it with each record.
#[derive(Debug, Default)]
pub struct TreeAccount(Mutex<Accounts>);

impl TreeAccount {
    /// Folds a conversation and its unfinished children, with all their descendants.
    ///
    /// At most one transcript is in memory for each level of the tree.
    ///
    /// # Errors
    ///
    /// [`AccountError::Unbounded`] if a child has neither a limit nor a reliable transcript. [`AccountError::Circle`] if a thread
    /// is its own ancestor, or the tree is too deep.
    pub fn from_transcripts<'a>(
        thread: &Reading,
        read: &dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    ) -> Result<Self, AccountError> {
        Ok(Self(Mutex::new(Accounts::from_transcripts(thread, read)?)))
    }

    /// Returns the account of a thread.
    ///
    /// Returns `None` if the tree does not hold the thread, or if its parent has recorded its end.
    #[must_use]
    pub fn account(&self, thread: &ThreadId) -> Option<Account> {
        self.accounts().account(thread)
    }

    /// Sets the cost of a child's end, if the account holds the child.
    pub(crate) fn price_end(&self, mut end: ChildEnd) -> ChildEnd {
        match self.account(&end.child) {
            Some(Account { cost, is_overrun, .. }) => {
                (end.cost, end.is_overrun) = (cost, is_overrun);
                end
            }
            None => end,
        }
    }

    /// Applies the change of a record that is appended to the transcript of the thread.
    pub(crate) fn record(&self, thread: &ThreadId, event: &Event) {
        self.accounts().record(thread, event);
    }

    /// Replaces the account of one thread by the account of its transcript.
    ///
    /// A process that failed may have counted more than it recorded.
    pub(crate) fn open(&self, thread: &ThreadId, reading: &Reading) {
        self.accounts().open(thread, reading);
    }

    /// Adds the folded accounts of the threads for which `is_wanted` returns `true`.
    pub(crate) fn extend(&self, folded: Self, is_wanted: impl Fn(&ThreadId) -> bool) {
        let folded = folded.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.accounts().extend(folded, is_wanted);
    }

    /// Locks the accounts. A poisoned lock is used all the same, because no change is applied in parts.
    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
