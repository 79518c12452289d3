//! Grants of `<permissions>` blocks.

use rye_caps::{Capability, Grant, Kind, Primary};

use crate::texts::parsed;

#[track_caller]
fn check(grant: Result<Grant, rye_caps::PatternError>, expected: Result<&str, &str>) {
    let found = grant.map(|grant| {
        grant.patterns().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        found.map_err(|error| error.to_string()),
        expected.map(str::to_owned).map_err(str::to_owned)
    );
}

#[test]
fn elements_become_patterns() {
    check(Ok(Grant::nothing()), Ok(""));
    check(Ok(Grant::everything()), Ok("rye.*"));
    check(Grant::of_primary("execute"), Ok("rye.execute.*"));
    check(Grant::of_primary("fetch"), Ok("rye.fetch.*"));
    check(
        Grant::of_items("execute", "tool", "rye.file-system.*"),
        Ok("rye.execute.tool.rye.file-system.*"),
    );
    check(
        Grant::of_items("fetch", "knowledge", "project/deploy/*"),
        Ok("rye.fetch.knowledge.project.deploy.*"),
    );
    check(Grant::of_items("sign", "directive", "*"), Ok("rye.sign.directive.*"));
}

#[test]
fn elements_that_mean_nothing_are_refused_with_all_their_problems() {
    let primary =
        "unknown primary action `run`; valid are `execute`, `search`, `load`, `sign`, `fetch`";
    check(
        Grant::of_primary("run"),
        Err(&format!("`rye.run.*` is not a capability pattern: {primary}")),
    );
    check(
        Grant::of_primary("*"),
        Err(
            "`rye.*.*` is not a capability pattern: unknown primary action `*`; valid are `execute`, `search`, `load`, \
         `sign`, `fetch`",
        ),
    );
    check(
        Grant::of_items("run", "tools", "{x"),
        Err(&format!(
            "`{{x` is not a capability pattern: {primary}; unknown item kind `tools`; valid are `tool`, `directive`, \
         `knowledge`; `{{` is not allowed; write one pattern for each alternative",
        )),
    );
    check(
        Grant::of_items("load", "tool", ""),
        Err(
            "`` is not a capability pattern: it is empty; write `*` to mean everything, or leave the grant out",
        ),
    );
}

#[test]
fn a_grant_is_a_set() {
    let grant = |texts: &[&str]| {
        texts.iter().map(|text| parsed::<rye_caps::Pattern>(text)).collect::<Grant>()
    };
    assert_eq!(
        grant(&["rye.load.*", "rye.sign.*", "rye/load/*"]),
        grant(&["rye.sign.*", "rye.load.*"])
    );
    assert_eq!(
        grant(&["rye.load.*"]).with(parsed("rye.sign.*")),
        grant(&["rye.sign.*"]).union(&grant(&["rye.load.*"]))
    );
    assert_ne!(grant(&["rye.load.*"]), grant(&["rye.sign.*"]));
    assert!(Grant::default().is_empty() && !Grant::everything().is_empty());
    assert_eq!(
        format!("{:?}", grant(&["rye.b", "rye.a"])),
        "{Pattern(\"rye.a\"), Pattern(\"rye.b\")}"
    );
}

/// Checks the redundant patterns, each with the pattern that covers it.
#[track_caller]
fn check_redundant(patterns: &[&str], expected: &[(&str, &str)]) {
    let grant: Grant = patterns.iter().map(|text| parsed::<rye_caps::Pattern>(text)).collect();
    let found = grant.redundant();
    let found: Vec<_> =
        found.iter().map(|(inner, outer)| (inner.as_str(), outer.as_str())).collect();
    assert_eq!(found, expected);
    let needless: Vec<_> = grant.redundant().into_iter().map(|(inner, _)| inner).collect();
    let rest = grant.patterns().iter().filter(|pattern| !needless.contains(pattern)).cloned();
    assert!(rest.collect::<Grant>().covers(&grant).is_ok(), "nothing is lost without them");
}

#[test]
fn what_another_pattern_covers_is_not_needed() {
    check_redundant(&[], &[]);
    check_redundant(&["rye.load.tool.a", "rye.load.tool.b", "rye.load.tool.a?"], &[]);
    check_redundant(
        &["rye.load.tool.a", "rye.load.tool.*", "rye.load.*"],
        &[("rye.load.tool.*", "rye.load.*"), ("rye.load.tool.a", "rye.load.*")],
    );
    check_redundant(
        &["rye.load.tool.a.*", "rye.load.tool.a"],
        &[("rye.load.tool.a", "rye.load.tool.a.*")],
    );
    check_redundant(&["rye.fetch.*", "rye.load.tool.x"], &[("rye.load.tool.x", "rye.fetch.*")]);
    // A pattern that only several others cover together is not reported.
    check_redundant(
        &["rye.fetch.*", "rye.load.*", "rye.search.*"],
        &[("rye.load.*", "rye.fetch.*"), ("rye.search.*", "rye.fetch.*")],
    );
    // Of two with the same meaning, one is kept.
    check_redundant(
        &["rye.load.tool.?*", "rye.load.tool.*?"],
        &[("rye.load.tool.?*", "rye.load.tool.*?")],
    );
    check_redundant(
        &["rye.load.tool.[ab]", "rye.load.tool.[ba]", "rye.load.tool.[a-b]"],
        &[
            ("rye.load.tool.[ab]", "rye.load.tool.[a-b]"),
            ("rye.load.tool.[ba]", "rye.load.tool.[a-b]"),
        ],
    );
}

#[test]
fn a_great_many_patterns_do_not_take_forever() {
    let grant: Grant = (0..1_000)
        .map(|index| {
            parsed::<rye_caps::Pattern>(&format!("rye.load.tool.*a{index}b?*[!a]??????????"))
        })
        .collect();
    assert!(grant.redundant().is_empty());
}

/// Patterns with different heads cost no work, so many of them do not hide a redundant pair.
#[test]
fn a_pair_is_found_among_as_many_patterns_as_a_directive_may_have() {
    let many = (0..1_000).map(|index| format!("rye.load.tool.team{index}.*.read"));
    let grant: Grant = many
        .chain(["rye.load.tool.team999.?.read".to_owned()])
        .map(|text| parsed::<rye_caps::Pattern>(&text))
        .collect();
    let pairs = grant.redundant();
    let pairs: Vec<_> =
        pairs.iter().map(|(inner, outer)| (inner.as_str(), outer.as_str())).collect();
    assert_eq!(pairs, [("rye.load.tool.team999.?.read", "rye.load.tool.team999.*.read")]);
}

/// The index of one action and kind answers for no other.
#[test]
fn one_grant_is_asked_about_every_action_and_kind() {
    for (primary, kind) in actions_and_kinds() {
        let grant = Grant::of_items(primary.as_str(), kind.as_str(), "a").unwrap();
        for (asked_primary, asked_kind) in actions_and_kinds() {
            let asked = Capability::new(asked_primary, asked_kind, "a").unwrap();
            let expected = (asked_primary, asked_kind) == (primary, kind);
            assert_eq!(grant.allows(&asked), expected, "{asked} by {grant:?}");
        }
    }
}

fn actions_and_kinds() -> impl Iterator<Item = (Primary, Kind)> {
    Primary::ALL.iter().flat_map(|&primary| Kind::ALL.iter().map(move |&kind| (primary, kind)))
}

#[test]
fn a_search_of_a_kind_needs_any_grant_to_search_it() {
    let grant = Grant::of_items("fetch", "directive", "test/*").unwrap();
    assert!(grant.allows_some(Primary::Search, Kind::Directive));
    assert!(grant.allows_some(Primary::Load, Kind::Directive));
    assert!(!grant.allows_some(Primary::Search, Kind::Tool));
    assert!(!grant.allows_some(Primary::Execute, Kind::Directive));
    assert!(!Grant::nothing().allows_some(Primary::Search, Kind::Tool));
}

#[test]
fn a_grant_may_be_shared_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Grant>();
    check::<rye_caps::Authority>();
    check::<rye_caps::Permit>();
    check::<rye_caps::Denied>();
}
