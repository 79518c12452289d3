//! Properties of matching, inclusion, authority and risk.

use std::collections::BTreeSet;

use proptest::{prelude::*, test_runner::TestRunner};
use rye_caps::{Authority, Capability, Grant, Layer, LayerName, Pattern, risk::RiskTable};
use serde_json::json;

use crate::{
    naive,
    texts::{all_small, capability, grant, parsed, pattern},
};

fn layer(grant: &Grant) -> Layer {
    Layer::new(LayerName::Operator, grant.clone())
}

/// Makes an authority with one layer for each grant.
fn authority(grants: &[Grant]) -> Authority {
    let (root, others) = grants.split_first().expect("because there is a grant");
    others
        .iter()
        .fold(Authority::new(layer(root)), |authority, grant| authority.narrow(layer(grant)))
}

fn table(rules: &[(String, usize)]) -> RiskTable {
    let risks = ["safe", "write", "elevated", "unrestricted"];
    let rules = rules.iter().filter(|(pattern, _)| parsed::<Pattern>(pattern).example().is_some());
    let rules: Vec<_> = rules
        .map(|(pattern, risk)| json!({ "risk": risks[*risk], "patterns": [pattern] }))
        .collect();
    RiskTable::from_value(&json!({ "classifications": rules }))
        .expect("because the rules are valid")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matching_agrees_with_a_naive_matcher(pattern in pattern(), capability in capability()) {
        let expected = naive::matches(&pattern, capability.as_str());
        let pattern: Pattern = parsed(&pattern);
        prop_assert_eq!(pattern.matches(&capability), expected);
        prop_assert_eq!(pattern.covers(&Pattern::exactly(&capability)).is_ok(), expected);
    }

    #[test]
    fn a_grant_allows_what_one_of_its_patterns_covers(grant in grant(), capability in capability()) {
        let expected = grant.patterns().iter().any(|pattern| naive::matches(pattern.as_str(), capability.as_str()));
        prop_assert_eq!(grant.allows(&capability), expected);
        prop_assert_eq!(grant.granting(&capability).is_some(), expected);
    }

    #[test]
    fn covering_agrees_with_trying_everything(outer in grant(), inner in grant()) {
        let lost = |capability: &&Capability| inner.allows(capability) && !outer.allows(capability);
        match outer.covers(&inner) {
            Ok(()) => prop_assert!(!all_small().iter().any(|capability| lost(&capability))),
            Err(reason) => {
                let evidence = reason.capability().expect("because these patterns are small");
                prop_assert!(lost(&evidence), "{}", reason);
            }
        }
    }

    #[test]
    fn covering_is_transitive(a in pattern(), b in pattern(), c in pattern()) {
        let [a, b, c]: [Pattern; 3] = [a, b, c].map(|text| parsed(&text));
        prop_assert!(a.covers(&a).is_ok());
        if a.covers(&b).is_ok() && b.covers(&c).is_ok() {
            prop_assert!(a.covers(&c).is_ok());
        }
    }

    #[test]
    fn an_example_is_covered_and_there_is_one_unless_nothing_is(pattern in pattern()) {
        let pattern: Pattern = parsed(&pattern);
        match pattern.example() {
            Some(example) => prop_assert!(pattern.matches(&example)),
            None => prop_assert!(!all_small().iter().any(|capability| pattern.matches(capability))),
        }
    }

    #[test]
    fn some_item_is_allowed_where_one_of_the_small_ones_is(grant in grant()) {
        let small = all_small();
        let allowed: BTreeSet<_> = small
            .iter()
            .filter(|capability| grant.allows(capability))
            .map(|capability| (capability.primary(), capability.kind()))
            .collect();
        for (primary, kind) in allowed {
            prop_assert!(grant.allows_some(primary, kind));
        }
    }

    #[test]
    fn a_pattern_is_read_back_from_what_it_is_written_as(pattern in pattern()) {
        let pattern: Pattern = parsed(&pattern);
        prop_assert_eq!(parsed::<Pattern>(&pattern.to_string()), pattern);
    }

    #[test]
    fn a_child_never_exceeds_an_ancestor(
        grants in prop::collection::vec(grant(), 1..5),
        child in grant(),
        capability in capability(),
    ) {
        let parent = authority(&grants);
        let child = parent.narrow(layer(&child));
        if child.permit(&capability.clone().into()).is_ok() {
            prop_assert!(parent.permit(&capability.clone().into()).is_ok());
            prop_assert!(grants.iter().all(|grant| grant.allows(&capability)));
        }
        prop_assert_eq!(child.permit(&capability.clone().into()).is_ok(), child.layers().iter().all(|layer| layer.grant().allows(&capability)));
    }

    #[test]
    fn narrowing_by_less_allows_less(parent in grant(), less in grant(), more in grant(), capability in capability()) {
        let more = less.union(&more);
        prop_assert!(more.covers(&less).is_ok());
        let [less, more] = [less, more].map(|grant| authority(&[parent.clone(), grant]));
        prop_assert!(!less.allows(&capability) || more.allows(&capability));
    }

    #[test]
    fn the_order_of_layers_makes_no_difference(a in grant(), b in grant(), capability in capability()) {
        prop_assert_eq!(authority(&[a.clone(), b.clone()]).allows(&capability), authority(&[b, a]).allows(&capability));
    }

    #[test]
    fn a_denial_names_exactly_the_layers_that_refuse(
        grants in prop::collection::vec(grant(), 1..5),
        capability in capability(),
    ) {
        let named = |index: usize| LayerName::Thread(index.to_string());
        let layers: Vec<_> = grants.iter().enumerate().map(|(index, grant)| Layer::new(named(index), grant.clone())).collect();
        let (root, others) = layers.split_first().unwrap();
        let authority = others.iter().fold(Authority::new(root.clone()), |authority, layer| authority.narrow(layer.clone()));
        let refusing = layers.iter().filter(|layer| !layer.grant().allows(&capability)).map(|layer| layer.name().clone());
        let found = match authority.permit(&capability.clone().into()) {
            Ok(_) => Vec::new(),
            Err(denied) => {
                let others: Vec<LayerName> = denied.others().cloned().collect();
                [denied.layer].into_iter().chain(others).collect()
            }
        };
        prop_assert_eq!(found, refusing.collect::<Vec<_>>());
    }

    #[test]
    fn a_grant_is_at_least_as_risky_as_what_it_allows(
        rules in prop::collection::vec((pattern(), 0_usize..4), 0..6),
        granted in pattern(),
    ) {
        let (table, granted) = (table(&rules), parsed::<Pattern>(&granted));
        let risk = table.classify(&granted).risk;
        for capability in all_small().iter().filter(|capability| granted.matches(capability)) {
            prop_assert!(table.classify_capability(capability).risk <= risk, "{}", capability);
        }
    }

    #[test]
    fn a_wider_grant_is_never_milder(
        rules in prop::collection::vec((pattern(), 0_usize..4), 0..6),
        wide in pattern(),
        narrow in pattern(),
    ) {
        let (table, wide, narrow) = (table(&rules), parsed::<Pattern>(&wide), parsed::<Pattern>(&narrow));
        if wide.covers(&narrow).is_ok() {
            prop_assert!(table.classify(&wide).risk >= table.classify(&narrow).risk);
        }
    }

    #[test]
    fn one_capability_is_as_risky_as_the_grant_of_it(
        rules in prop::collection::vec((pattern(), 0_usize..4), 0..6),
        capability in capability(),
    ) {
        let table = table(&rules);
        prop_assert_eq!(table.classify(&Pattern::exactly(&capability)), table.classify_capability(&capability));
    }
}

/// Returns a runner with more cases than other properties have, because each is quick.
///
/// The macro `proptest!` would take `PROPTEST_CASES` in the place of any other number.
fn many_cases() -> TestRunner {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = (config.cases * 8).min(config.cases.max(2048));
    TestRunner::new(ProptestConfig { cases, ..config })
}

#[test]
fn no_text_panics_and_what_is_accepted_means_what_it_says() {
    let texts = ("(rye[./])?[a-c*?\\[\\]!^{}.,/A-B0-2 \\\\_é-]{0,24}", capability());
    let tried = many_cases().run(&texts, |(text, capability)| {
        match text.parse::<Pattern>() {
            Ok(pattern) => {
                let expected = naive::matches(&text, capability.as_str());
                prop_assert_eq!(pattern.matches(&capability), expected);
            }
            Err(error) => {
                prop_assert!(!error.problems().is_empty());
                for problem in error.problems() {
                    prop_assert!(text.get(problem.span.clone()).is_some());
                }
            }
        }
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}

#[test]
fn what_is_accepted_is_of_the_closed_alphabet() {
    let tried = many_cases().run(&"\\PC{0,12}", |text| {
        if text.parse::<Pattern>().is_ok() {
            let is_allowed = |character: char| {
                character.is_ascii_alphanumeric() || "_.-/*?[]!".contains(character)
            };
            prop_assert!(text.chars().all(is_allowed));
        }
        drop(text.parse::<Capability>());
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}
