//! The coverage of patterns, compared with CPython's `fnmatch.fnmatchcase` (`SPEC 9.1`).
//!
//! `cpython/answers.tsv` is the output of `cpython/answers.py table`. If Python is installed, the tests compare with
//! its current answers as well, also for random pairs. Exactly two differences are intended: a pattern that ends in
//! `.*` also covers the name before it, and text outside the closed grammar is refused whatever CPython matches.

mod python;

use fnmatch_regex::glob_to_regex;
use proptest::{
    prop_assert_eq,
    test_runner::{Config, TestRunner},
};
use rye_caps::{Capability, Grant, Pattern};

use self::python::{Python, table};
use crate::texts::{capability, filled, parsed, pattern};

const TABLE: &str = include_str!("cpython/answers.tsv");

/// A row of the table.
struct Row {
    pattern: &'static str,
    subject: &'static str,
    answer: Answer,
    /// `true` if the pattern belongs to the closed grammar.
    is_closed: bool,
}

/// CPython's answer about a pattern.
#[derive(Clone, Copy)]
struct Answer {
    matches: bool,
    /// `true` if the pattern without its final `.*` matches; `false` if it has no final `.*`.
    stem_matches: bool,
}

impl Answer {
    fn of(matches: &str, stem: &str) -> Self {
        Self { matches: is(matches), stem_matches: stem != "-" && is(stem) }
    }

    /// Returns the expected answer of a pattern: CPython's answer with the intended difference.
    fn expected(self) -> bool {
        self.matches || self.stem_matches
    }
}

fn is(word: &str) -> bool {
    match word {
        "matches" => true,
        "misses" => false,
        other => panic!("`{other}` is no answer"),
    }
}

fn rows() -> impl Iterator<Item = Row> {
    TABLE.lines().skip(1).map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
        [pattern, subject, matches, stem, grammar] => {
            let is_closed = match grammar {
                "closed" => true,
                "refused" => false,
                other => panic!("`{other}` is no grammar"),
            };
            Row { pattern, subject, answer: Answer::of(matches, stem), is_closed }
        }
        _ => panic!("`{line}` is no row"),
    })
}

/// Checks that every way of matching gives the expected answer.
#[track_caller]
fn check(pattern: &str, subject: &str, expected: bool) {
    let (compiled, capability): (Pattern, Capability) = (parsed(pattern), parsed(subject));
    let shown = format!("`{pattern}` and `{subject}`");
    assert_eq!(compiled.matches(&capability), expected, "matching {shown}");
    let grant = Grant::from_iter([compiled.clone()]);
    assert_eq!(grant.allows(&capability), expected, "a grant of {shown}");
    let exactly = Pattern::exactly(&capability);
    assert_eq!(compiled.covers(&exactly).is_ok(), expected, "inclusion of {shown}");
    assert_eq!(compiled.meets(&exactly), expected, "meeting of {shown}");
}

#[test]
fn every_closed_row_is_what_cpython_says() {
    let closed = rows().filter(|row| row.is_closed);
    let mut counts = [0, 0];
    for row in closed {
        check(row.pattern, row.subject, row.answer.expected());
        counts[usize::from(row.answer.matches)] += 1;
    }
    assert!(counts.iter().all(|count| *count >= 150), "the table is not one-sided: {counts:?}");
}

#[test]
fn the_name_before_a_final_star_is_covered_although_cpython_misses_it() {
    let differs = |row: &Row| row.is_closed && row.answer.matches != row.answer.expected();
    let rows: Vec<Row> = rows().filter(differs).collect();
    assert!(rows.len() >= 10, "{}", rows.len());
    assert!(rows.iter().all(|row| row.pattern.trim_end_matches('*').ends_with(['.', '/'])));
}

#[test]
fn every_other_row_is_refused() {
    let refused: Vec<Row> = rows().filter(|row| !row.is_closed).collect();
    assert!(refused.len() >= 40, "{}", refused.len());
    for row in refused {
        let error = row.pattern.parse::<Pattern>().expect_err(row.pattern);
        assert!(!error.problems().is_empty(), "{}", row.pattern);
    }
}

/// Matches with the matcher behind patterns, without the grammar in front of it.
fn bare(pattern: &str, subject: &str) -> Option<bool> {
    glob_to_regex(&pattern.replace('/', ".")).ok().map(|regex| regex.is_match(subject))
}

#[test]
fn within_the_grammar_the_matcher_and_cpython_agree() {
    for row in rows().filter(|row| row.is_closed && !row.pattern.starts_with("rye.fetch.")) {
        let answer = bare(row.pattern, row.subject);
        assert_eq!(answer, Some(row.answer.matches), "`{}` and `{}`", row.pattern, row.subject);
    }
}

/// The grammar is closed because the two differ on these patterns, and some would grant more than was written.
#[test]
fn beyond_the_grammar_they_do_not() {
    let differs = |row: &Row| bare(row.pattern, row.subject) != Some(row.answer.matches);
    let mut patterns: Vec<&str> = rows()
        .filter(|row| !row.is_closed && differs(row))
        .map(|row| row.pattern.trim_start_matches("rye.load.tool."))
        .collect();
    patterns.dedup();
    for expected in ["[a^]", "[^a]", "{a,b}", "[", "[c-a]", "[a-c-e]", "[[:alpha:]]"] {
        assert!(patterns.contains(&expected), "`{expected}` is not among {patterns:?}");
    }
    // The class of `a` and `^` would have granted everything except `a`.
    assert_eq!(bare("rye.load.tool.[a^]", "rye.load.tool.b"), Some(true));
}

#[test]
fn the_table_is_what_python_prints() {
    let Some(printed) = table() else { return };
    assert_eq!(printed, TABLE, "write the table again with `python3 answers.py table`");
}

#[test]
fn random_pairs_are_what_cpython_says() {
    let Some(python) = Python::start() else { return };
    let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
    let pairs = (pattern(), capability(), proptest::collection::vec(0_u8.., 8));
    let outcome = TestRunner::new(config).run(&pairs, |(pattern, capability, choices)| {
        let filled = filled(&pattern, &choices).unwrap_or_else(|| capability.clone());
        let compiled: Pattern = parsed(&pattern);
        for capability in [capability, filled] {
            let [matches, stem] = python.ask(&pattern, capability.as_str());
            let expected = Answer::of(&matches, &stem).expected();
            prop_assert_eq!(compiled.matches(&capability), expected, "{}", capability);
            let covered = compiled.covers(&Pattern::exactly(&capability));
            prop_assert_eq!(covered.is_ok(), expected, "{}", capability);
        }
        Ok(())
    });
    outcome.unwrap();
}
