//! Which permissions are kept, narrowed or dropped, and that nothing needed is lost and nothing gained.

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
    // What one need covers of another is not said twice.
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
