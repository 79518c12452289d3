//! The limits of the thread: configuration, then the chain of the directive, then the operator's
//! options (SPEC 10.5).

use std::collections::BTreeMap;

use rye_parse::Spanned;
use rye_resolve::{Config, ExtendsChain, ItemId, Location, StatedLimits};
use rye_thread::{FailureKind, Outcome, ThreadId};
use rye_types::{Limit, LimitSet, Nanos, SpendLimit};

use super::error::PrepareError;
use super::request::{ChildBounds, LimitOptions};
use crate::config::{ConfiguredLimits, thread_limits};

/// The limits of a thread, with the source of each.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SetLimits {
    /// The limits.
    pub limits: LimitSet,
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
    /// A directive of the chain, in its `<limits>` (SPEC D19).
    Directive(ItemId),
    /// The operator, for this one time, or the call that starts the thread.
    Options,
    /// The thread that starts it, which has no more left.
    Parent(ThreadId),
}

/// Returns the name of the limit that keeps a thread from starting a child after it started `before` others.
#[must_use]
pub fn limit_of_start(limits: &LimitSet, before: u64) -> Option<&'static str> {
    if limits.depth == 0 {
        return Some("depth");
    }
    (limits.spawns <= before).then_some("spawns")
}

pub(crate) fn limits(
    config: Option<&Config>,
    chain: &ExtendsChain,
    options: &LimitOptions,
    child_bounds: Option<&ChildBounds>,
) -> Result<SetLimits, PrepareError> {
    let stated = chain.limits();
    refuse_other_currencies(chain, &stated)?;
    let mut set = SetLimits::of_root(thread_limits(config)?, &stated, &chain.leaf().id);
    let by_options = LimitSource::Options;
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
fn refuse_other_currencies(
    chain: &ExtendsChain,
    stated: &StatedLimits<'_>,
) -> Result<(), PrepareError> {
    let leaf = chain.leaf();
    let own = leaf.content.value().limits.spend_currency.as_ref().map(|own| (&leaf.id, own));
    let of_spend = stated.by.get("spend").copied().zip(stated.limits.spend_currency.as_ref());
    let other = own.into_iter().chain(of_spend).find(|(_, currency)| currency.value != "USD");
    other.map_or(Ok(()), |(id, currency)| {
        Err(PrepareError::Currency { id: id.clone(), currency: currency.value.clone() })
    })
}

fn is_lower(limit: SpendLimit, than: SpendLimit) -> bool {
    match (limit, than) {
        (SpendLimit::AtMost(limit), SpendLimit::AtMost(than)) => limit < than,
        (SpendLimit::AtMost(_), SpendLimit::Unlimited) => true,
        (SpendLimit::Unlimited, _) => false,
    }
}

impl SetLimits {
    /// The limits of a root thread of the directive `leaf`, without options: what is configured, and what its chain states.
    pub(crate) fn of_root(
        configured: ConfiguredLimits,
        stated: &StatedLimits<'_>,
        leaf: &ItemId,
    ) -> Self {
        let by_operator = configured.by_operator;
        let of_file = |(name, location)| (name, LimitSource::Config(location));
        let set_by = configured.set_by.into_iter().map(of_file).collect();
        let mut set = Self { limits: configured.limits, set_by };
        // What the operator states bounds what is inherited; a leaf states its own (SPEC D19).
        let is_bounded = |name: &str| {
            by_operator.contains(name) && stated.by.get(name).is_some_and(|by| *by != leaf)
        };
        set.declare(stated, is_bounded);
        set
    }

    /// The limits of a thread that goes on, which its record holds. No source is known (SPEC D19).
    pub(crate) fn from_record(limits: LimitSet) -> Self {
        Self { limits, set_by: BTreeMap::new() }
    }

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

    /// Takes the limits that directives state, but for those that are `bounded` and no lower than what is set.
    fn declare(&mut self, stated: &StatedLimits<'_>, is_bounded: impl Fn(&str) -> bool) {
        let rye_parse::Limits { turns, tokens, duration_seconds, spawns, depth, spend, .. } =
            &stated.limits;
        let own = self.limits.clone();
        let given = |name: &str, limit: &Option<Spanned<u64>>, own: u64| {
            let stated = limit.as_ref().map(|limit| limit.value);
            stated.filter(|stated| *stated < own || !is_bounded(name))
        };
        let by = |name| stated.by.get(name).map(|id| LimitSource::Directive((*id).clone()));
        let by = |name| by(name).unwrap_or(LimitSource::Default);
        self.count(
            "turns",
            |limits| &mut limits.turns,
            given("turns", turns, own.turns),
            &by("turns"),
        );
        self.count(
            "tokens",
            |limits| &mut limits.tokens,
            given("tokens", tokens, own.tokens),
            &by("tokens"),
        );
        let (name, seconds) =
            ("duration_seconds", given("duration_seconds", duration_seconds, own.duration_seconds));
        self.count(name, |limits| &mut limits.duration_seconds, seconds, &by(name));
        self.count(
            "spawns",
            |limits| &mut limits.spawns,
            given("spawns", spawns, own.spawns),
            &by("spawns"),
        );
        self.count(
            "depth",
            |limits| &mut limits.depth,
            given("depth", depth, own.depth),
            &by("depth"),
        );
        let spend = spend.as_ref().map(|spend| spend.value);
        let spend = spend.filter(|stated| is_lower(*stated, own.spend) || !is_bounded("spend"));
        self.spend(spend, &by("spend"));
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
            self.spend(is_lower(cap, self.limits.spend).then_some(cap), &parent);
        }
    }

    fn count(
        &mut self,
        name: &'static str,
        limit: impl Fn(&mut LimitSet) -> &mut u64,
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
