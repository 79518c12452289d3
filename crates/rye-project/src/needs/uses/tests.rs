//! Tests of the permissions that stay, narrow or go. No test loses a need or gains a permission.

use proptest::prelude::*;
use rye_caps::{Capability, Kind, Primary};

use super::*;

fn pattern(text: &str) -> Pattern {
    text.parse().unwrap()
}

fn needs(texts: &[&str]) -> Vec<Need> {
    texts.iter().map(|text| Need { pattern: pattern(text), sources: Vec::new() }).collect()
}

/// Checks what becomes of the declared patterns: `kept`, `dropped`, or what would do instead.
#[track_caller]
fn check(declared: &[&str], needed: &[&str], expected: &[(&str, &str)]) {
    let grant: Grant = declared.iter().map(|text| pattern(text)).collect();
    let needs = needs(needed);
    let uses = uses(&grant, &needs);
    let shown: Vec<(String, String)> = uses
        .iter()
        .map(|(pattern, kept)| {
            let kept = match kept {
                Use::Used => "kept".to_owned(),
                Use::Unknown => "unknown".to_owned(),
                Use::Unused => "dropped".to_owned(),
                Use::Narrower(parts) => {
                    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                }
            };
            (pattern.to_string(), kept)
        })
        .collect();
    let shown: Vec<(&str, &str)> = shown.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(shown, expected);
    let least = least(&uses);
    assert!(grant.covers(&least).is_ok(), "nothing is gained");
    for need in needs {
        let need = Grant::from_iter([need.pattern]);
        assert!(grant.covers(&need).is_err() || least.covers(&need).is_ok(), "nothing is lost");
    }
}

#[test]
fn what_is_needed_as_it_is_granted_stays() {
    check(&["rye.load.tool.a"], &["rye.load.tool.a"], &[("rye.load.tool.a", "kept")]);
    check(&["rye.load.tool.a.*"], &["rye.load.tool.a.*"], &[("rye.load.tool.a.*", "kept")]);
    check(
        &["rye.load.tool.[ab]"],
        &["rye.load.tool.a", "rye.load.tool.b"],
        &[("rye.load.tool.[ab]", "kept")],
    );
}

#[test]
fn what_is_granted_and_not_needed_goes() {
    check(&["rye.load.tool.a"], &["rye.load.tool.b"], &[("rye.load.tool.a", "dropped")]);
    check(&["rye.load.tool.a"], &[], &[("rye.load.tool.a", "dropped")]);
    check(&[], &["rye.load.tool.a"], &[]);
}

#[test]
fn a_wildcard_becomes_what_is_needed_below_it() {
    check(
        &["rye.execute.*"],
        &["rye.execute.tool.a", "rye.execute.tool.b.c"],
        &[("rye.execute.*", "rye.execute.tool.a rye.execute.tool.b.c")],
    );
    check(&["rye.fetch.tool.*"], &["rye.load.tool.a"], &[("rye.fetch.tool.*", "rye.load.tool.a")]);
    check(&["rye.*"], &["rye.execute.tool.x.*"], &[("rye.*", "rye.execute.tool.x.*")]);
    // The part of a need that another need covers is listed once.
    check(
        &["rye.load.*"],
        &["rye.load.tool.a.b", "rye.load.tool.a.*"],
        &[("rye.load.*", "rye.load.tool.a.*")],
    );
}

#[test]
fn the_narrowest_of_several_is_the_one_that_is_used() {
    check(
        &["rye.execute.*", "rye.execute.tool.a", "rye.execute.tool.*"],
        &["rye.execute.tool.a"],
        &[
            ("rye.execute.*", "dropped"),
            ("rye.execute.tool.*", "dropped"),
            ("rye.execute.tool.a", "kept"),
        ],
    );
    check(
        &["rye.load.tool.a?", "rye.load.tool.?b"],
        &["rye.load.tool.ab"],
        &[("rye.load.tool.?b", "rye.load.tool.ab"), ("rye.load.tool.a?", "dropped")],
    );
}

#[test]
fn a_search_uses_all_of_its_kind_and_nothing_else() {
    check(
        &["rye.search.knowledge.notes.*", "rye.fetch.tool.*", "rye.load.knowledge.*"],
        &["rye.search.knowledge.*"],
        &[
            ("rye.fetch.tool.*", "dropped"),
            ("rye.load.knowledge.*", "dropped"),
            ("rye.search.knowledge.notes.*", "kept"),
        ],
    );
    check(
        &["rye.fetch.*"],
        &["rye.search.knowledge.*"],
        &[("rye.fetch.*", "rye.search.knowledge.*")],
    );
}

#[test]
fn what_fetch_grants_is_split_where_half_of_it_would_do() {
    check(
        &["rye.fetch.knowledge.notes.*"],
        &["rye.search.knowledge.*"],
        &[("rye.fetch.knowledge.notes.*", "rye.search.knowledge.notes.*")],
    );
    check(
        &["rye.fetch.knowledge.notes.*"],
        &["rye.load.knowledge.notes.*", "rye.search.knowledge.*"],
        &[("rye.fetch.knowledge.notes.*", "kept")],
    );
    check(
        &["rye.fetch.knowledge.notes.*", "rye.search.knowledge.notes.*"],
        &["rye.load.knowledge.notes.*", "rye.search.knowledge.*"],
        &[
            ("rye.fetch.knowledge.notes.*", "rye.load.knowledge.notes.*"),
            ("rye.search.knowledge.notes.*", "kept"),
        ],
    );
}

#[test]
fn what_is_needed_twice_is_granted_once() {
    check(
        &["rye.load.tool.*", "rye.load.tool.a"],
        &["rye.load.tool.*", "rye.load.tool.a"],
        &[("rye.load.tool.*", "kept"), ("rye.load.tool.a", "dropped")],
    );
}

#[test]
fn a_part_that_cannot_be_spelled_keeps_the_whole() {
    check(&["rye.load.tool.a*"], &["rye.load.tool.*b"], &[("rye.load.tool.a*", "kept")]);
}

#[test]
fn what_is_denied_anyway_is_told_apart() {
    let grant = Grant::from_iter([pattern("rye.load.tool.a*")]);
    let [denied, met] = ["rye.load.tool.b", "rye.load.tool.*b"].map(|text| needs(&[text]));
    assert!(is_denied(&grant, &denied[0]) && !is_denied(&grant, &met[0]));
    assert!(is_denied(&Grant::nothing(), &met[0]));
}

/// Words that name actions, kinds and ids, whole or in part.
fn some_pattern() -> impl Strategy<Value = Pattern> {
    let action = prop::sample::select(vec!["execute", "search", "load", "sign", "fetch", "*"]);
    let kind = prop::sample::select(vec!["tool", "directive", "knowledge", "*", "[kt]*"]);
    let id = prop::sample::select(vec![
        "a", "a.b", "a.b.c", "b", "ab", "*", "a.*", "*b", "?", "a?", "[!a]", "a*b", "*.b", "?.b.*",
    ]);
    (action, kind, id).prop_filter_map("a pattern", |(action, kind, id)| {
        format!("rye.{action}.{kind}.{id}").parse().ok()
    })
}

fn some_patterns(most: usize) -> impl Strategy<Value = Vec<Pattern>> {
    prop::collection::vec(some_pattern(), 1..=most)
}

/// Every capability over a few ids.
fn capabilities() -> Vec<Capability> {
    let ids = ["a", "b", "ab", "aa", "a.b", "b.b", "a.c", "a.b.c", "b.b.b", "c"];
    let parts = Primary::ALL.iter().copied().flat_map(|primary| {
        Kind::ALL.iter().copied().flat_map(move |kind| ids.map(|id| (primary, kind, id)))
    });
    parts.map(|(primary, kind, id)| Capability::new(primary, kind, id).unwrap()).collect()
}

proptest! {
    /// The smaller block allows no denied permission and denies no needed one. This holds for the computed
    /// grant and for the grant that is read back from its text.
    #[test]
    fn the_smaller_block_lies_between_what_is_needed_and_what_is_declared(
        declared in some_patterns(6),
        needed in some_patterns(4),
    ) {
        let grant: Grant = declared.into_iter().collect();
        let needs: Vec<Need> =
            needed.into_iter().map(|pattern| Need { pattern, sources: Vec::new() }).collect();
        let least = least(&uses(&grant, &needs));
        prop_assert!(grant.covers(&least).is_ok(), "{:?} gains over {:?}", least, grant);
        let read = read_back(&least);
        for capability in capabilities() {
            let allows = |grant: &Grant| grant.granting(&capability).is_some();
            let is_needed = needs.iter().any(|need| need.pattern.matches(&capability));
            prop_assert!(!allows(&least) || allows(&grant), "gained {}: {:?}", capability, least);
            let is_lost = is_needed && allows(&grant) && !allows(&least);
            prop_assert!(!is_lost, "lost {}: {:?}", capability, least);
            prop_assert_eq!(allows(&read), allows(&least), "read otherwise: {}", capability);
        }
    }
}

/// Returns the grant that the printed block has when it is read.
fn read_back(grant: &Grant) -> Grant {
    let written = crate::needs::block(grant, &[]);
    let source =
        format!("```xml\n<directive name=\"x\"><metadata>{written}</metadata></directive>\n```\n");
    let read = rye_parse::directive(&source).unwrap().permissions.unwrap().value;
    let grants =
        read.entries.iter().map(|entry| rye_resolve::permission_grant(&entry.value).unwrap());
    grants.flat_map(|grant| grant.patterns().to_vec()).collect()
}
