//! What is drawn from what is set aside.

use super::*;

#[test]
fn what_is_drawn_is_settled_and_the_rest_stays_set_aside() {
    on_each(|name, ledger| {
        ledger.open(&id(1), at_most(100)).unwrap();
        let purse = ledger.reserve(&id(1), Nanos::new(80)).unwrap();
        let rows = [(30, Some(50), (30, 50, 0)), (50, Some(0), (80, 0, 0)), (5, None, (85, 0, 0))];
        let mut purse = Some(purse);
        for (actual, left, (settled, reserved, overrun)) in rows {
            let from = purse.unwrap();
            purse = ledger.draw(from, Nanos::new(actual)).unwrap();
            if let Some(left) = left {
                assert_eq!(purse.as_ref().unwrap().amount(), Nanos::new(left), "{name} {actual}");
            }
            let balance = ledger.open(&id(1), at_most(100)).unwrap();
            let found = (balance.settled.get(), balance.reserved.get(), balance.overrun.get());
            assert_eq!(found, (settled, reserved, overrun), "{name} {actual}");
        }
    });
}

/// A ledger that leaves [`Ledger::draw`] as it is.
#[derive(Default)]
pub(super) struct Plain(MemoryLedger);

impl Ledger for Plain {
    fn open(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        self.0.open(thread, cap)
    }

    fn set_cap(&self, thread: &ThreadId, cap: SpendLimit) -> Result<Balance, LedgerError> {
        self.0.set_cap(thread, cap)
    }

    fn reserve(&self, thread: &ThreadId, amount: Nanos) -> Result<Reservation, LedgerError> {
        self.0.reserve(thread, amount)
    }

    fn settle(&self, reservation: Reservation, actual: Nanos) -> Result<Balance, LedgerError> {
        self.0.settle(reservation, actual)
    }

    fn unsettled(&self, thread: &ThreadId) -> Result<Vec<Reservation>, LedgerError> {
        self.0.unsettled(thread)
    }

    fn open_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
    ) -> Result<Balance, LedgerError> {
        self.0.open_child(parent, child, cap)
    }

    fn close_child(&self, child: &ThreadId) -> Result<Balance, LedgerError> {
        self.0.close_child(child)
    }

    fn recall(&self, thread: &ThreadId, spending: Spending) -> Result<Balance, LedgerError> {
        self.0.recall(thread, spending)
    }

    fn recall_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), LedgerError> {
        self.0.recall_child(parent, child, cap, cost)
    }
}
