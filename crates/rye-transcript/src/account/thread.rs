//! The money of one thread, from its own records alone.

use std::collections::BTreeMap;

use rye_types::{Nanos, SpendLimit};

use super::is_over;
use crate::money::Change;
use crate::{Reading, ThreadId};

/// The account of one thread, without its descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ThreadAccount {
    pub(super) cap: SpendLimit,
    /// The cost of finished requests.
    pub(super) settled: Nanos,
    /// The reservation of the unfinished request.
    pub(super) reserved: Nanos,
    /// `true` if a request cost more than its reservation.
    pub(super) is_overrun: bool,
    pub(super) children: BTreeMap<ThreadId, Share>,
    pub(super) successor: Option<Successor>,
}

/// The thread that continues the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Successor {
    pub(super) thread: ThreadId,
    /// Its spend limit.
    pub(super) share: SpendLimit,
}

/// The share that a child takes from the money of its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Share {
    /// The child has not ended. Its whole share is taken.
    Held(SpendLimit),
    /// The child has ended. Its cost is taken.
    Ended { cost: Nanos, is_overrun: bool },
}

impl ThreadAccount {
    pub(super) const fn new(cap: SpendLimit) -> Self {
        Self {
            cap,
            settled: Nanos::ZERO,
            reserved: Nanos::ZERO,
            is_overrun: false,
            children: BTreeMap::new(),
            successor: None,
        }
    }

    /// Creates the account of a thread without a reliable transcript. The whole share counts as spent.
    pub(super) fn with_all_spent(share: Nanos) -> Self {
        Self { settled: share, ..Self::new(SpendLimit::AtMost(share)) }
    }

    /// Folds the records of a thread.
    pub(super) fn of(reading: &Reading) -> Self {
        let mut account = Self::new(SpendLimit::Unlimited);
        for (record, is_sealed) in reading.records_with_seals() {
            if let Some(change) = record.change.as_ref().filter(|it| is_sealed || !it.needs_seal())
            {
                account.apply(change.clone());
            }
        }
        account
    }

    /// Returns what is settled, with the cost of the children that have ended.
    pub(super) fn cost(&self) -> Nanos {
        let children = self.children.values().map(|share| match share {
            Share::Held(_) => Nanos::ZERO,
            Share::Ended { cost, .. } => *cost,
        });
        children.fold(self.settled, Nanos::saturating_add)
    }

    /// Applies the change of one record, appended or read.
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
            Change::Continue { next, share } => {
                self.successor = Some(Successor { thread: next, share });
            }
            Change::Raise { cap } => self.raise(cap),
        }
    }

    /// Reserves money for a request. An earlier reservation without an end counts as spent, because it may have been
    /// charged.
    fn reserve(&mut self, amount: Nanos) {
        self.settled = self.settled.saturating_add(self.reserved);
        self.reserved = amount;
    }

    fn settle(&mut self, cost: Nanos) {
        self.is_overrun |= self.reserved < cost;
        self.settled = self.settled.saturating_add(cost);
        self.reserved = Nanos::ZERO;
    }

    /// Raises the limit. It also clears overruns, because the operator decided with knowledge of them.
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
