//! The guarantees of authorities, in ten thousand cases each (`SPEC 9.4`, `9.7`).
//!
//! Grants are drawn from a pool, because compiling one takes longer than a hundred checks. Their stacking and the
//! requested capabilities are new in each case. Half of the capabilities are made from a granted pattern; otherwise
//! nearly all would be denied, and the tests would show nothing.

use std::{cell::Cell, sync::LazyLock};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree as _,
    test_runner::{Config, TestCaseResult, TestRunner},
};
use rye_caps::{Authority, Capability, Grant, Layer, LayerName, Pattern};

use crate::{
    naive,
    texts::{capability, filled, grant, parsed, pattern},
};

const CASES: u32 = 10_000;

/// The number of grants in the pool.
const POOL: usize = 96;

fn runner() -> TestRunner {
    TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() })
}

/// Grants of every shape. Half of them are wide, so that stacks of several allow something.
static GRANTS: LazyLock<Vec<Grant>> = LazyLock::new(|| {
    let wide = |pattern: &'static str| Just(Grant::from_iter([parsed::<Pattern>(pattern)]));
    let any = prop_oneof![
        4 => grant(),
        2 => Just(Grant::everything()),
        2 => select(vec!["*", "rye.*.tool.*", "rye.[els]*", "rye.fetch.*", "rye.load.*"]).prop_flat_map(wide),
    ];
    let mut runner = runner();
    (0..POOL)
        .map(|_| any.new_tree(&mut runner).expect("because nothing is rejected").current())
        .collect()
});

fn pool() -> Vec<Grant> {
    GRANTS.clone()
}

/// Returns the requested capability: one made from a pattern of the grants that `index` selects, or else `other`.
fn asked(grants: &[Grant], index: Index, choices: &[u8], other: Capability) -> Capability {
    let patterns: Vec<&Pattern> = grants.iter().flat_map(Grant::patterns).collect();
    let picked = (!patterns.is_empty()).then(|| index.get(&patterns));
    let is_picked = choices.first().is_some_and(|choice| choice % 4 != 0);
    picked
        .filter(|_| is_picked)
        .and_then(|pattern| filled(pattern.as_str(), choices))
        .unwrap_or(other)
}

fn layer(depth: usize, grant: &Grant) -> Layer {
    Layer::new(LayerName::Thread(depth.to_string()), grant.clone())
}

/// Returns the authorities of a root thread, of its child, of the child's child, and so on.
fn lineage(grants: &[Grant]) -> Vec<Authority> {
    let mut lineage: Vec<Authority> = Vec::new();
    for (depth, grant) in grants.iter().enumerate() {
        let layer = layer(depth, grant);
        lineage.push(match lineage.last() {
            Some(parent) => parent.narrow(layer),
            None => Authority::new(layer),
        });
    }
    lineage
}

fn naively_allowed(grant: &Grant, capability: &Capability) -> bool {
    grant.patterns().iter().any(|pattern| naive::matches(pattern.as_str(), capability.as_str()))
}

/// Checks that at least a tenth of the cases are relevant for a guarantee.
#[track_caller]
fn check_share(count: &Cell<u32>) {
    assert!(count.get() > CASES / 10, "only {} of {CASES} cases say anything", count.get());
}

#[test]
fn a_child_never_exceeds_any_ancestor() {
    let allowed = Cell::new(0);
    let cases = (vec(select(pool()), 1..6), any::<Index>(), vec(0_u8.., 6), capability());
    let outcome = runner().run(&cases, |(grants, index, choices, other)| {
        let capability = asked(&grants, index, &choices, other);
        let lineage = lineage(&grants);
        let answers: Vec<bool> = lineage
            .iter()
            .map(|authority| authority.permit(&capability.clone().into()).is_ok())
            .collect();
        // If an ancestor is denied, all its descendants are denied.
        prop_assert!(answers.is_sorted_by(|above, below| above >= below), "{answers:?}");
        let naive: Vec<bool> =
            grants.iter().map(|grant| naively_allowed(grant, &capability)).collect();
        for (depth, answer) in answers.iter().enumerate() {
            prop_assert_eq!(*answer, naive[..=depth].iter().all(|allowed| *allowed));
        }
        let is_allowed = answers.len() > 1 && answers.last() == Some(&true);
        allowed.set(allowed.get() + u32::from(is_allowed));
        Ok(())
    });
    outcome.unwrap();
    check_share(&allowed);
}

#[test]
fn a_denial_names_the_outermost_layer_and_a_pattern_that_opens_just_this() {
    let denied = Cell::new(0);
    let cases = (vec(select(pool()), 1..5), any::<Index>(), vec(0_u8.., 6), capability());
    let outcome = runner().run(&cases, |(grants, index, choices, other)| {
        let capability = asked(&grants, index, &choices, other);
        let lineage = lineage(&grants);
        let Some(Err(error)) =
            lineage.last().map(|authority| authority.permit(&capability.clone().into()))
        else {
            return Ok(());
        };
        denied.set(denied.get() + 1);
        let first = grants.iter().position(|grant| !naively_allowed(grant, &capability));
        prop_assert_eq!(Some(error.layer), first.map(|depth| LayerName::Thread(depth.to_string())));
        prop_assert_eq!(error.smallest.as_str(), capability.as_str());
        Ok(())
    });
    outcome.unwrap();
    check_share(&denied);
}

/// Returns pairs of grants of which the first is a part of the second.
fn pairs() -> Vec<(Grant, Grant)> {
    let pool = pool();
    let (less, more) = pool.split_at(POOL / 2);
    less.iter().zip(more).map(|(less, more)| (less.clone(), less.union(more))).collect()
}

#[test]
fn narrowing_is_monotone() {
    let allowed = Cell::new(0);
    let cases =
        (vec(select(pairs()), 1..5), select(pool()), any::<Index>(), vec(0_u8.., 6), capability());
    let outcome = runner().run(&cases, |(pairs, layer_grant, index, choices, other)| {
        let (less, more): (Vec<Grant>, Vec<Grant>) = pairs.into_iter().unzip();
        let capability = asked(&less, index, &choices, other);
        let narrowest = |grants: &[Grant]| lineage(grants).pop().unwrap_or_default();
        let [less, more] = [narrowest(&less), narrowest(&more)];
        check_monotone(&less, &more, &capability)?;
        // The same layer on both keeps their order, and allows no more than before.
        let below = |authority: &Authority| authority.narrow(layer(9, &layer_grant));
        let [narrow_less, narrow_more] = [below(&less), below(&more)];
        check_monotone(&narrow_less, &narrow_more, &capability)?;
        check_monotone(&narrow_less, &less, &capability)?;
        check_monotone(&narrow_more, &more, &capability)?;
        allowed.set(allowed.get() + u32::from(narrow_less.allows(&capability)));
        Ok(())
    });
    outcome.unwrap();
    check_share(&allowed);
}

fn check_monotone(less: &Authority, more: &Authority, capability: &Capability) -> TestCaseResult {
    prop_assert!(!less.allows(capability) || more.allows(capability), "{}", capability);
    Ok(())
}

/// Returns a pattern that is likely to cover `pattern`: one of its characters is replaced by a wildcard.
fn widened(pattern: &str, at: Index, with: &str) -> Option<String> {
    let places: Vec<usize> =
        pattern.match_indices(['a', 'b', '_', '-', '?']).map(|(place, _)| place).collect();
    // Before the id, and in a class, the result would be a different pattern altogether.
    let places: Vec<usize> = places
        .into_iter()
        .filter(|&place| place > "rye.execute.tool.".len() && !pattern.contains('['))
        .collect();
    let place = *(!places.is_empty()).then(|| at.get(&places))?;
    let (before, after) = (pattern.get(..place)?, pattern.get(place + 1..)?);
    Some(format!("{before}{with}{after}")).filter(|text| text.matches('*').count() <= 8)
}

#[test]
fn covers_agrees_with_brute_force() {
    let counts = [Cell::new(0), Cell::new(0)];
    let cases = (vec(pattern(), 0..2), pattern(), any::<Index>(), 0_u8..3, vec(vec(0_u8.., 5), 3));
    let outcome = runner().run(&cases, |(outer, inner, index, with, choices)| {
        let wildcard = ["?", "*", ""][usize::from(with)];
        let outer: Vec<String> =
            outer.into_iter().chain(widened(&inner, index, wildcard)).collect();
        let is_outer = |capability: &Capability| {
            outer.iter().any(|outer| naive::matches(outer, capability.as_str()))
        };
        let grant: Grant = outer.iter().map(|outer| parsed::<Pattern>(outer)).collect();
        let covered = grant.covers(&Grant::from_iter([parsed::<Pattern>(&inner)]));
        counts[usize::from(covered.is_ok())].set(counts[usize::from(covered.is_ok())].get() + 1);
        let generated = choices.iter().filter_map(|choices| filled(&inner, choices));
        let lost = { generated }.find(|capability| !is_outer(capability));
        match (covered, lost) {
            (Ok(()), None) => {}
            (Ok(()), Some(lost)) => prop_assert!(false, "`{}` is not covered", lost),
            (Err(reason), _) => {
                let evidence = reason.capability().expect("because these patterns are small");
                prop_assert!(naive::matches(&inner, evidence.as_str()), "{}", reason);
                prop_assert!(!is_outer(evidence), "{}", reason);
            }
        }
        Ok(())
    });
    outcome.unwrap();
    counts.iter().for_each(check_share);
}
