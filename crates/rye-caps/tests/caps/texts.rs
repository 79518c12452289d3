//! Random capabilities and patterns, of few letters so that they often match.

use proptest::{collection::vec, prelude::*};
use rye_caps::{Capability, Grant, Pattern};

use crate::naive;

/// A capability over a small alphabet.
pub(crate) fn capability() -> impl Strategy<Value = Capability> {
    (primary(), kind(), "[ab_][ab._-]{0,5}")
        .prop_map(|(primary, kind, id)| parsed(&format!("rye.{primary}.{kind}.{id}")))
}

/// A pattern over the same alphabet, with every construct of the grammar.
pub(crate) fn pattern() -> impl Strategy<Value = String> {
    let items = vec(token(), 1..7).prop_map(|tokens| tokens.concat());
    let primary =
        prop_oneof![4 => primary(), 1 => Just("fetch"), 1 => Just("*"), 1 => Just("[els]*")];
    let kind = prop_oneof![4 => kind(), 1 => Just("*"), 1 => Just("?*e")];
    prop_oneof![
        8 => (primary, kind, items.clone()).prop_map(|(primary, kind, items)| format!("rye.{primary}.{kind}.{items}")),
        1 => items.prop_map(|items| format!("rye.{items}")),
        1 => Just("rye.*".to_owned()),
        1 => primary_wildcard(),
    ]
    .prop_filter("a pattern has at most eight stars", |pattern| pattern.matches('*').count() <= 8)
}

pub(crate) fn grant() -> impl Strategy<Value = Grant> {
    vec(pattern(), 0..6)
        .prop_map(|patterns| patterns.iter().map(|pattern| parsed::<Pattern>(pattern)).collect())
}

/// Parses a text that must be valid.
#[track_caller]
pub(crate) fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("because the test writes valid texts")
}

/// Returns a capability that `pattern` covers, with its wildcards filled in by `choices`; `None` if the text is not a
/// capability.
pub(crate) fn filled(pattern: &str, choices: &[u8]) -> Option<Capability> {
    let mut choices = choices.iter().cycle().map(|&choice| usize::from(choice));
    let pattern = pattern.replace('/', ".").replacen("rye.fetch.", "rye.load.", 1);
    let (mut text, mut rest) = (String::new(), pattern.as_str());
    while let Some(first) = rest.chars().next() {
        rest = &rest[1..];
        match first {
            '*' => text.push_str(RUNS[choices.next()? % RUNS.len()]),
            '?' => text.push(LETTERS[choices.next()? % LETTERS.len()]),
            '[' => {
                let (class, after) = rest.split_once(']')?;
                rest = after;
                let is_of =
                    |letter: &&char| naive::matches(&format!("[{class}]"), &letter.to_string());
                let letters: Vec<&char> = LETTERS.iter().filter(is_of).collect();
                text.push(**letters.get(choices.next()? % letters.len().max(1))?);
            }
            literal => text.push(literal),
        }
    }
    text.parse().ok()
}

const RUNS: [&str; 8] =
    ["", "a", "b.a", "_", "-b", "tool.a", "load.tool.b", "execute.knowledge.ab"];

const LETTERS: [char; 5] = ['a', 'b', '.', '_', '-'];

/// Returns every id of up to three bytes over the alphabet of [`capability`], for each action on tools.
pub(crate) fn all_small() -> Vec<Capability> {
    let mut ids: Vec<String> = ["a", "b", "_"].map(str::to_owned).into();
    for length in 1..3 {
        let longer = ids
            .iter()
            .filter(|id| id.len() == length)
            .flat_map(|id| ["a", "b", ".", "_", "-"].map(|letter| format!("{id}{letter}")));
        ids.extend(longer.collect::<Vec<_>>());
    }
    let heads = ["rye.execute.tool", "rye.search.tool", "rye.load.tool", "rye.sign.knowledge"];
    heads
        .iter()
        .flat_map(|head| ids.iter().map(move |id| parsed(&format!("{head}.{id}"))))
        .collect()
}

fn primary() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![Just("execute"), Just("search"), Just("load"), Just("sign")]
}

fn kind() -> impl Strategy<Value = &'static str> + Clone {
    prop_oneof![3 => Just("tool"), 1 => Just("knowledge")]
}

fn primary_wildcard() -> impl Strategy<Value = String> {
    prop_oneof![primary(), Just("fetch")].prop_map(|primary| format!("rye.{primary}.*"))
}

fn token() -> impl Strategy<Value = &'static str> + Clone {
    proptest::sample::select(TOKENS)
}

const TOKENS: &[&str] = &[
    "a", "b", ".", "/", "-", "_", "*", "*", ".*", "?", "[ab]", "[!a]", "[!.]", "[a-b]", "[_-]",
    "[!b.-]",
];
