//! What bounds the thread: configuration, then directive, then the operator's options (SPEC 10.5).

use rye_parse::Spend;
use rye_resolve::{Config, ExtendsChain};
use rye_thread::{Limits, Nanos, SpendLimit};

use super::error::PrepareError;
use super::request::LimitOptions;
use crate::config::thread_limits;

pub(crate) fn limits(
    config: Option<&Config>,
    chain: &ExtendsChain,
    options: &LimitOptions,
) -> Result<Limits, PrepareError> {
    let mut limits = thread_limits(config)?;
    let declared = &chain.leaf().content.value().limits;
    let given =
        |declared: &Option<rye_parse::Spanned<u64>>| declared.as_ref().map(|limit| limit.value);
    let fields = [
        (&mut limits.turns, options.turns.or(given(&declared.turns))),
        (&mut limits.tokens, options.tokens.or(given(&declared.tokens))),
        (
            &mut limits.duration_seconds,
            options.duration_seconds.or(given(&declared.duration_seconds)),
        ),
        (&mut limits.spawns, given(&declared.spawns)),
        (&mut limits.depth, given(&declared.depth)),
    ];
    for (limit, given) in fields {
        *limit = given.unwrap_or(*limit);
    }
    let spend = declared.spend.as_ref().map(|spend| match spend.value {
        Spend::Unlimited => SpendLimit::Unlimited,
        Spend::Nanos(nanos) => SpendLimit::AtMost(Nanos::new(nanos)),
    });
    limits.spend = options.spend.or(spend).unwrap_or(limits.spend);
    Ok(limits)
}
