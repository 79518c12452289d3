//! A ledger through which nobody goes unseen.

use rye_thread::budget::{Balance, Ledger, LedgerError, Reservation, Spending};
use rye_thread::{Nanos, SpendLimit, ThreadId};

/// What somebody wants of a ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    Open { cap: SpendLimit },
    Reserve { amount: Nanos },
    Settle { number: u64, actual: Nanos },
    Draw { number: u64, actual: Nanos },
    Unsettled,
    OpenChild,
    CloseChild,
    Recall,
    RecallChild,
}

/// Who sees each use, and may refuse it.
pub(crate) trait Tap: Send + Sync {
    fn through<T>(
        &self,
        used: Use,
        act: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError>;
}

/// The ledger of a [`Tap`].
#[derive(Default)]
pub(crate) struct Tapped<T>(pub(crate) T);

impl<T: Tap> Ledger for Tapped<T> {
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        self.0.through(Use::Open { cap }, |ledger| ledger.open(thread, cap))
    }

    fn set_cap(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        self.0.through(Use::Open { cap }, |ledger| ledger.set_cap(thread, cap))
    }

    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        self.0.through(Use::Reserve { amount }, |ledger| ledger.reserve(thread, amount))
    }

    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        let used = Use::Settle { number: reservation.number(), actual };
        self.0.through(used, |ledger| ledger.settle(reservation, actual))
    }

    fn draw(
        &self,
        reservation: Reservation,
        actual: Nanos,
    ) -> Result<Option<Reservation>, LedgerError> {
        let used = Use::Draw { number: reservation.number(), actual };
        self.0.through(used, |ledger| ledger.draw(reservation, actual))
    }

    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        self.0.through(Use::Unsettled, |ledger| ledger.unsettled(thread))
    }

    fn open_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
    ) -> Result<Balance, LedgerError> {
        self.0.through(Use::OpenChild, |ledger| ledger.open_child(parent, child, cap))
    }

    fn close_child(&self, child: &ThreadId) -> Result<Balance, LedgerError> {
        self.0.through(Use::CloseChild, |ledger| ledger.close_child(child))
    }

    fn recall(&self, thread: &ThreadId, spending: Spending) -> Result<Balance, LedgerError> {
        self.0.through(Use::Recall, |ledger| ledger.recall(thread, spending))
    }

    fn recall_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), LedgerError> {
        self.0.through(Use::RecallChild, |ledger| ledger.recall_child(parent, child, cap, cost))
    }
}
