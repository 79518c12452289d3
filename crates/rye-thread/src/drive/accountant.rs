//! The owner of the money of a thread: what a request may cost, and what it did cost (SPEC 10.6).
//!
//! The account itself is a fold over the records, so that recording an event is what changes it.

use std::sync::Arc;

use rye_types::{Nanos, Prices, SpendLimit, Usage};

use super::first::affordable;
use super::stop::out_of_money;
use crate::{Account, Counted, Failure, ProviderError, Reply, Request, ThreadId, TreeAccount};

/// Reserves money before a request and computes its cost after it.
pub(super) struct Accountant {
    pub(super) tree: Arc<TreeAccount>,
    thread: ThreadId,
    /// `true` in a replay, in which no money is spent.
    is_replay: bool,
}

impl Accountant {
    pub(super) const fn new(tree: Arc<TreeAccount>, thread: ThreadId, is_replay: bool) -> Self {
        Self { tree, thread, is_replay }
    }

    /// Returns the account of the thread; before its first record nothing of `cap` is spent.
    pub(super) fn account(&self, cap: SpendLimit) -> Account {
        self.tree.account(&self.thread).unwrap_or_else(|| Account::new(cap))
    }

    /// Returns the most that the request may cost, after lowering the length of the answer to what the free money can pay. The
    /// record of the request reserves that amount.
    ///
    /// Without prices no cost is known, and the spend limit is unlimited.
    pub(super) fn reserve(
        &self,
        cap: SpendLimit,
        prices: Option<Prices>,
        input: u64,
        request: &mut Request,
    ) -> Result<Nanos, Failure> {
        let Some(prices) = prices else { return Ok(Nanos::ZERO) };
        if !self.is_replay {
            let most = request.max_output_tokens;
            request.max_output_tokens = affordable(&self.account(cap), &prices, input, most)?;
        }
        Ok(prices.worst_case(input, request.max_output_tokens))
    }

    /// Fails unless there is money for another attempt like the one that is reserved, once that one has cost this much.
    pub(super) fn check_another_attempt(
        &self,
        cap: SpendLimit,
        cost: Nanos,
    ) -> Result<(), Failure> {
        let account = self.account(cap);
        match account.free() {
            Some(free) if free < cost && !self.is_replay => Err(out_of_money(&account, cost)),
            _ => Ok(()),
        }
    }

    /// Returns the cost of a reply. If the provider left out a part of the count, it may have cost the whole reservation, or
    /// more if the other parts say so.
    pub(super) fn cost_of_reply(prices: Option<Prices>, reply: &Reply, reserved: Nanos) -> Nanos {
        let counted = prices.map_or(Nanos::ZERO, |prices| prices.cost(&reply.usage));
        match reply.counted {
            Counted::Unreported => reserved.max(counted),
            Counted::ByProvider => counted,
        }
    }

    /// Returns the tokens of a reply whose count lacks a part: the most that there can be, or the counted ones if they are
    /// more.
    pub(super) fn usage_of_uncounted(counted: Usage, most: Usage) -> Usage {
        let input = counted.total().saturating_sub(counted.output);
        let mut usage = if most.input < input { counted } else { most };
        usage.output = counted.output.max(most.output);
        usage
    }

    /// Returns the cost of a request that failed.
    pub(super) fn cost_of_failure(
        prices: Option<Prices>,
        error: &ProviderError,
        reserved: Nanos,
    ) -> Nanos {
        match (error.usage, prices) {
            (Some(usage), Some(prices)) => prices.cost(&usage),
            _ if error.may_have_cost() => reserved,
            _ => Nanos::ZERO,
        }
    }
}
