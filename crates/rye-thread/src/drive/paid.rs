//! What requests cost, told by the transcript, for money that a program left set aside.
//!
//! Several requests may be paid out of one reservation, each of them without waiting for the ledger's disk. What the ledger
//! then says of it may be older than the transcript: the first of them tells how much there was, the ledger how much is left,
//! and the costs on record how much there should be.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::budget::{Ledger, LedgerError, Reservation, Spending};
use crate::transcript::{Reading, Record};
use crate::{Nanos, ThreadId};

/// Settles what a program that was stopped left set aside for the thread, by its verified transcript: what the answers cost,
/// and for a request without one its worst case, because it may have been charged.
///
/// Of a reservation that no record names nothing was used: no request is sent before the record that names its reservation
/// is on disk.
///
/// # Errors
///
/// When the ledger fails.
pub fn settle_left(
    thread: &ThreadId,
    reading: &Reading,
    ledger: &dyn Ledger,
) -> Result<(), LedgerError> {
    let left = ledger.unsettled(thread)?;
    if left.is_empty() {
        return Ok(());
    }
    let mut paid = Paid::default();
    reading.records.iter().for_each(|record| paid.take(record));
    for left in left {
        let owed = paid.owed(&left);
        ledger.settle(left, owed)?;
    }
    Ok(())
}

/// What the requests of a thread have cost by its verified transcript, for a ledger that may not know it.
#[must_use]
pub fn spending(reading: &Reading) -> Spending {
    let (mut spending, mut asked) = (Spending::default(), None);
    for record in &reading.records {
        match record.event.as_str() {
            // One that is asked again may have been charged all the same.
            "step_start" => {
                spending.unanswered = spending.unanswered.saturating_add(asked.unwrap_or_default());
                asked = payload(record).map(|wire: StartWire| Nanos::new(wire.reserved_nanos));
            }
            "step_finish" => {
                let cost = payload(record).map(|wire: FinishWire| Nanos::new(wire.cost_nanos));
                let cost = cost.or(asked).unwrap_or_default();
                (spending.answered, asked) = (spending.answered.saturating_add(cost), None);
            }
            "request_failed" | "request_retried" => {
                let cost = payload(record).map(|wire: FinishWire| Nanos::new(wire.cost_nanos));
                let cost = cost.or(asked).unwrap_or_default();
                spending.answered = spending.answered.saturating_add(cost);
                // A retried request goes on with another attempt.
                asked = payload(record).map(|wire: StartWire| Nanos::new(wire.reserved_nanos));
            }
            _ => {}
        }
    }
    spending.unanswered = spending.unanswered.saturating_add(asked.unwrap_or_default());
    spending
}

/// The reservations that requests named, by number.
#[derive(Debug, Default)]
struct Paid {
    drawn: BTreeMap<u64, Drawn>,
    /// The reservation of the request that has no answer, and the most that it costs.
    unanswered: Option<(u64, Nanos)>,
}

#[derive(Debug)]
struct Drawn {
    /// How much there was before the first request.
    held: Nanos,
    /// What the requests cost.
    cost: Nanos,
}

impl Paid {
    fn take(&mut self, record: &Record) {
        match record.event.as_str() {
            "step_start" => self.asked(payload(record).as_ref()),
            "request_failed" | "step_finish" => self.ended(record),
            "request_retried" => {
                self.ended(record);
                self.asked(payload(record).as_ref());
            }
            _ => {}
        }
    }

    /// Counts what the request, or one attempt of it, has cost.
    fn ended(&mut self, record: &Record) {
        let cost = payload(record).map(|FinishWire { cost_nanos }| Nanos::new(cost_nanos));
        if let Some((number, worst)) = self.unanswered.take() {
            self.add(number, cost.unwrap_or(worst));
        }
    }

    fn asked(&mut self, wire: Option<&StartWire>) {
        // One that is asked again, by whoever went on, may have been charged all the same.
        if let Some((number, worst)) = self.unanswered.take() {
            self.add(number, worst);
        }
        let Some(&StartWire { reservation: Some(number), reserved_nanos, held_nanos }) = wire
        else {
            return;
        };
        let worst = Nanos::new(reserved_nanos);
        let held = held_nanos.map_or(worst, Nanos::new);
        // Where the sums do not follow from each other, a ledger that was lost has given the number out again.
        let follows = |drawn: &Drawn| drawn.held.saturating_sub(drawn.cost) == held;
        if !self.drawn.get(&number).is_some_and(follows) {
            self.drawn.insert(number, Drawn { held, cost: Nanos::ZERO });
        }
        self.unanswered = Some((number, worst));
    }

    fn add(&mut self, number: u64, cost: Nanos) {
        if let Some(drawn) = self.drawn.get_mut(&number) {
            drawn.cost = drawn.cost.saturating_add(cost);
        }
    }

    fn owed(&self, left: &Reservation) -> Nanos {
        let Some(drawn) = self.drawn.get(&left.number()) else { return Nanos::ZERO };
        let unanswered = self.unanswered.filter(|(number, _)| *number == left.number());
        let due = drawn.cost.saturating_add(unanswered.map_or(Nanos::ZERO, |(_, worst)| worst));
        due.saturating_sub(drawn.held.saturating_sub(left.amount()))
    }
}

fn payload<T: DeserializeOwned>(record: &Record) -> Option<T> {
    serde_json::from_str(record.payload.get()).ok()
}

#[derive(Deserialize)]
struct StartWire {
    #[serde(default)]
    reservation: Option<u64>,
    reserved_nanos: u64,
    /// Missing where each request had a reservation of its own.
    held_nanos: Option<u64>,
}

#[derive(Deserialize)]
struct FinishWire {
    cost_nanos: u64,
}
