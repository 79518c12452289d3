//! Money that is set aside before it can be spent (SPEC 10.6).
//!
//! Before a request the most that it may cost is reserved; after it the actual cost is settled and the rest is free
//! again. On every account, at every instant, and whatever crashes or interleaves: settled + reserved ≤ cap.
//!
//! The cap of a child is set aside in the account of the thread that started it, so that the same holds for a whole tree
//! of threads: what all of them together can spend is under the cap of the first.
//!
//! ```
//! use rye_thread::budget::{Ledger, MemoryLedger};
//! use rye_thread::{Nanos, SpendLimit, ThreadId};
//!
//! let thread = ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000000")?;
//! let ledger = MemoryLedger::new();
//! ledger.open(&thread, SpendLimit::AtMost(Nanos::new(100)))?;
//! let reservation = ledger.reserve(&thread, Nanos::new(80))?;
//! assert!(ledger.reserve(&thread, Nanos::new(30)).is_err());
//! let balance = ledger.settle(reservation, Nanos::new(10))?;
//! assert_eq!(balance.free(), Some(Nanos::new(90)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod balance;
mod memory;
mod sqlite;

use crate::{Nanos, SpendLimit, ThreadId};

pub use self::balance::Balance;
pub use self::memory::MemoryLedger;
pub use self::sqlite::SqliteLedger;

/// The accounts of threads; every method is atomic, also against other programs that use the same store.
pub trait Ledger: Send + Sync {
    /// Opens the thread's account, or finds it as it is.
    ///
    /// # Errors
    ///
    /// When the account has another cap, or the store fails.
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError>;

    /// Gives the account of a thread that no other thread started this cap, and opens it where there is none.
    ///
    /// A cap is another one than before where the operator raised it, or where a program was stopped before that was on record.
    /// What was charged beyond the old cap is settled as far as the new one allows.
    ///
    /// # Errors
    ///
    /// [`LedgerError::CapDiffers`] when less than what is set aside would be left, or the account is that of a child and has
    /// another cap; or when the store fails.
    fn set_cap(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError>;

    /// Sets this amount aside, durably: it stays so when the machine loses its power.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Exhausted`] when it is not free; then nothing changes.
    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError>;

    /// Replaces what was set aside by what it cost; nothing, for a request that cost nothing.
    ///
    /// What a provider charged beyond the cap is kept apart in [`Balance::overrun`], and closes the account.
    ///
    /// # Errors
    ///
    /// When the reservation is not open in this ledger, or the store fails.
    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError>;

    /// Takes what a request cost out of what is set aside, and keeps the rest so for the thread's next request; `None`
    /// when nothing could be kept.
    ///
    /// What is settled and set aside together stays what it was, so that this need not be waited for: undone by a loss
    /// of power, as much money is kept away as before. What goes beyond the amount is treated as in [`Ledger::settle`].
    ///
    /// A ledger that has nothing better settles and reserves anew, which is as safe and waits for the disk.
    ///
    /// # Errors
    ///
    /// As [`Ledger::settle`].
    fn draw(
        &self,
        reservation: Reservation,
        actual: Nanos,
    ) -> Result<Option<Reservation>, LedgerError> {
        let (thread, left) =
            (reservation.thread.clone(), reservation.amount.saturating_sub(actual));
        self.settle(reservation, actual)?;
        match self.reserve(&thread, left) {
            Err(LedgerError::Exhausted { .. }) => Ok(None),
            reserved => reserved.map(Some),
        }
    }

    /// What a program that was killed left set aside for the thread, in the order in which it was.
    ///
    /// What is set aside for children is not among it: [`Ledger::close_child`] settles that.
    ///
    /// # Errors
    ///
    /// When the store fails.
    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError>;

    /// Opens the account of a child, with its cap set aside in the account of `parent`, or finds both as they are.
    ///
    /// A cap of [`SpendLimit::Unlimited`] needs a parent without one.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Exhausted`] when the cap is not free in the parent's account, which changes nothing; when the child
    /// has an account of another cap or under another parent, or the store fails.
    fn open_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
    ) -> Result<Balance, LedgerError>;

    /// Settles in the parent's account what the child has cost, and frees the rest; a second time changes nothing.
    ///
    /// What the child and those below it have still set aside counts as spent, and nothing more can be.
    ///
    /// # Errors
    ///
    /// When the thread is nobody's child here, or the store fails.
    fn close_child(&self, child: &ThreadId) -> Result<Balance, LedgerError>;

    /// Settles what the thread's own requests have cost by its transcript, where this ledger knows of less because it is not
    /// the one that the thread ran with, or an older copy of that; else nothing changes.
    ///
    /// What goes beyond the cap is treated as in [`Ledger::settle`]. Whatever a program left set aside is settled before.
    ///
    /// # Errors
    ///
    /// When the thread has no account, or the store fails.
    fn recall(&self, thread: &ThreadId, spending: Spending) -> Result<Balance, LedgerError>;

    /// Enters a child that has ended, with what it and all below it have cost, settled in the account of `parent`. An account
    /// that the child has is closed with that, or with what is settled there where that is more; a closed one stays.
    ///
    /// # Errors
    ///
    /// When the parent has no account or a closed one, or the store fails.
    fn recall_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), LedgerError>;
}

/// What the requests of one thread have cost by its transcript; those of its children are not among it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spending {
    /// What the answers cost.
    pub answered: Nanos,
    /// The most that requests without an answer may have cost beside.
    pub unanswered: Nanos,
}

impl Spending {
    /// All that may have been charged.
    #[must_use]
    pub fn at_most(self) -> Nanos {
        self.answered.saturating_add(self.unanswered)
    }

    /// What an account lacks that has settled `own` for the thread's own requests. One in which nothing was ever set aside
    /// for a request knows of none; where it knows of all that were answered, it has also settled the others as it should.
    fn missing(self, own: Nanos, has_reserved: bool) -> Nanos {
        let is_behind = own < self.answered || !has_reserved;
        if is_behind { self.at_most().saturating_sub(own) } else { Nanos::ZERO }
    }
}

/// Money set aside; it stays so until it is settled, also when the program dies.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "money stays reserved until it is settled"]
pub struct Reservation {
    thread: ThreadId,
    number: u64,
    amount: Nanos,
}

impl Reservation {
    /// Which one it is in its ledger, by which a transcript names it.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// How much is set aside.
    #[must_use]
    pub const fn amount(&self) -> Nanos {
        self.amount
    }
}

/// Why money could not be moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The account exists with another cap.
    #[error(
        "account of `{thread}` has another spend limit; a limit is fixed when the thread begins"
    )]
    CapDiffers {
        /// The account.
        thread: ThreadId,
    },
    /// The amount is not free.
    #[error("spend limit of `{thread}` is used up: {needed} needed, {} free", .balance.free().unwrap_or(Nanos::ZERO))]
    Exhausted {
        /// The account.
        thread: ThreadId,
        /// How it stands.
        balance: Balance,
        /// What was to be reserved.
        needed: Nanos,
    },
    /// The store failed.
    #[error("cannot use the ledger; check the disk and the permissions of `registry.db`")]
    Store {
        /// What the store met.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The sum is larger than the ledger can hold, some nine billion dollars.
    #[error("amount does not fit the ledger; lower the limits or check the model's prices")]
    TooLarge,
    /// The account was opened under another thread, or under none.
    #[error("account of `{thread}` is not one of a child of `{parent}`; start the child anew")]
    OtherParent {
        /// The account.
        thread: ThreadId,
        /// Whose child it was to be.
        parent: ThreadId,
    },
    /// Nobody opened the account.
    #[error("thread `{thread}` has no account; open it first")]
    UnknownAccount {
        /// The thread.
        thread: ThreadId,
    },
    /// Another ledger made the reservation.
    #[error(
        "thread `{thread}` has no open reservation of this number; settle with the ledger that made it"
    )]
    UnknownReservation {
        /// The thread.
        thread: ThreadId,
    },
}

#[cfg(test)]
mod tests;
