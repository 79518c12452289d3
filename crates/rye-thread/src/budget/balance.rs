//! The arithmetic of one account, the same for every store.

use crate::{Nanos, SpendLimit};

/// How an account stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Balance {
    /// The most that may ever be settled and reserved together.
    pub cap: SpendLimit,
    /// What requests have cost.
    pub settled: Nanos,
    /// What is set aside.
    pub reserved: Nanos,
    /// What a provider charged beyond the cap, which its own counting would have to explain.
    pub overrun: Nanos,
}

impl Balance {
    /// What can still be reserved; `None` without a cap.
    #[must_use]
    pub fn free(&self) -> Option<Nanos> {
        match self.cap {
            SpendLimit::Unlimited => None,
            SpendLimit::AtMost(_) if self.overrun != Nanos::ZERO => Some(Nanos::ZERO),
            SpendLimit::AtMost(cap) => {
                Some(cap.saturating_sub(self.settled.saturating_add(self.reserved)))
            }
        }
    }

    /// Everything that the provider charged.
    #[must_use]
    pub fn cost(&self) -> Nanos {
        self.settled.saturating_add(self.overrun)
    }

    pub(crate) const fn opened(cap: SpendLimit) -> Self {
        Self { cap, settled: Nanos::ZERO, reserved: Nanos::ZERO, overrun: Nanos::ZERO }
    }

    /// The account of a child that has ended and has cost this much.
    pub(super) fn ended(cap: SpendLimit, cost: Nanos) -> Option<Self> {
        Self::opened(cap).settle(Nanos::ZERO, cost)
    }

    /// What a child of this cap takes out of the account at first; `None` when it may have more than the account.
    pub(super) const fn needed_for(&self, cap: SpendLimit) -> Option<Nanos> {
        match (cap, self.cap) {
            (SpendLimit::AtMost(cap), _) => Some(cap),
            (SpendLimit::Unlimited, SpendLimit::Unlimited) => Some(Nanos::ZERO),
            (SpendLimit::Unlimited, SpendLimit::AtMost(_)) => None,
        }
    }

    /// The account under another cap; `None` when what is set aside is more than that.
    pub(super) fn with_cap(self, cap: SpendLimit) -> Option<Self> {
        let cost = self.cost();
        let room = match cap {
            SpendLimit::Unlimited => cost,
            SpendLimit::AtMost(cap) => Nanos::new(cap.get().checked_sub(self.reserved.get())?),
        };
        let settled = cost.min(room);
        Some(Self { cap, settled, overrun: cost.saturating_sub(settled), ..self })
    }

    /// The account with `amount` more set aside, or `None` when that is not free.
    pub(super) fn reserve(self, amount: Nanos) -> Option<Self> {
        match self.free() {
            Some(free) if free < amount => None,
            _ => Some(Self { reserved: self.reserved.checked_add(amount).filter(fits)?, ..self }),
        }
    }

    /// The account with `actual` settled in place of `amount` set aside.
    ///
    /// What does not fit under the cap, beside what is set aside for others, becomes an overrun.
    pub(super) fn settle(self, amount: Nanos, actual: Nanos) -> Option<Self> {
        let reserved = self.reserved.saturating_sub(amount);
        let room = match self.cap {
            SpendLimit::Unlimited => actual,
            SpendLimit::AtMost(cap) => cap.saturating_sub(self.settled.saturating_add(reserved)),
        };
        let settled = actual.min(room);
        Some(Self {
            settled: self.settled.checked_add(settled).filter(fits)?,
            reserved,
            overrun: self.overrun.checked_add(actual.saturating_sub(settled)).filter(fits)?,
            ..self
        })
    }

    /// The account with `actual` settled, and what is left of `amount` set aside as before.
    pub(super) fn draw(self, amount: Nanos, actual: Nanos) -> Option<Self> {
        let left = amount.saturating_sub(actual);
        let settled = self.settle(amount, actual)?;
        Some(Self { reserved: settled.reserved.saturating_add(left), ..settled })
    }
}

/// Whether every store can hold the amount.
pub(super) fn fits(amount: &Nanos) -> bool {
    i64::try_from(amount.get()).is_ok()
}
