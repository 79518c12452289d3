//! Inclusion between patterns, and the counter-examples.

use super::*;
use crate::grant::Grant;

fn grant(patterns: &[&str]) -> Grant {
    patterns.iter().map(|pattern| pattern.parse::<Pattern>().unwrap()).collect()
}

/// Checks whether `outer` covers `inner`, or that `expected` is the capability that it does not cover.
#[track_caller]
fn check(outer: &[&str], inner: &str, expected: Option<&str>) {
    let found = grant(outer).covers(&grant(&[inner])).err();
    let evidence = found.as_ref().map(|example| example.capability().map(Capability::as_str));
    assert_eq!(evidence, expected.map(Some));
    if let [outer] = outer {
        let outer: Pattern = outer.parse().unwrap();
        assert_eq!(outer.covers(&inner.parse().unwrap()).err(), found);
    }
}

#[test]
fn itself_and_what_is_below() {
    check(&["rye.*"], "rye.*", None);
    check(&["*"], "rye.*", None);
    check(&["rye.*"], "*", None);
    check(&["rye.*"], "rye.execute.tool.rye.bash.*", None);
    check(&["rye.execute.tool.rye.*"], "rye.execute.tool.rye.bash.*", None);
    check(&["rye.execute.tool.rye.bash.*"], "rye.execute.tool.rye.bash", None);
    check(
        &["rye.execute.tool.rye.bash"],
        "rye.execute.tool.rye.bash.*",
        Some("rye.execute.tool.rye.bash."),
    );
    check(&["rye.execute.tool.rye.bash.*"], "rye.execute.tool.rye.*", Some("rye.execute.tool.rye"));
    check(
        &["rye.execute.tool.rye.bash.*"],
        "rye.execute.tool.rye.bash*",
        Some("rye.execute.tool.rye.bashx"),
    );
    check(&["rye.execute.*"], "rye.*", Some("rye.search.tool.x"));
}

#[test]
fn wildcards_that_look_different_and_mean_the_same() {
    check(&["rye.load.tool.?*"], "rye.load.tool.*?", None);
    check(&["rye.load.tool.*?"], "rye.load.tool.?*", None);
    check(&["rye.load.tool.*a*"], "rye.load.tool.a*", None);
    check(&["rye.load.tool.*[!x]*"], "rye.load.tool.*[a-c]", None);
    check(&["rye.load.tool.[ba]"], "rye.load.tool.[ab]", None);
    check(&["rye.load.tool.[a-c]"], "rye.load.tool.[abc]", None);
    check(&["rye.load.tool.[a-b]"], "rye.load.tool.[a-c]", Some("rye.load.tool.c"));
    check(&["rye.load.tool.x[!.]*"], "rye.load.tool.x?*", Some("rye.load.tool.x."));
    check(&["rye.load.tool.??*"], "rye.load.tool.*", Some("rye.load.tool.x"));
    check(&["rye.load.tool.*ab*"], "rye.load.tool.*a*b*", Some("rye.load.tool.axb"));
    check(&["rye.load.tool.*ba"], "rye.load.tool.*aba", None);
}

#[test]
fn only_capabilities_that_can_be_written_count() {
    // Over all plain texts these would be false.
    check(&["rye.?*.?*.?*"], "rye.*", None);
    check(&["rye.*.tool.*", "rye.*.directive.*", "rye.*.knowledge.*"], "rye.*", None);
    check(&["rye.load.tool.[a-zA-Z0-9_]*"], "rye.load.tool.*", None);
    check(&["rye.load.tool.x"], "rye.run.tool.*", None);
    check(&["rye.load.tool.x"], "rye.load.tool..*", None);
    check(&["rye.[e-s]*"], "*", None);
}

#[test]
fn ids_end_at_256_bytes() {
    let inner = format!("rye.load.tool.{}*", "?".repeat(200));
    let outer: Vec<_> =
        (200..=256).map(|length| format!("rye.load.tool.{}", "?".repeat(length))).collect();
    let mut outer: Vec<_> = outer.iter().map(String::as_str).collect();
    check(&outer, &inner, None);
    outer.pop();
    check(&outer, &inner, Some(&format!("rye.load.tool.{}", "x".repeat(256))));
}

#[test]
fn patterns_count_together() {
    check(&["rye.load.*", "rye.search.*"], "rye.fetch.*", None);
    check(&["rye.fetch.*"], "rye.load.*", None);
    check(&["rye.load.*"], "rye.fetch.*", Some("rye.search.tool.x"));
    check(&["rye.load.tool.[a-m]*", "rye.load.tool.[!a-m]*"], "rye.load.tool.*", None);
    check(
        &["rye.load.tool.[a-m]*", "rye.load.tool.[!a-n]*"],
        "rye.load.tool.*",
        Some("rye.load.tool.n"),
    );
    check(&[], "rye.load.tool.x", Some("rye.load.tool.x"));
}

#[test]
fn the_empty_grant_is_covered_by_everything_and_covers_nothing() {
    assert!(Grant::nothing().covers(&Grant::nothing()).is_ok());
    assert!(Grant::everything().covers(&Grant::nothing()).is_ok());
    assert!(Grant::nothing().covers(&Grant::everything()).is_err());
}

#[test]
fn messages_name_the_evidence_and_both_sides() {
    #[track_caller]
    fn check(outer: &[&str], inner: &str, expected: &str) {
        assert_eq!(grant(outer).covers(&grant(&[inner])).unwrap_err().to_string(), expected);
    }
    check(
        &["rye.load.tool.a.*"],
        "rye.load.*",
        "`rye.load.tool.x` is covered by `rye.load.*` but not by `rye.load.tool.a.*`",
    );
    check(
        &["rye.load.tool.a", "rye.load.tool.b"],
        "rye.load.tool.?",
        "`rye.load.tool.x` is covered by `rye.load.tool.?` but by none of `rye.load.tool.a`, `rye.load.tool.b`",
    );
    check(
        &[],
        "rye.load.*",
        "`rye.load.tool.x` is covered by `rye.load.*`, but nothing is granted",
    );
}

#[test]
fn a_question_made_to_be_hard_is_given_up_and_counts_as_a_no() {
    // Together these cover every text of more than thirty letters, but the decision must remember which letters were an
    // `a`.
    let any = "?".repeat(30);
    let [a, other] = [format!("rye.load.tool.*[!a]{any}"), format!("rye.load.tool.*a{any}")];
    let inner = format!("rye.load.tool.?*{any}");
    let undecided = grant(&[&a, &other]).covers(&grant(&[&inner])).unwrap_err();
    assert_eq!(undecided.capability(), None);
    assert_eq!(
        undecided.to_string(),
        format!(
            "whether `{inner}` is covered by `{a}`, `{other}` takes too long to decide; use fewer `?` and classes"
        )
    );
    let [a, other, inner]: [Pattern; 3] = [a, other, inner].map(|text| text.parse().unwrap());
    assert!(!covers_glob([&a, &other], inner.globs().first().unwrap()));
}

#[test]
fn meeting_is_decided_both_ways() {
    #[track_caller]
    fn check(a: &str, b: &str, expected: bool) {
        let [a, b]: [Pattern; 2] = [a, b].map(|text| text.parse().unwrap());
        for (glob, pattern) in [(&a, &b), (&b, &a)] {
            assert_eq!(glob.globs().iter().any(|glob| may_meet(glob, pattern)), expected);
        }
    }
    check("rye.load.*", "rye.*.tool.*", true);
    check("rye.load.*", "rye.fetch.*", true);
    check("rye.load.*", "rye.execute.*", false);
    check("rye.load.tool.a*", "rye.load.tool.*b", true);
    check("rye.load.tool.a?", "rye.load.tool.?b", true);
    check("rye.load.tool.a?", "rye.load.tool.?bc", false);
    check("rye.load.tool.a.*", "rye.load.tool.a", true);
    check("rye.load.tool.*a*", "rye.load.tool.[!a][!a]", false);
    check("rye.run.*", "rye.run.*", false);
}

/// Cases: a pattern, and whether its text shows an example, which must be the one of a walk.
#[test]
fn the_text_of_a_pattern_shows_what_a_walk_finds() {
    let cases = [
        ("rye.execute.tool.rye.bash", true),
        ("rye.execute.tool.rye.bash.*", true),
        ("rye.execute.tool.rye.bash*", true),
        ("rye.execute.tool.rye-*", true),
        ("rye.execute.tool.rye..*", true),
        ("rye.execute.tool.*", true),
        ("rye.execute.tool*", false),
        ("rye.sign.directive.a/b", true),
        ("rye.execute.*", false),
        ("rye.*", false),
        ("*", false),
        ("tool.x", false),
        ("tool.*", false),
        ("rye.run.*", false),
        ("rye.execute.tool.?*", false),
    ];
    for (text, is_shown) in cases {
        let pattern: Pattern = text.parse().unwrap();
        for glob in pattern.globs() {
            let walked = Walk::new(glob, &[], Goal::Outside).find().unwrap();
            let shown = plain_example(glob);
            assert_eq!(shown.is_some(), is_shown, "{text}");
            assert!(shown.is_none() || shown == walked, "{text}: {shown:?}, {walked:?}");
            assert_eq!(may_cover(glob), walked.is_some(), "{text}");
        }
    }
}

/// Of a name and of names below it, one covers the other, so that they meet where the inner one covers something.
#[test]
fn a_name_meets_the_names_below_it() {
    let names = ["rye.execute.tool.a", "rye.execute.tool.a.b", "rye.execute.tool", "tool.x", "rye"];
    let patterns =
        names.iter().flat_map(|name| [format!("{name}.*"), format!("{name}*"), (*name).to_owned()]);
    let patterns: Vec<Pattern> = patterns.map(|text| text.parse().unwrap()).collect();
    for (one, other) in
        patterns.iter().flat_map(|one| patterns.iter().map(move |other| (one, other)))
    {
        for glob in one.globs() {
            let others: Vec<&Glob> = other.globs().iter().collect();
            let walked = Walk::new(glob, &others, Goal::Inside).find().unwrap();
            assert_eq!(may_meet(glob, other), walked.is_some(), "{one} {other}");
        }
    }
}

/// Cases: a pattern, one that it may cover, the budget, the answer, and what is left of the budget.
#[test]
fn a_decision_takes_from_the_budget_and_is_a_no_without_one() {
    let [name, below] = ["rye.load.tool.a", "rye.load.tool.a.*"];
    // These cover no capability, so that a walk through them has no step.
    let [nothing, less] = ["rye.run.*", "rye.run.a?"];
    for (outer, inner, budget, expected, left) in [
        (below, name, WALK + 1, true, 1),
        (below, name, WALK, false, 0),
        ("rye.load.tool.[bc]*", name, 1_000, false, 1_000 - WALK),
        ("rye.load.tool.*", name, 1_000, true, 1_000 - WALK),
        ("rye.load.tool.?b", "rye.load.tool.a*", 0, false, 0),
        ("rye.load.tool.b", name, 1_000, false, 1_000),
        ("rye.run.*", "rye.run.a", 1_000, true, 1_000 - WALK),
        (nothing, less, 1_000, true, 1_000 - WALK),
        (nothing, less, 1, true, 0),
        (nothing, less, 0, false, 0),
    ] {
        let [outer, inner]: [Pattern; 2] = [outer, inner].map(|text| text.parse().unwrap());
        let mut budget = budget;
        let found = covers_within(&outer, &inner, &mut budget);
        assert_eq!((found, budget), (expected, left), "{outer} {inner}");
    }
}
