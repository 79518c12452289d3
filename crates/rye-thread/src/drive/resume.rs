//! Going on with a thread whose program was stopped or killed, or that waited for somebody.

use serde_json::{Map, Value};

use super::paid::{settle_left, spending};
use super::recover::{Recovered, ResumeError, recover};
use super::warnings::{KILLED, thread_warnings};
use super::{DriveContext, Driver, Stop, telemetry};
use crate::transcript::{Event, Reading};
use crate::{Nanos, Outcome, Run};

/// What was found when a thread was opened again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resumed<'a> {
    /// The verified transcript, as [`Journal::open`](crate::Journal::open) gives it.
    pub reading: &'a Reading,
    /// What the caller wants on record of this opening.
    pub facts: Map<String, Value>,
}

impl<'a> Resumed<'a> {
    /// An opening of which nothing more is recorded.
    #[must_use]
    pub fn new(reading: &'a Reading) -> Self {
        Self { reading, facts: Map::new() }
    }
}

/// Goes on with a thread from what its transcript holds, as [`drive`](crate::drive) would have done.
///
/// `run` is the run that the thread began with, made anew; it is led through the recorded answers and receipts, so that
/// the history is the recorded one byte for byte. A request that has no answer is sent again, its money counted as
/// spent. A call that has a receipt is not run again; one that has an intent alone is run again when that changes
/// nothing ([`Effect`](crate::Effect)), and else waits for somebody to decide.
///
/// # Errors
///
/// Before anything is done: when what the thread began with changed, or the records contradict each other, or the
/// ledger fails.
pub async fn resume(
    run: Run,
    resumed: Resumed<'_>,
    context: DriveContext<'_>,
) -> Result<Outcome, ResumeError> {
    let state = context.journal.record().state;
    if state.is_final() {
        return Err(ResumeError::Ended { state });
    }
    let driver = Driver::new(&run, context);
    let opening = driver.opening(&run);
    let recovered = recover(run, opening, resumed.reading)?;
    let mut driver = Driver { before: recovered.run.elapsed(), ..driver };
    if recovered.has_fallen_back
        && let Some(next) = driver.context.provider.fallback()
    {
        driver.context.provider = next;
        driver.info = next.describe();
    }
    driver.settle_left(&recovered, resumed.reading)?;
    let Recovered {
        mut run,
        progress,
        missing,
        ended,
        due,
        log,
        evaluations,
        successor,
        spawns,
        unanswered,
        added,
        ..
    } = recovered;
    (driver.progress, driver.due, driver.log) = (progress, due, log);
    (driver.evaluations, driver.successor) = (evaluations, successor);
    driver.warnings = thread_warnings(resumed.reading);
    driver.add_all(added);
    if let Some(state) = ended {
        return Ok(driver.close(&run, state));
    }
    let (span, before) = (telemetry::agent(&driver), *run.usage());
    let driven = async {
        let mut reopened = driver.reopen(&run, &missing, resumed);
        if let Some(reserved) = unanswered {
            driver.record_killed(&run, reserved);
        }
        if reopened.is_ok() {
            reopened = driver.adopt(spawns).await;
        }
        if let Err(stop) = reopened
            && let Some(outcome) = driver.stop(&mut run, stop).await
        {
            return outcome;
        }
        driver.go(run).await
    };
    Ok(telemetry::within(span, before, driven).await)
}

impl Driver<'_> {
    /// Settles what the program before this one set aside, and what it spent by another ledger than this.
    fn settle_left(&self, recovered: &Recovered, reading: &Reading) -> Result<(), ResumeError> {
        let (thread, ledger) = (self.context.journal.thread(), self.context.ledger);
        ledger.open(thread, recovered.run.limits().spend)?;
        settle_left(thread, reading, ledger)?;
        ledger.recall(thread, spending(reading))?;
        Ok(())
    }

    /// Records that a request of the program before this one has no answer; it was settled before.
    fn record_killed(&mut self, run: &Run, cost: Nanos) {
        let message = "the program was stopped before its answer was recorded".to_owned();
        let (turn, class) = (run.turns() + 1, KILLED.to_owned());
        self.emit(&Event::RequestFailed { turn, class, message, cost });
    }

    /// Completes what the program before this one was about to record, and records that this one goes on.
    fn reopen(&mut self, run: &Run, missing: &[Event], resumed: Resumed<'_>) -> Result<(), Stop> {
        let now = self.context.clock.now();
        self.context.journal.begin_again(&self.info, now)?;
        // It was known when the last record was written: the time since then is nobody's.
        let then = resumed.reading.records.last().map_or(now, |record| record.at);
        for event in missing {
            self.context.journal.append(event, then);
            self.tell(event);
        }
        let cut = resumed.reading.torn.as_ref().map_or(0, std::ops::Range::len);
        self.emit(&Event::ThreadResumed {
            epoch: self.context.journal.epoch(),
            cut_bytes: u64::try_from(cut).unwrap_or(u64::MAX),
            facts: resumed.facts,
            cost: self.cost(run),
            elapsed: self.before,
            signed_by: self.context.journal.signing_key().public().to_pem(),
        });
        self.checkpoint();
        Ok(())
    }
}
