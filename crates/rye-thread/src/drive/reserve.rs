//! The money for a request, which is free before the request is recorded and sent.

use super::first::affordable;
use super::stop::exhausted;
use super::{Driver, Stop};
use crate::{Account, Failure, Nanos, Request, Run};

impl Driver<'_> {
    /// The account of the thread.
    pub(super) fn account(&self, run: &Run) -> Account {
        let account = self.context.journal.account();
        account.unwrap_or_else(|| Account::new(run.limits().spend))
    }

    /// Returns the most that the request may cost, after lowering the length of the answer to what the free money can pay. The
    /// record of the request reserves that amount.
    ///
    /// Without prices no cost is known, and the spend limit is unlimited. In a replay no money is spent.
    pub(super) fn reserve(&self, run: &Run, request: &mut Request) -> Result<Nanos, Stop> {
        let Some(prices) = self.info.prices else { return Ok(Nanos::ZERO) };
        let (input, most) = (run.input_bound(), request.max_output_tokens);
        if self.tape.is_none() {
            let output = affordable(&self.account(run), &prices, input, most);
            request.max_output_tokens = output.map_err(Stop::Failed)?;
        }
        Ok(prices.worst_case(input, request.max_output_tokens))
    }

    /// Fails unless there is money for another attempt like the one that is reserved, once that one has cost this much.
    pub(super) fn check_another_attempt(&self, run: &Run, cost: Nanos) -> Result<(), Failure> {
        let account = self.account(run);
        match account.free() {
            Some(free) if free < cost => Err(exhausted(&account, cost)),
            _ => Ok(()),
        }
    }
}
