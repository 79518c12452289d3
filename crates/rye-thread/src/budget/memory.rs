//! A ledger that lives as long as its program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::balance::fits;
use super::{Balance, Ledger, LedgerError, Reservation, Spending};
use crate::{Nanos, SpendLimit, ThreadId};

/// Accounts in memory, for runs whose cost need not outlive the program.
#[derive(Debug, Default)]
pub struct MemoryLedger(Mutex<Accounts>);

#[derive(Debug, Default)]
struct Accounts {
    balances: BTreeMap<ThreadId, Balance>,
    open: BTreeMap<u64, (ThreadId, Nanos)>,
    next: u64,
    children: BTreeMap<ThreadId, Child>,
    /// The numbers of what was set aside for children.
    for_children: BTreeSet<u64>,
    /// What is settled in an account for children that were closed.
    below: BTreeMap<ThreadId, Nanos>,
    /// The threads for whose own requests something was set aside.
    have_reserved: BTreeSet<ThreadId>,
}

/// Whose child it is, and what is set aside there, until it is settled.
#[derive(Debug, Clone)]
struct Child {
    parent: ThreadId,
    number: u64,
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

    fn set_cap(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        let differs = match self.open(thread, cap) {
            Err(differs @ LedgerError::CapDiffers { .. }) => differs,
            opened => return opened,
        };
        let mut accounts = self.accounts();
        let changed = accounts.balance(thread)?.with_cap(cap);
        let changed = changed.filter(|_| !accounts.children.contains_key(thread)).ok_or(differs)?;
        accounts.balances.insert(thread.clone(), changed);
        Ok(changed)
    }

    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        if !fits(&amount) {
            return Err(LedgerError::TooLarge);
        }
        let mut accounts = self.accounts();
        let reservation = accounts.reserve(thread, amount)?;
        accounts.have_reserved.insert(thread.clone());
        Ok(reservation)
    }

    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        self.accounts().settle(&reservation, actual)
    }

    fn draw(
        &self,
        reservation: Reservation,
        actual: Nanos,
    ) -> Result<Option<Reservation>, LedgerError> {
        self.accounts().draw(reservation, actual).map(Some)
    }

    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        Ok(self.accounts().unsettled(thread))
    }

    fn open_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
    ) -> Result<Balance, LedgerError> {
        let mut accounts = self.accounts();
        if let Some(balance) = accounts.balances.get(child).copied() {
            let is_parents = accounts.children.get(child).is_some_and(|it| it.parent == *parent);
            return match (is_parents, balance.cap == cap) {
                (false, _) => {
                    let (thread, parent) = (child.clone(), parent.clone());
                    Err(LedgerError::OtherParent { thread, parent })
                }
                (true, false) => Err(LedgerError::CapDiffers { thread: child.clone() }),
                (true, true) => Ok(balance),
            };
        }
        let balance = accounts.balance(parent)?;
        let Some(needed) = balance.needed_for(cap) else {
            let (thread, needed) = (parent.clone(), Nanos::new(u64::MAX));
            return Err(LedgerError::Exhausted { thread, balance, needed });
        };
        if !fits(&needed) {
            return Err(LedgerError::TooLarge);
        }
        let Reservation { thread: parent, number, .. } = accounts.reserve(parent, needed)?;
        accounts.children.insert(child.clone(), Child { parent, number });
        accounts.for_children.insert(number);
        accounts.balances.insert(child.clone(), Balance::opened(cap));
        Ok(Balance::opened(cap))
    }

    fn close_child(&self, child: &ThreadId) -> Result<Balance, LedgerError> {
        let mut accounts = self.accounts();
        accounts.close(child)?;
        accounts.balance(child)
    }

    fn recall(&self, thread: &ThreadId, spending: Spending) -> Result<Balance, LedgerError> {
        let mut accounts = self.accounts();
        let balance = accounts.balance(thread)?;
        let below = accounts.below.get(thread).copied().unwrap_or_default();
        let own = balance.cost().saturating_sub(below);
        let missing = match accounts.is_closed(thread) {
            true => Nanos::ZERO,
            false => spending.missing(own, accounts.have_reserved.contains(thread)),
        };
        let changed = balance.settle(Nanos::ZERO, missing).ok_or(LedgerError::TooLarge)?;
        accounts.balances.insert(thread.clone(), changed);
        Ok(changed)
    }

    fn recall_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), LedgerError> {
        let mut accounts = self.accounts();
        if let Ok(found) = accounts.balance(child) {
            return accounts.correct((parent, child), &found, cost);
        }
        let ended = Balance::ended(cap, cost).ok_or(LedgerError::TooLarge)?;
        let reservation = accounts.reserve(parent, Nanos::ZERO)?;
        let number = reservation.number;
        accounts.settle_child(&reservation, cost)?;
        accounts.children.insert(child.clone(), Child { parent: parent.clone(), number });
        accounts.for_children.insert(number);
        accounts.balances.insert(child.clone(), ended);
        Ok(())
    }
}

impl Accounts {
    fn reserve(&mut self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        let balance = self.balance(thread)?;
        let Some(changed) = balance.reserve(amount).filter(|_| !self.is_closed(thread)) else {
            return Err(LedgerError::Exhausted { thread: thread.clone(), balance, needed: amount });
        };
        self.balances.insert(thread.clone(), changed);
        let number = self.next;
        self.next += 1;
        self.open.insert(number, (thread.clone(), amount));
        Ok(Reservation { thread: thread.clone(), number, amount })
    }

    /// Whether the account is one of a child whose end is settled.
    fn is_closed(&self, thread: &ThreadId) -> bool {
        self.children.get(thread).is_some_and(|it| !self.open.contains_key(&it.number))
    }

    fn draw(
        &mut self,
        reservation: Reservation,
        actual: Nanos,
    ) -> Result<Reservation, LedgerError> {
        let balance = self.drawn_on(&reservation)?;
        let changed = balance.draw(reservation.amount, actual).ok_or(LedgerError::TooLarge)?;
        let left = Reservation { amount: reservation.amount.saturating_sub(actual), ..reservation };
        self.open.insert(left.number, (left.thread.clone(), left.amount));
        self.balances.insert(left.thread.clone(), changed);
        Ok(left)
    }

    /// The account of a reservation that is open.
    fn drawn_on(&self, reservation: &Reservation) -> Result<Balance, LedgerError> {
        let Reservation { thread, number, amount } = reservation;
        match self.open.get(number) {
            Some((owner, open)) if owner == thread && open == amount => self.balance(thread),
            _ => Err(LedgerError::UnknownReservation { thread: thread.clone() }),
        }
    }

    fn settle(&mut self, reservation: &Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        let (balance, thread) = (self.drawn_on(reservation)?, reservation.thread.clone());
        let changed = balance.settle(reservation.amount, actual).ok_or(LedgerError::TooLarge)?;
        self.open.remove(&reservation.number);
        self.balances.insert(thread, changed);
        Ok(changed)
    }

    fn unsettled(&self, thread: &ThreadId) -> Vec<Reservation> {
        let open = self.open.iter().filter(|(_, (owner, _))| owner == thread);
        let own = open.filter(|(number, _)| !self.for_children.contains(number));
        own.map(|(number, (thread, amount))| Reservation {
            thread: thread.clone(),
            number: *number,
            amount: *amount,
        })
        .collect()
    }

    fn close(&mut self, thread: &ThreadId) -> Result<(), LedgerError> {
        let unknown = || LedgerError::UnknownAccount { thread: thread.clone() };
        let Child { parent, number } = self.children.get(thread).cloned().ok_or_else(unknown)?;
        let Some(amount) = self.open.get(&number).map(|(_, amount)| *amount) else { return Ok(()) };
        let below = self.children.iter().filter(|(_, child)| child.parent == *thread);
        let below: Vec<ThreadId> = below.map(|(child, _)| child.clone()).collect();
        below.iter().try_for_each(|child| self.close(child))?;
        for left in self.unsettled(thread) {
            self.settle(&left, left.amount)?;
        }
        let cost = self.balance(thread)?.cost();
        self.settle_child(&Reservation { thread: parent, number, amount }, cost)
    }

    /// Closes the account of a child that had not ended when this ledger was copied, with what it came to since.
    fn correct(
        &mut self,
        (parent, child): (&ThreadId, &ThreadId),
        found: &Balance,
        cost: Nanos,
    ) -> Result<(), LedgerError> {
        let of_parent = self.children.get(child).filter(|it| it.parent == *parent);
        let Some(number) = of_parent.map(|it| it.number) else { return Ok(()) };
        let Some(amount) = self.open.get(&number).map(|(_, amount)| *amount) else { return Ok(()) };
        let cost = cost.max(found.cost());
        let ended = Balance::ended(found.cap, cost).ok_or(LedgerError::TooLarge)?;
        let below = self.children.iter().filter(|(_, it)| it.parent == *child);
        let below: Vec<ThreadId> = below.map(|(each, _)| each.clone()).collect();
        below.iter().try_for_each(|each| self.close(each))?;
        for left in self.unsettled(child) {
            self.settle(&left, Nanos::ZERO)?;
        }
        self.balances.insert(child.clone(), ended);
        self.settle_child(&Reservation { thread: parent.clone(), number, amount }, cost)
    }

    /// Settles what was set aside for a child.
    fn settle_child(&mut self, reservation: &Reservation, cost: Nanos) -> Result<(), LedgerError> {
        self.settle(reservation, cost)?;
        let below = self.below.entry(reservation.thread.clone()).or_default();
        *below = below.saturating_add(cost);
        Ok(())
    }

    fn balance(&self, thread: &ThreadId) -> Result<Balance, LedgerError> {
        let unknown = || LedgerError::UnknownAccount { thread: thread.clone() };
        self.balances.get(thread).copied().ok_or_else(unknown)
    }
}
