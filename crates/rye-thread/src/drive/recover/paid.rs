//! What requests cost, told by the transcript, for money that a program left set aside.
//!
//! Several requests may be paid out of one reservation, each of them without waiting for the ledger's disk. What the ledger
//! then says of it may be older than the transcript, never newer than the requests that were sent: the first of them tells
//! how much there was, the ledger how much is left, and the costs on record how much there should be.

use std::collections::BTreeMap;

use crate::Nanos;
use crate::budget::Reservation;

/// The reservations that requests named, by number.
#[derive(Debug, Default)]
pub(in crate::drive) struct Paid {
    drawn: BTreeMap<u64, Drawn>,
    /// The reservation of the request that has no answer, and the most that it costs.
    unanswered: Option<(u64, Nanos)>,
}

#[derive(Debug)]
struct Drawn {
    /// How much there was before the first request.
    held: Nanos,
    /// What the answers cost.
    cost: Nanos,
    /// Whether somebody else went on since, who settled it.
    is_over: bool,
}

impl Paid {
    pub(super) fn asked(&mut self, number: Option<u64>, worst: Nanos, held: Nanos) {
        let Some(number) = number else {
            self.unanswered = None;
            return;
        };
        let first = Drawn { held, cost: Nanos::ZERO, is_over: false };
        // A number that was lost with the power may have been given out again.
        if self.drawn.get(&number).is_none_or(|drawn| drawn.is_over) {
            self.drawn.insert(number, first);
        }
        self.unanswered = Some((number, worst));
    }

    pub(super) fn answered(&mut self, cost: Nanos) {
        if let Some((number, _)) = self.unanswered.take() {
            self.add(number, cost);
        }
    }

    /// Somebody went on with the thread, once what was left over was settled.
    pub(super) fn resumed(&mut self) {
        if let Some((number, worst)) = self.unanswered.take() {
            self.add(number, worst);
        }
        self.drawn.values_mut().for_each(|drawn| drawn.is_over = true);
    }

    fn add(&mut self, number: u64, cost: Nanos) {
        if let Some(drawn) = self.drawn.get_mut(&number) {
            drawn.cost = drawn.cost.saturating_add(cost);
        }
    }

    /// What of a reservation that is still open is to be settled: for a request without an answer its worst case, because
    /// it may have been charged. Of a reservation that no record names nothing was used: no request is sent before the
    /// record that names its reservation is on disk.
    pub(in crate::drive) fn owed(&self, left: &Reservation) -> Nanos {
        let Some(drawn) = self.drawn.get(&left.number()) else { return Nanos::ZERO };
        let unanswered = self.unanswered.filter(|(number, _)| *number == left.number());
        let due = drawn.cost.saturating_add(unanswered.map_or(Nanos::ZERO, |(_, worst)| worst));
        due.saturating_sub(drawn.held.saturating_sub(left.amount()))
    }
}
