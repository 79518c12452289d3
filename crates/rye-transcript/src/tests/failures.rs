//! What may follow a failure of a thread, kind by kind (SPEC D18, 10.3, 11.4).

use rye_caps::{Authority, Grant, Invocation, Layer, LayerName};
use rye_types::{Limit, LimitHit, Usage};

use super::*;
use crate::payload::RequestRetried;
use crate::{Failure, FailureKind, ProviderErrorClass, Refusal, Retry};

/// Returns every kind of failure, with the name of its limit or its class if it has one.
fn kinds() -> Vec<(&'static str, FailureKind)> {
    let plain = FailureKind::PLAIN.iter().map(|kind| (kind.as_str(), kind.clone()));
    let hit = |limit: Limit| FailureKind::Limit(LimitHit::new(limit, 2, 1));
    let limits = Limit::ALL.iter().map(|limit| (limit.as_str(), hit(*limit)));
    let provider = |class: ProviderErrorClass| FailureKind::Provider(class);
    let classes = ProviderErrorClass::ALL.iter().map(|class| (class.as_str(), provider(*class)));
    plain.chain(limits).chain(classes).collect()
}

/// The operator resumes after what was stopped, not after what is final. A hook lets another request mend what another answer can.
#[test]
fn what_may_follow_a_failure_depends_on_its_kind() {
    let rows = [
        ("cut_off", "resume, retry"),
        ("hook", ""),
        ("missing_outputs", "retry, after a refusal"),
        ("out_of_turn", ""),
        ("preparation", ""),
        ("refused", "retry"),
        ("storage", ""),
        ("unpriced", ""),
        // Limits. The operator can raise four of them. None is retried.
        ("depth", "after a refusal"),
        ("duration_seconds", "resume, after a refusal"),
        ("spawns", "after a refusal"),
        ("spend", "resume, after a refusal"),
        ("tokens", "resume, after a refusal"),
        ("turns", "resume, after a refusal"),
        // Classes of failed requests.
        ("auth", "resume, retry"),
        ("content_refused", "resume, retry, after a refusal"),
        ("context_too_long", "resume, retry"),
        ("cut_call", "resume, retry"),
        ("empty", "resume, retry"),
        ("invalid_request", "resume, retry"),
        ("malformed", "resume, retry"),
        ("network", "resume, retry"),
        ("overloaded", "resume, retry"),
        ("rate_limited", "resume, retry"),
        ("server", "resume, retry"),
        ("spend_limit", "resume"),
        ("step_failed", "retry, after a refusal"),
        ("timeout", "resume, retry"),
    ];
    let mut found = Vec::new();
    for (name, kind) in kinds() {
        let follows = [
            (kind.may_go_on(), "resume"),
            (kind.may_be_retried(), "retry"),
            (kind.may_follow_from_refusal(), "after a refusal"),
        ];
        let follows = follows.iter().filter(|(may, _)| *may).map(|(_, what)| *what);
        found.push((name, follows.collect::<Vec<_>>().join(", ")));
    }
    let found: Vec<(&str, &str)> =
        found.iter().map(|(name, follows)| (*name, follows.as_str())).collect();
    assert_eq!(found, rows);
    assert_eq!(Failure::new(FailureKind::Hook, "it says so").to_string(), "it says so");
}

/// For each class: the possible cost of the attempt, whether there was an answer, and the line for a person.
#[test]
fn a_failed_request_is_shown_and_charged_by_its_class() {
    let rows = [
        ("auth", "nothing", "not allowed"),
        ("content_refused", "charged", "refused for the content"),
        ("context_too_long", "nothing", "conversation too long"),
        ("cut_call", "charged, answered", "call cut off"),
        ("empty", "charged, answered", "empty answer"),
        ("invalid_request", "nothing", "request not accepted"),
        ("malformed", "charged, answered", "malformed answer"),
        ("network", "charged", "no connection"),
        ("overloaded", "nothing", "overloaded"),
        ("rate_limited", "nothing", "rate limited"),
        ("server", "charged", "server error"),
        ("spend_limit", "nothing", "spending limit of the provider"),
        ("step_failed", "nothing", "step failed"),
        ("timeout", "charged", "timed out"),
    ];
    assert_eq!(rows.len(), ProviderErrorClass::ALL.len());
    for (class, (name, cost, words)) in ProviderErrorClass::ALL.iter().zip(rows) {
        let found = match (class.may_have_cost(), class.is_of_reply()) {
            (false, false) => "nothing",
            (true, false) => "charged",
            (true, true) => "charged, answered",
            (false, true) => "answered",
        };
        assert_eq!((class.as_str(), found), (name, cost));
        let mut retry = Retry::new(3, 4, *class, "m");
        (retry.wait, retry.usage) = (Duration::from_secs(6), Usage::new(1, 2));
        let shown = match class.is_of_reply() {
            true => format!("{words}, asked again (3 of 4)"),
            false => format!("{words}, next attempt in 6 s (3 of 4)"),
        };
        assert_eq!(retry.to_string(), shown, "{name}");
        // Only an answer that is not used has tokens that count.
        let recorded = RequestRetried::new(2, &retry, Nanos::ZERO, Nanos::ZERO);
        let usage = class.is_of_reply().then_some(Usage::new(1, 2));
        assert_eq!(recorded.usage, usage, "{name}");
        retry.usage = usage.unwrap_or_default();
        assert_eq!(recorded.retry(), retry, "{name}");
    }
}

/// The item is what the model called, also if only the function behind it is refused.
#[test]
fn a_refusal_names_the_item_the_layer_and_the_smallest_pattern() {
    let (item, function) = ("rye.execute.tool.a.b", "rye.execute.tool.rye.bash");
    for (granted, lacks) in [("rye.load.*", item), (item, function)] {
        let grant: Grant = std::iter::once(granted.parse().unwrap()).collect();
        let authority = Authority::new(Layer::new(LayerName::Operator, grant));
        let call = Invocation::new(item.parse().unwrap(), [function.parse().unwrap()]);
        let denied = authority.permit(&call).unwrap_err();
        let layer = "the operator's policy";
        let expected = Refusal::new(item, layer, Some(lacks), &denied.to_string());
        assert_eq!(Refusal::of_authority(&denied), expected);
    }
}
