//! What is set aside for the requests of a thread, and what of it is spent.

use std::time::Duration;

use super::first::affordable;
use super::stop::exhausted;
use super::{Driver, Stop};
use crate::budget::{Balance, LedgerError, Reservation};
use crate::{Nanos, Request, Run};

/// Money for several requests. What their answers cost stands in the transcript, and is taken from the account now and then:
/// what is settled there and what is set aside come to the same before and after.
#[derive(Debug, Default)]
pub(super) struct Purse {
    set_aside: Option<Reservation>,
    /// What of it was spent, and is not settled yet.
    owed: Nanos,
    /// When the account was told last.
    told: Duration,
}

impl Purse {
    /// The number of the reservation, by which the transcript names it.
    pub(super) fn number(&self) -> Option<u64> {
        self.set_aside.as_ref().map(Reservation::number)
    }

    /// What requests to come can be paid with.
    pub(super) fn left(&self) -> Nanos {
        let held = self.set_aside.as_ref().map_or(Nanos::ZERO, Reservation::amount);
        held.saturating_sub(self.owed)
    }

    /// Notes what an answer cost.
    pub(super) fn owe(&mut self, cost: Nanos) {
        self.owed = self.owed.saturating_add(cost);
    }

    fn fill(&mut self, reservation: Reservation) {
        self.set_aside = Some(reservation);
    }
}

/// How many requests like the one before them money is set aside for at once: answers mostly cost far less than the worst.
const REQUESTS_AHEAD: u64 = 8;

/// Answers that come faster than this are settled together, so that who looks at the account sees it as it just was.
const TOGETHER: Duration = Duration::from_millis(100);

impl Driver<'_> {
    /// Sees to it that the worst case is set aside, after lowering the length of the answer to what the remaining money can
    /// pay, and returns it.
    ///
    /// Without prices nothing can be reckoned, and spending is known to be unlimited.
    pub(super) fn reserve(&mut self, run: &Run, request: &mut Request) -> Result<Nanos, Stop> {
        let Some(prices) = self.info.prices else { return Ok(Nanos::ZERO) };
        let (input, most) = (run.input_bound(), request.max_output_tokens);
        let worst = prices.worst_case(input, most);
        if self.purse.number().is_some() && worst <= self.purse.left() {
            return Ok(worst);
        }
        self.empty_purse()?;
        let Err(balance) = self.fill_purse(worst)? else { return Ok(worst) };
        let output = affordable(&balance, &prices, input, most).map_err(Stop::Failed)?;
        request.max_output_tokens = output;
        let worst = prices.worst_case(input, output);
        let (thread, ledger) = (self.context.journal.thread(), self.context.ledger);
        self.purse.fill(ledger.reserve(thread, worst)?);
        Ok(worst)
    }

    /// Sets aside what this request may cost, and more for those after it, which then do not wait for the ledger's disk; or
    /// says how the account stands where there is too little for this one.
    fn fill_purse(&mut self, worst: Nanos) -> Result<Result<(), Balance>, LedgerError> {
        let (thread, ledger) = (self.context.journal.thread(), self.context.ledger);
        let mut wanted = Nanos::new(worst.get().saturating_mul(REQUESTS_AHEAD));
        loop {
            match ledger.reserve(thread, wanted) {
                Ok(purse) => {
                    self.purse.fill(purse);
                    return Ok(Ok(()));
                }
                Err(LedgerError::TooLarge) if worst < wanted => wanted = worst,
                Err(LedgerError::Exhausted { balance, .. }) => {
                    let more = balance.free().unwrap_or(Nanos::ZERO).get().checked_sub(worst.get());
                    let Some(more) = more.filter(|_| worst < wanted) else {
                        return Ok(Err(balance));
                    };
                    let less = Nanos::new(worst.get() + more / 2);
                    // A closed account has money and gives none.
                    wanted = if less < wanted { less } else { worst };
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Settles what the answers cost, when somebody may look at the account before the next request; the rest stays set aside.
    pub(super) fn pay(&mut self) -> Result<(), LedgerError> {
        if self.purse.owed == Nanos::ZERO {
            return Ok(());
        }
        let owed = std::mem::take(&mut self.purse.owed);
        self.purse.told = self.context.clock.elapsed();
        if let Some(purse) = self.purse.set_aside.take() {
            self.purse.set_aside = self.context.ledger.draw(purse, owed)?;
        }
        Ok(())
    }

    /// As [`Driver::pay`], between requests that follow each other, where it can wait for the next ones.
    pub(super) fn pay_now_and_then(&mut self) -> Result<(), LedgerError> {
        let since = self.context.clock.elapsed().saturating_sub(self.purse.told);
        if since < TOGETHER { Ok(()) } else { self.pay() }
    }

    /// Settles what the answers cost, and sets nothing aside any more: the thread stops, or somebody else may use it.
    pub(super) fn empty_purse(&mut self) -> Result<(), LedgerError> {
        let owed = std::mem::take(&mut self.purse.owed);
        self.purse.told = self.context.clock.elapsed();
        match self.purse.set_aside.take() {
            Some(purse) => self.context.ledger.settle(purse, owed).map(drop),
            None => Ok(()),
        }
    }

    /// Settles an attempt that failed, and sees to it that the worst case of the next one is reserved.
    pub(super) fn reserve_again(&mut self, cost: Nanos, worst: Nanos) -> Result<(), Stop> {
        self.purse.owe(cost);
        let is_covered = self.purse.number().is_some() && worst <= self.purse.left();
        if self.info.prices.is_none() || is_covered {
            return Ok(());
        }
        self.empty_purse()?;
        self.fill_purse(worst)?.map_err(|balance| Stop::Failed(exhausted(&balance, worst)))
    }

    /// Settles a request that has no answer.
    pub(super) fn settle_lost(&mut self, cost: Nanos) -> Result<(), LedgerError> {
        self.purse.owe(cost);
        self.empty_purse()
    }
}
