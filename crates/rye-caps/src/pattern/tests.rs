//! The coverage of patterns. Each row is checked in every way that the crate has.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use super::{Pattern, naive};
use crate::{automaton::Automaton, capability::Capability, grant::Grant};

/// Patterns of every shape, none of which covers a capability of the table.
const DECOYS: &[&str] = &[
    "rye.sign.knowledge.decoy",
    "rye.sign.knowledge.decoy.*",
    "rye.sign.knowledge.decoy.a.*",
    "rye.sign.knowledge.decoy*",
    "rye.sign.knowledge.dec",
    "rye.sign.knowledge.*.decoy",
    "rye.sign.knowledge.?decoy",
    "rye.sign.knowledge.[d-e]ecoy",
    "rye.sign.knowledge.d*y.*",
    "rye.sign.knowledge.zz*",
    "rye.sign.knowledge.z.*",
    "rye",
    "rye.",
    "rye.run.*",
    "*.decoy",
];

#[track_caller]
fn check(pattern: &str, subject: &str, expected: bool) {
    let capability: Capability = subject.parse().unwrap();
    let subject = capability.as_str();
    let compiled: Pattern = pattern.parse().unwrap();
    assert_eq!(naive::matches(pattern, subject), expected, "naive");
    assert_eq!(compiled.matches(&capability), expected, "matches");

    let alone = Grant::from_iter([compiled.clone()]);
    assert_eq!(alone.allows(&capability), expected, "index of one");
    assert_eq!(alone.granting(&capability).is_some(), expected, "granting");
    let decoys = DECOYS.iter().map(|decoy| decoy.parse::<Pattern>().unwrap());
    assert_eq!(
        decoys.chain([compiled.clone()]).collect::<Grant>().allows(&capability),
        expected,
        "index of many"
    );

    let automaton = compiled.globs().iter().map(Automaton::new).any(|automaton| {
        let states = automaton.after(subject);
        automaton.accepts(states)
    });
    assert_eq!(automaton, expected, "automaton");
    let regex = compiled
        .globs()
        .iter()
        .flat_map(|glob| glob.regex_sources())
        .any(|source| regex::Regex::new(&source).unwrap().is_match(subject));
    assert_eq!(regex, expected, "fnmatch-regex");

    let counter_example = compiled.covers(&Pattern::exactly(&capability)).err();
    let evidence = counter_example.as_ref().map(|example| example.capability());
    assert_eq!(evidence, if expected { None } else { Some(Some(&capability)) }, "covers");
}

/// A test for each row: its name, the pattern, `covers` or `misses`, and the capability.
macro_rules! rows {
    ($($name:ident: $pattern:literal $relation:ident $subject:literal;)*) => {
        $(#[test] fn $name() { check($pattern, $subject, rows!($relation)); })*
    };
    (covers) => { true };
    (misses) => { false };
}

rows! {
    exact_same: "rye.execute.tool.rye.bash.bash" covers "rye.execute.tool.rye.bash.bash";
    exact_longer: "rye.execute.tool.rye.bash" misses "rye.execute.tool.rye.bash.bash";
    exact_shorter: "rye.execute.tool.rye.bash.bash" misses "rye.execute.tool.rye.bash";
    exact_other_primary: "rye.load.tool.rye.bash" misses "rye.execute.tool.rye.bash";
    exact_other_kind: "rye.execute.directive.rye.bash" misses "rye.execute.tool.rye.bash";
    exact_case_of_id: "rye.execute.tool.Rye.Bash" misses "rye.execute.tool.rye.bash";
    exact_case_of_rye: "RYE.execute.tool.x" misses "rye.execute.tool.x";
    exact_case_kept: "rye.load.knowledge.rye.Identity" covers "rye.load.knowledge.rye.Identity";
    exact_single_letter: "rye.execute.tool.x" covers "rye.execute.tool.x";
    exact_underscore: "rye.execute.tool.a_b" covers "rye.execute.tool.a_b";
    exact_dash: "rye.execute.tool.a-b" covers "rye.execute.tool.a-b";
    exact_dash_is_no_dot: "rye.execute.tool.a-b" misses "rye.execute.tool.a.b";
    exact_dot_is_no_wildcard: "rye.execute.tool.a.b" misses "rye.execute.tool.axb";
    exact_digits: "rye.execute.tool.v1.2.3" covers "rye.execute.tool.v1.2.3";
    exact_id_alone: "rye.bash.bash" misses "rye.execute.tool.rye.bash.bash";
    exact_double_dot: "rye.load.knowledge.a..b" covers "rye.load.knowledge.a..b";
    exact_double_dot_is_two: "rye.load.knowledge.a..b" misses "rye.load.knowledge.a.b";

    slash_is_dot: "rye.execute.tool.rye/bash/bash" covers "rye.execute.tool.rye.bash.bash";
    slash_everywhere: "rye/execute/tool/x" covers "rye.execute.tool.x";
    slash_in_subject: "rye.execute.tool.rye.bash" covers "rye.execute.tool.rye/bash";
    slash_before_star: "rye.load.knowledge.rye/core/*" covers "rye.load.knowledge.rye.core.intro";
    slash_before_star_stem: "rye.load.knowledge.rye/core/*" covers "rye.load.knowledge.rye.core";
    slash_before_star_other: "rye.load.knowledge.rye/core/*" misses "rye.load.knowledge.rye.corex";

    all_by_rye: "rye.*" covers "rye.sign.directive.deploy";
    all_by_star: "*" covers "rye.execute.tool.x";
    all_by_stars: "*.*.*.*" covers "rye.execute.tool.x";
    all_by_stars_is_too_many: "*.*.*.*.*" covers "rye.execute.tool.x";
    all_needs_more_dots: "*.*.*.*.*.x" misses "rye.execute.tool.x";
    all_by_double_star: "rye.**" covers "rye.execute.tool.x";
    all_of_primary: "rye.execute.*" covers "rye.execute.directive.deploy";
    all_of_other_primary: "rye.execute.*" misses "rye.sign.directive.deploy";
    all_of_kind: "rye.execute.tool.*" covers "rye.execute.tool.a.b.c.d";
    all_of_other_kind: "rye.execute.tool.*" misses "rye.execute.knowledge.a";
    all_of_kind_anywhere: "rye.*.directive.*" covers "rye.sign.directive.x";
    all_of_kind_anywhere_misses: "rye.*.directive.*" misses "rye.sign.tool.x";
    kind_inside_an_id: "rye.*.directive.*" covers "rye.execute.tool.my.directive.x";

    below: "rye.execute.tool.rye.file-system.*" covers "rye.execute.tool.rye.file-system.read";
    below_deep: "rye.execute.tool.rye.file-system.*" covers "rye.execute.tool.rye.file-system.a.b.c";
    below_stem: "rye.execute.tool.rye.bash.*" covers "rye.execute.tool.rye.bash";
    below_similar_name: "rye.execute.tool.rye.bash.*" misses "rye.execute.tool.rye.bashful";
    below_parent: "rye.execute.tool.rye.bash.*" misses "rye.execute.tool.rye";
    below_sibling: "rye.execute.tool.rye.bash.*" misses "rye.execute.tool.rye.shell.sh";
    below_stem_cut: "rye.execute.tool.rye.bash.*" misses "rye.execute.tool.rye.bas";
    below_dash: "rye.execute.tool.rye.bash.*" misses "rye.execute.tool.rye.bash-x";
    below_empty_rest: "rye.execute.tool.rye.bash.*" covers "rye.execute.tool.rye.bash.";
    below_double_star: "rye.execute.tool.rye.bash.**" covers "rye.execute.tool.rye.bash";

    prefix: "rye.execute.tool.deploy*" covers "rye.execute.tool.deploy_app";
    prefix_itself: "rye.execute.tool.deploy*" covers "rye.execute.tool.deploy";
    prefix_over_dots: "rye.execute.tool.deploy*" covers "rye.execute.tool.deploy.staging.eu";
    prefix_shorter: "rye.execute.tool.deploy*" misses "rye.execute.tool.deplo";
    prefix_in_primary: "rye.exec*" covers "rye.execute.tool.x";
    prefix_in_primary_misses: "rye.exec*" misses "rye.load.tool.x";

    suffix: "*.read" covers "rye.execute.tool.rye.file-system.read";
    suffix_needs_dot: "*.read" misses "rye.execute.tool.thread";
    suffix_longer: "*.read" misses "rye.execute.tool.a.reader";
    suffix_of_kind: "rye.execute.tool.*.read" covers "rye.execute.tool.a.read";
    suffix_of_kind_deep: "rye.execute.tool.*.read" covers "rye.execute.tool.a.b.c.read";
    suffix_of_kind_bare: "rye.execute.tool.*.read" misses "rye.execute.tool.read";
    suffix_twice: "rye.execute.tool.*.read" covers "rye.execute.tool.a.read.read";

    middle: "rye.execute.tool.*.threads.*" covers "rye.execute.tool.rye.threads.spawn";
    middle_stem: "rye.execute.tool.*.threads.*" covers "rye.execute.tool.rye.threads";
    middle_missing: "rye.execute.tool.*.threads.*" misses "rye.execute.tool.rye.thread.spawn";
    middle_second_try: "rye.execute.tool.*.ab.c" covers "rye.execute.tool.x.ab.d.ab.c";
    middle_over_kind: "rye.*.x" covers "rye.execute.tool.x";
    middle_star_may_be_empty: "rye.execute.tool.a*b" covers "rye.execute.tool.ab";
    middle_star_in_order: "rye.execute.tool.a*b*c" misses "rye.execute.tool.acb";
    middle_overlap: "rye.execute.tool.ab*ba" misses "rye.execute.tool.aba";
    middle_overlap_apart: "rye.execute.tool.ab*ba" covers "rye.execute.tool.abba";
    eight_stars: "rye.execute.tool.*a*b*c*d*e*f*g*h" covers "rye.execute.tool.abcdefgh";
    eight_stars_misses: "rye.execute.tool.*a*b*c*d*e*f*g*h" misses "rye.execute.tool.abcdefhg";

    one: "rye.execute.tool.v?" covers "rye.execute.tool.v1";
    one_is_not_none: "rye.execute.tool.v?" misses "rye.execute.tool.v";
    one_is_not_two: "rye.execute.tool.v?" misses "rye.execute.tool.v12";
    one_is_a_dot: "rye.execute.tool.a?b" covers "rye.execute.tool.a.b";
    one_is_a_slash_made_dot: "rye.execute.tool.a?b" covers "rye.execute.tool.a/b";
    one_in_primary: "rye.???????.tool.x" covers "rye.execute.tool.x";
    one_in_primary_misses: "rye.???????.tool.x" misses "rye.search.tool.x";
    one_then_star: "rye.execute.tool.a?*" covers "rye.execute.tool.abc";
    one_then_star_misses: "rye.execute.tool.a?*" misses "rye.execute.tool.a";
    star_then_one: "rye.execute.tool.a*?" covers "rye.execute.tool.ab";
    star_then_one_misses: "rye.execute.tool.a*?" misses "rye.execute.tool.a";
    one_before_end_star: "rye.execute.tool.?.*" covers "rye.execute.tool.a";
    one_before_end_star_misses: "rye.execute.tool.?.*" misses "rye.execute.tool.ab";

    class: "rye.execute.tool.[abc]" covers "rye.execute.tool.b";
    class_misses: "rye.execute.tool.[abc]" misses "rye.execute.tool.d";
    class_is_one: "rye.execute.tool.[abc]" misses "rye.execute.tool.ab";
    class_case: "rye.execute.tool.[abc]" misses "rye.execute.tool.B";
    class_range: "rye.execute.tool.v[0-9]" covers "rye.execute.tool.v7";
    class_range_ends: "rye.execute.tool.v[3-7]" covers "rye.execute.tool.v3";
    class_range_beyond: "rye.execute.tool.v[3-7]" misses "rye.execute.tool.v8";
    class_range_of_one: "rye.execute.tool.v[3-3]" covers "rye.execute.tool.v3";
    class_range_upper: "rye.execute.tool.[A-Z]x" covers "rye.execute.tool.Qx";
    class_range_no_lower: "rye.execute.tool.[A-Z]x" misses "rye.execute.tool.qx";
    class_ranges: "rye.execute.tool.[a-cx-z0]" covers "rye.execute.tool.y";
    class_ranges_between: "rye.execute.tool.[a-cx-z0]" misses "rye.execute.tool.m";
    class_dash_first: "rye.execute.tool.a[-_]b" covers "rye.execute.tool.a-b";
    class_dash_last: "rye.execute.tool.a[_-]b" covers "rye.execute.tool.a-b";
    class_dash_last_other: "rye.execute.tool.a[_-]b" covers "rye.execute.tool.a_b";
    class_dash_alone: "rye.execute.tool.a[-]b" misses "rye.execute.tool.a.b";
    class_dash_after_range: "rye.execute.tool.a[a-c-]b" covers "rye.execute.tool.a-b";
    class_dash_before_range: "rye.execute.tool.a[-a-c]b" covers "rye.execute.tool.abb";
    class_dashes: "rye.execute.tool.a[--]b" covers "rye.execute.tool.a-b";
    class_dot: "rye.execute.tool.a[.]b" covers "rye.execute.tool.a/b";
    class_dot_is_no_wildcard: "rye.execute.tool.a[.]b" misses "rye.execute.tool.axb";
    class_dot_at_end: "rye.execute.tool.a[.]*" misses "rye.execute.tool.a";
    class_in_kind: "rye.execute.[dt]*.x" covers "rye.execute.directive.x";
    class_in_kind_misses: "rye.execute.[dt]*.x" misses "rye.execute.knowledge.x";
    class_before_end_star: "rye.execute.tool.[ab].*" covers "rye.execute.tool.b";

    not_class: "rye.execute.tool.[!abc]" covers "rye.execute.tool.d";
    not_class_misses: "rye.execute.tool.[!abc]" misses "rye.execute.tool.a";
    not_class_is_one: "rye.execute.tool.x[!abc]" misses "rye.execute.tool.x";
    not_class_range: "rye.execute.tool.v[!0-9]" covers "rye.execute.tool.va";
    not_class_range_misses: "rye.execute.tool.v[!0-9]" misses "rye.execute.tool.v0";
    not_class_is_a_dot: "rye.execute.tool.a[!x]b" covers "rye.execute.tool.a.b";
    not_class_without_dot: "rye.execute.tool.a[!.]b" misses "rye.execute.tool.a.b";
    not_class_without_dash: "rye.execute.tool.a[!-]b" misses "rye.execute.tool.a-b";
    not_class_without_both: "rye.execute.tool.a[!.-]b" covers "rye.execute.tool.a_b";
    not_class_in_primary: "rye.[!e]*.tool.x" covers "rye.sign.tool.x";
    not_class_in_primary_misses: "rye.[!e]*.tool.x" misses "rye.execute.tool.x";
    not_class_of_everything: "rye.execute.tool.x[!a-zA-Z0-9_.-]" misses "rye.execute.tool.xa";

    fetch_searches: "rye.fetch.directive.*" covers "rye.search.directive.x";
    fetch_loads: "rye.fetch.directive.*" covers "rye.load.directive.x";
    fetch_executes_nothing: "rye.fetch.directive.*" misses "rye.execute.directive.x";
    fetch_signs_nothing: "rye.fetch.directive.*" misses "rye.sign.directive.x";
    fetch_other_kind: "rye.fetch.directive.*" misses "rye.load.tool.x";
    fetch_all: "rye.fetch.*" covers "rye.load.knowledge.x";
    fetch_exact: "rye.fetch.tool.x" covers "rye.search.tool.x";
    fetch_slash: "rye/fetch/tool/x" covers "rye.load.tool.x";
    fetch_wildcard: "rye.fetch.*.a?c" covers "rye.load.tool.abc";
    fetch_by_wildcard: "rye.f*.tool.x" misses "rye.load.tool.x";
    fetch_by_class: "rye.[!ls]*.tool.x" misses "rye.load.tool.x";

    unreachable_word: "tool.x" misses "rye.execute.tool.x";
    unreachable_primary: "rye.run.tool.x" misses "rye.execute.tool.x";
    unreachable_rye: "rye" misses "rye.execute.tool.x";
    unreachable_dot_first: "rye.execute.tool..x" misses "rye.execute.tool.x";
}

#[test]
fn the_longest_id_can_be_granted_by_name() {
    let id = "a".repeat(256);
    let subject = format!("rye.execute.knowledge.{id}");
    check(&subject, &subject, true);
    check(&format!("rye.fetch.knowledge.{id}"), &format!("rye.search.knowledge.{id}"), true);
    check(&format!("rye.execute.knowledge.{}*", "a".repeat(255)), &subject, true);
    check(&format!("rye.execute.knowledge.{}?", "a".repeat(255)), &subject, true);
}

fn hash(pattern: &Pattern) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(pattern)
}

#[test]
fn patterns_compare_by_their_normal_form() {
    let parse = |text: &str| text.parse::<Pattern>().unwrap();
    assert_eq!(parse("rye/load/**"), parse("rye.load.*"));
    assert_eq!(parse("rye/load/**").to_string(), "rye.load.*");
    assert_ne!(parse("rye.load.[ab]"), parse("rye.load.[ba]"));
    assert!(parse("rye/load/a") < parse("rye.load.b"));
    assert_eq!(hash(&parse("rye/load/**")), hash(&parse("rye.load.*")));
    assert_ne!(hash(&parse("rye.load.a")), hash(&parse("rye.load.b")));
    assert_eq!(format!("{:?}", parse("rye.fetch.*")), "Pattern(\"rye.fetch.*\")");
}

/// Cases: two patterns, whether the first covers all that starts like the second, and whether their heads exclude each other.
#[test]
fn the_heads_of_two_globs_decide_what_they_can() {
    for (one, other, is_covered, is_apart) in [
        ("rye.load.tool.a*", "rye.load.tool.ab", true, false),
        ("rye.load.tool.a*", "rye.load.tool.ab?c", true, false),
        ("rye.load.tool.a*", "rye.load.tool.a*", true, false),
        ("rye.load.tool.a*", "rye.load.*", false, false),
        ("rye.load.tool.a*", "rye.load.tool.b*", false, true),
        ("rye.load.tool.a.*", "rye.load.tool.a.b", true, false),
        ("rye.load.tool.a.*", "rye.load.tool.a", false, false),
        ("rye.load.tool.a", "rye.load.tool.a", false, false),
        ("rye.load.tool.[ab]", "rye.load.tool.a", false, false),
        ("rye.load.tool.x[ab]", "rye.load.tool.a?", false, true),
    ] {
        let [first, second]: [Pattern; 2] = [one, other].map(|text| text.parse().unwrap());
        let [first, second] = [&first, &second].map(|pattern| &pattern.globs()[0]);
        assert_eq!(first.covers_head_of(second), is_covered, "{one} {other}");
        assert_eq!(first.is_apart_from(second), is_apart, "{one} {other}");
        assert_eq!(second.is_apart_from(first), is_apart, "{other} {one}");
    }
}
