//! Another model for a thread whose first request was refused for existence or capacity (SPEC 11.1).

use super::first::refuse_unpriced;
use super::stop::with_causes;
use super::{Driver, Stop};
use crate::transcript::Event;
use crate::{Failure, FailureKind, ProviderError, Run};

impl Driver<'_> {
    /// Hands the thread over to the fallback where there is one and may be one, so that the request is made again.
    ///
    /// `booked` is the end of the message, which tells what the failed request counts as.
    pub(super) fn fall_back(
        &mut self,
        run: &Run,
        error: &ProviderError,
        booked: &str,
    ) -> Result<(), Stop> {
        let reason = format!("{}{booked}", with_causes(error));
        let may = run.turns() == 0 && error.is_for_the_fallback();
        let Some(next) = self.context.provider.fallback().filter(|_| may) else {
            return Err(Stop::Failed(Failure::new(FailureKind::Provider(error.class), &reason)));
        };
        let provider = next.describe();
        refuse_unpriced(&provider, run.limits()).map_err(|Failure { kind, message }| {
            let message = format!("{reason}; its fallback is not asked: {message}");
            Stop::Failed(Failure::new(kind, &message))
        })?;
        self.context.provider = next;
        self.info = provider.clone();
        self.context.journal.begin(&self.info, self.context.clock.now());
        self.emit(&Event::ModelFallback { provider, reason });
        Ok(())
    }
}
