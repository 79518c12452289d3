//! The money of one thread, by its own records alone.

use std::collections::BTreeMap;

use super::change::Change;
use super::is_over;
use crate::transcript::Reading;
use crate::{Nanos, SpendLimit, ThreadId};

/// What the records of one thread say about money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadAccount {
    pub(super) cap: SpendLimit,
    /// What requests cost that a record ends.
    pub(super) settled: Nanos,
    /// The reservation of the request that no record ends.
    pub(super) reserved: Nanos,
    /// Whether a request cost more than was reserved for it.
    pub(super) is_overrun: bool,
    pub(super) children: BTreeMap<ThreadId, Share>,
    /// The thread that continues the conversation, and its limit.
    pub(super) successor: Option<(ThreadId, SpendLimit)>,
}

/// What a child takes of the money of its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Share {
    /// The child has not ended: its whole share.
    Held(SpendLimit),
    /// The child has ended: its cost.
    Ended { cost: Nanos, is_overrun: bool },
}

impl ThreadAccount {
    pub(super) const fn new(cap: SpendLimit) -> Self {
        let (settled, reserved) = (Nanos::ZERO, Nanos::ZERO);
        let children = BTreeMap::new();
        Self { cap, settled, reserved, is_overrun: false, children, successor: None }
    }

    /// The account of a thread whose transcript cannot be relied on: it may have spent all that it was given.
    pub(super) fn spent(share: Nanos) -> Self {
        Self { settled: share, ..Self::new(SpendLimit::AtMost(share)) }
    }

    /// Folds the records of a thread.
    pub(super) fn of(reading: &Reading) -> Self {
        let mut account = Self::new(SpendLimit::Unlimited);
        for (record, is_sealed) in reading.sealed() {
            if let Some(change) = Change::of_record(record, is_sealed) {
                account.apply(change);
            }
        }
        account
    }

    /// Changes the account as one record says, be it appended or read.
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Begin { cap } => *self = Self::new(cap),
            Change::Reserve { amount } => self.reserve(amount),
            Change::Settle { cost } => self.settle(cost),
            Change::Retry { cost, amount } => {
                self.settle(cost);
                self.reserve(amount);
            }
            Change::Spawn { child, share } => {
                self.children.insert(child, Share::Held(share));
            }
            Change::EndChild { child, cost, is_overrun } => self.end_child(child, cost, is_overrun),
            Change::Continue { next, share } => self.successor = Some((next, share)),
            Change::Raise { cap } => self.raise(cap),
        }
    }

    /// A request that is sent again without an end may have been charged all the same.
    fn reserve(&mut self, amount: Nanos) {
        self.settled = self.settled.saturating_add(self.reserved);
        self.reserved = amount;
    }

    fn settle(&mut self, cost: Nanos) {
        self.is_overrun |= self.reserved < cost;
        self.settled = self.settled.saturating_add(cost);
        self.reserved = Nanos::ZERO;
    }

    /// The operator knows what went beyond a reservation, which no longer keeps the rest of the money.
    fn raise(&mut self, cap: SpendLimit) {
        (self.cap, self.is_overrun) = (cap, false);
        for share in self.children.values_mut() {
            if let Share::Ended { is_overrun, .. } = share {
                *is_overrun = false;
            }
        }
    }

    fn end_child(&mut self, child: ThreadId, cost: Nanos, is_overrun: bool) {
        let share = match self.children.get(&child) {
            Some(Share::Held(share)) => *share,
            Some(Share::Ended { .. }) | None => SpendLimit::Unlimited,
        };
        let is_overrun = is_overrun || is_over(share, cost);
        self.children.insert(child, Share::Ended { cost, is_overrun });
    }
}
