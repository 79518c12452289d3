//! A ledger that lives as long as its program.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::balance::fits;
use super::{Balance, Ledger, LedgerError, Reservation};
use crate::{Nanos, SpendLimit, ThreadId};

/// Accounts in memory, for runs whose cost need not outlive the program.
#[derive(Debug, Default)]
pub struct MemoryLedger(Mutex<Accounts>);

#[derive(Debug, Default)]
struct Accounts {
    balances: BTreeMap<ThreadId, Balance>,
    open: BTreeMap<u64, (ThreadId, Nanos)>,
    next: u64,
}

impl MemoryLedger {
    /// A ledger without accounts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic elsewhere cannot leave half a change behind: each change is made whole and then stored.
    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for MemoryLedger {
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        if matches!(cap, SpendLimit::AtMost(cap) if !fits(&cap)) {
            return Err(LedgerError::TooLarge);
        }
        let mut accounts = self.accounts();
        let balance = *accounts.balances.entry(thread.clone()).or_insert(Balance::opened(cap));
        if balance.cap == cap {
            Ok(balance)
        } else {
            Err(LedgerError::CapDiffers { thread: thread.clone() })
        }
    }

    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        if !fits(&amount) {
            return Err(LedgerError::TooLarge);
        }
        let mut accounts = self.accounts();
        let balance = accounts.balance(thread)?;
        let Some(changed) = balance.reserve(amount) else {
            return Err(LedgerError::Exhausted { thread: thread.clone(), balance, needed: amount });
        };
        accounts.balances.insert(thread.clone(), changed);
        let number = accounts.next;
        accounts.next += 1;
        accounts.open.insert(number, (thread.clone(), amount));
        Ok(Reservation { thread: thread.clone(), number, amount })
    }

    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        let mut accounts = self.accounts();
        let thread = reservation.thread;
        let expected = (thread.clone(), reservation.amount);
        if accounts.open.get(&reservation.number) != Some(&expected) {
            return Err(LedgerError::UnknownReservation { thread });
        }
        let balance = accounts.balance(&thread)?;
        let changed = balance.settle(reservation.amount, actual).ok_or(LedgerError::TooLarge)?;
        accounts.open.remove(&reservation.number);
        accounts.balances.insert(thread, changed);
        Ok(changed)
    }

    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        let accounts = self.accounts();
        let open = accounts.open.iter().filter(|(_, (owner, _))| owner == thread);
        let reservation = |(number, (thread, amount)): (&u64, &(ThreadId, Nanos))| Reservation {
            thread: thread.clone(),
            number: *number,
            amount: *amount,
        };
        Ok(open.map(reservation).collect())
    }
}

impl Accounts {
    fn balance(&self, thread: &ThreadId) -> Result<Balance, LedgerError> {
        let unknown = || LedgerError::UnknownAccount { thread: thread.clone() };
        self.balances.get(thread).copied().ok_or_else(unknown)
    }
}
