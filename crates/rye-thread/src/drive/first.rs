//! The decision on the first request: the price of the model, and the money that is left.

use std::time::Duration;

use rye_types::{Limit, LimitHit, LimitSet, Prices, SpendLimit};

use super::stop::out_of_money;
use crate::{Account, End, Failure, FailureKind, ProviderInfo, Request, Run, Step};

/// The request that [`drive`](crate::drive) sends first for this run to this model; nothing is sent or reserved.
///
/// # Errors
///
/// The failure that the run ends with before its first request: a limit that is reached at once, a spend limit over a
/// model without a price, or a run that has begun already.
pub fn first_request(mut run: Run, info: &ProviderInfo) -> Result<Request, Failure> {
    refuse_unpriced(info, run.limits())?;
    refuse_long_opening(info, &run)?;
    let begun = "the run has begun already, so that its first request is behind it";
    if run.turns() > 0 {
        return Err(Failure::new(FailureKind::OutOfTurn, begun));
    }
    let (mut request, input) = match run.step(Duration::ZERO) {
        Step::CallModel(request) => (request, run.input_bound()),
        Step::Done(End::Failed(failure)) => return Err(failure),
        Step::AskApproval { .. } | Step::CallTools { .. } | Step::Done(_) => {
            return Err(Failure::new(FailureKind::OutOfTurn, begun));
        }
    };
    if let Some(prices) = info.prices {
        let account = Account::new(run.limits().spend);
        request.max_output_tokens =
            affordable(&account, &prices, input, request.max_output_tokens)?;
    }
    Ok(request)
}

/// Refuses a limit on money for a model without a known price, because nothing could be reserved.
pub(super) fn refuse_unpriced(info: &ProviderInfo, limits: &LimitSet) -> Result<(), Failure> {
    if info.prices.is_some() || limits.spend == SpendLimit::Unlimited {
        return Ok(());
    }
    let message = format!(
        "model `{}` has no price, so the spend limit cannot hold; state its prices in a provider configuration of your user space, or set `spend=\"unlimited\"`",
        info.model
    );
    Err(Failure::new(FailureKind::Unpriced, &message))
}

/// Refuses a limit on tokens that the opening exceeds by itself, before it is sent and paid. A model that costs nothing is asked.
pub(super) fn refuse_long_opening(info: &ProviderInfo, run: &Run) -> Result<(), Failure> {
    let (least, most) = (run.least_input(), run.limits().tokens);
    if least <= most || info.prices == Some(Prices::free()) {
        return Ok(());
    }
    let hit = LimitHit::new(Limit::Tokens, least, most);
    let message = format!("{hit}; the prompt alone has more tokens, so that nothing was sent");
    Err(Failure::new(FailureKind::Limit(hit), &message))
}

/// The longest answer, up to `most`, that the free money can pay after the input.
pub(super) fn affordable(
    account: &Account,
    prices: &Prices,
    input: u64,
    most: u64,
) -> Result<u64, Failure> {
    let least = most.min(SHORTEST_ANSWER);
    let too_dear =
        |output: u64| account.free().is_some_and(|free| free < prices.worst_case(input, output));
    if too_dear(least) {
        return Err(out_of_money(account, prices.worst_case(input, least)));
    }
    if !too_dear(most) {
        return Ok(most);
    }
    let mut affordable = least;
    let mut dear = most;
    while affordable + 1 < dear {
        let middle = affordable + (dear - affordable) / 2;
        if too_dear(middle) { dear = middle } else { affordable = middle }
    }
    Ok(affordable)
}

/// An answer with less room than this is likely to be cut, so that asking for it wastes the money.
const SHORTEST_ANSWER: u64 = 1_024;
