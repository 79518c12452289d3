//! The limits of the thread: configuration, then directive, then the operator's options (SPEC
//! 10.5).

use std::collections::BTreeMap;

use rye_parse::{Directive, Spend};
use rye_resolve::{Config, ExtendsChain, Item, ItemId, Location};
use rye_thread::{FailureKind, Limit, Limits, Nanos, Outcome, SpendLimit, ThreadId};

use super::error::PrepareError;
use super::request::{ChildBounds, LimitOptions};
use crate::config::thread_limits;

/// The limits of a thread, with the source of each.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SetLimits {
    /// The limits.
    pub limits: Limits,
    /// By the limit's name in `<limits>`; one that is not here is the program's own default.
    pub set_by: BTreeMap<&'static str, LimitSource>,
}

/// The source of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what tells of a limit has to name each source")]
pub enum LimitSource {
    /// The program, when nothing else does.
    Default,
    /// A file of the configuration `agent/resilience`.
    Config(Location),
    /// The directive, in its `<limits>`.
    Directive(ItemId),
    /// The operator, for this one time, or the call that starts the thread.
    Options,
    /// The thread that starts it, which has no more left.
    Parent(ThreadId),
}

pub(crate) fn limits(
    config: Option<&Config>,
    chain: &ExtendsChain,
    options: &LimitOptions,
    child_bounds: Option<&ChildBounds>,
) -> Result<SetLimits, PrepareError> {
    let configured = thread_limits(config)?;
    let of_file = |(name, location)| (name, LimitSource::Config(location));
    let set_by = configured.set_by.into_iter().map(of_file).collect();
    let mut set = SetLimits { limits: configured.limits, set_by };
    let leaf = chain.leaf();
    let by_options = LimitSource::Options;
    refuse_other_currencies(leaf)?;
    set.declare(&leaf.content.value().limits, &LimitSource::Directive(leaf.id.clone()));
    set.count("turns", |limits| &mut limits.turns, options.turns, &by_options);
    set.count("tokens", |limits| &mut limits.tokens, options.tokens, &by_options);
    let seconds = options.duration_seconds;
    set.count("duration_seconds", |limits| &mut limits.duration_seconds, seconds, &by_options);
    set.count("spawns", |limits| &mut limits.spawns, options.spawns, &by_options);
    set.count("depth", |limits| &mut limits.depth, options.depth, &by_options);
    set.spend(options.spend, &by_options);
    if let Some(child_bounds) = child_bounds {
        set.cap(child_bounds);
    }
    Ok(set)
}

/// Refuses a currency other than US dollars, because prices are in US dollars and exchange rates
/// are unknown.
fn refuse_other_currencies(leaf: &Item<Directive>) -> Result<(), PrepareError> {
    match &leaf.content.value().limits.spend_currency {
        Some(currency) if currency.value != "USD" => {
            Err(PrepareError::Currency { id: leaf.id.clone(), currency: currency.value.clone() })
        }
        _ => Ok(()),
    }
}

impl SetLimits {
    /// Returns the source of the limit that ended a thread. Returns `None` if no limit of the thread
    /// ended it. For example, an answer that cost more than its reservation is bounded by the
    /// reservation, which has no source.
    #[must_use]
    pub fn source_of_end(&self, outcome: &Outcome) -> Option<LimitSource> {
        let FailureKind::Limit(hit) = &outcome.failure.as_ref()?.kind else { return None };
        let is_reservation = hit.limit == Limit::Spend
            && self.limits.spend != SpendLimit::AtMost(Nanos::new(hit.maximum));
        let source = self.set_by.get(hit.limit.as_str()).unwrap_or(&LimitSource::Default);
        (!is_reservation).then(|| source.clone())
    }

    fn declare(&mut self, declared: &rye_parse::Limits, source: &LimitSource) {
        let given =
            |declared: &Option<rye_parse::Spanned<u64>>| declared.as_ref().map(|limit| limit.value);
        let seconds = given(&declared.duration_seconds);
        self.count("turns", |limits| &mut limits.turns, given(&declared.turns), source);
        self.count("tokens", |limits| &mut limits.tokens, given(&declared.tokens), source);
        self.count("duration_seconds", |limits| &mut limits.duration_seconds, seconds, source);
        self.count("spawns", |limits| &mut limits.spawns, given(&declared.spawns), source);
        self.count("depth", |limits| &mut limits.depth, given(&declared.depth), source);
        let spend = declared.spend.as_ref().map(|spend| match spend.value {
            Spend::Unlimited => SpendLimit::Unlimited,
            Spend::Nanos(nanos) => SpendLimit::AtMost(Nanos::new(nanos)),
        });
        self.spend(spend, source);
    }

    /// No limit of a child is above what its parent has left (SPEC 10.5).
    fn cap(&mut self, child_bounds: &ChildBounds) {
        let caps = &child_bounds.caps;
        let parent = LimitSource::Parent(child_bounds.parent.clone());
        let own = self.limits.clone();
        let lower = |own: u64, cap: u64| (cap < own).then_some(cap);
        let seconds = lower(own.duration_seconds, caps.duration_seconds);
        self.count("turns", |limits| &mut limits.turns, lower(own.turns, caps.turns), &parent);
        self.count("tokens", |limits| &mut limits.tokens, lower(own.tokens, caps.tokens), &parent);
        self.count("duration_seconds", |limits| &mut limits.duration_seconds, seconds, &parent);
        self.count("spawns", |limits| &mut limits.spawns, lower(own.spawns, caps.spawns), &parent);
        self.count("depth", |limits| &mut limits.depth, lower(own.depth, caps.depth), &parent);
        let is_set = matches!(
            self.set_by.get("spend"),
            Some(LimitSource::Directive(_) | LimitSource::Options)
        );
        let share = child_bounds.share.filter(|_| !is_set).map(SpendLimit::AtMost);
        for cap in std::iter::once(caps.spend).chain(share) {
            let lower = match (self.limits.spend, cap) {
                (SpendLimit::AtMost(own), SpendLimit::AtMost(cap)) => cap < own,
                (SpendLimit::Unlimited, SpendLimit::AtMost(_)) => true,
                (_, SpendLimit::Unlimited) => false,
            };
            self.spend(lower.then_some(cap), &parent);
        }
    }

    fn count(
        &mut self,
        name: &'static str,
        limit: impl Fn(&mut Limits) -> &mut u64,
        given: Option<u64>,
        source: &LimitSource,
    ) {
        if let Some(given) = given {
            *limit(&mut self.limits) = given;
            self.set_by.insert(name, source.clone());
        }
    }

    fn spend(&mut self, given: Option<SpendLimit>, source: &LimitSource) {
        if let Some(given) = given {
            self.limits.spend = given;
            self.set_by.insert("spend", source.clone());
        }
    }
}
