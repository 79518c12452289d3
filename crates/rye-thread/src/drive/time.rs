//! The time that a thread takes, without its approval waits.

use std::time::Duration;

use rye_types::{Limit, LimitHit};

use crate::{Clock, Failure, FailureKind, Run};

/// Measures the time of one thread. Approval waits are left out.
pub(super) struct ThreadTime<'a> {
    clock: &'a dyn Clock,
    /// The time of the clock when this driver began.
    started: Duration,
    /// The time that the run had taken before that.
    pub(super) before: Duration,
    /// The time spent waiting for approvals.
    waited: Duration,
}

impl<'a> ThreadTime<'a> {
    pub(super) fn new(clock: &'a dyn Clock, before: Duration) -> Self {
        Self { clock, started: clock.elapsed(), before, waited: Duration::ZERO }
    }

    /// Returns the time of the clock, in which approval waits count.
    pub(super) fn of_clock(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Returns the time that the thread has taken.
    pub(super) fn elapsed(&self) -> Duration {
        let driven = self.clock.elapsed().saturating_sub(self.started);
        self.before.saturating_add(driven.saturating_sub(self.waited))
    }

    /// Returns the time that a request or a call that begins now may take.
    pub(super) fn left(&self, run: &Run) -> Duration {
        Duration::from_secs(run.limits().duration_seconds).saturating_sub(self.elapsed())
    }

    /// Leaves an approval wait out.
    pub(super) fn exclude(&mut self, wait: Duration) {
        self.waited += wait;
    }

    /// Returns the failure of a thread whose time is used up.
    pub(super) fn used_up(&self, run: &Run) -> Failure {
        let maximum = run.limits().duration_seconds;
        let value = self.elapsed().as_secs().max(maximum);
        let hit = LimitHit::new(Limit::Duration, value, maximum);
        let message = hit.to_string();
        Failure::new(FailureKind::Limit(hit), &message)
    }
}
