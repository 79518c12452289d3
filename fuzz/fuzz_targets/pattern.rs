//! Patterns: what is accepted means the same when it is written again, matching is what a naive matcher says, alone and
//! as a grant, and inclusion agrees with the naive matcher: its counter-examples are real, and without one, no capability
//! that is made from the covered pattern is lost.
//!
//! The input is three lines: two patterns and a capability.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_caps::{Capability, Grant, Pattern};

#[path = "../../crates/rye-caps/src/pattern/naive.rs"]
mod naive;

fuzz_target!(|input: &str| {
    let mut lines = input.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (wide_text, narrow, capability) = (next(), next(), next());
    let Ok(wide) = wide_text.parse::<Pattern>() else { return };
    let again: Pattern = wide.to_string().parse().expect("a pattern's text is a pattern");
    assert_eq!(again.to_string(), wide.to_string(), "the normal form is its own normal form");
    assert!(
        wide.covers(&wide).is_ok()
            || wide.covers(&wide).is_err_and(|reason| reason.capability().is_none())
    );

    let capability = capability.parse::<Capability>();
    if let Ok(capability) = &capability {
        assert_eq!(wide.matches(capability), again.matches(capability), "both forms mean the same");
        check_matching(wide_text, &wide, capability);
        assert!(Pattern::exactly(capability).matches(capability), "an exact pattern matches");
    }
    if let Ok(narrow) = narrow.parse::<Pattern>() {
        check_inclusion(&wide, &narrow, capability.ok().as_ref());
    }
});

/// The naive matcher tries everything, so that it is asked about little.
fn check_matching(text: &str, pattern: &Pattern, capability: &Capability) {
    let stars = text.bytes().filter(|byte| *byte == b'*').count();
    if stars <= 4 && capability.as_str().len() <= 48 {
        let expected = naive::matches(text, capability.as_str());
        assert_eq!(pattern.matches(capability), expected);
        assert_eq!(Grant::from_iter([pattern.clone()]).allows(capability), expected);
        let covers = pattern.covers(&Pattern::exactly(capability)).is_ok();
        assert_eq!(covers, expected, "an exact pattern is covered when its capability is matched");
        assert_eq!(pattern.meets(&Pattern::exactly(capability)), expected, "and met then too");
    }
}

/// Whether the naive matcher can be asked, and what it says.
fn naively(pattern: &Pattern, capability: &Capability) -> Option<bool> {
    let stars = pattern.as_str().bytes().filter(|byte| *byte == b'*').count();
    let is_small = stars <= 4 && capability.as_str().len() <= 48;
    is_small.then(|| naive::matches(pattern.as_str(), capability.as_str()))
}

/// Capabilities of the pattern: its wildcards filled in alike, once with each of a few runs.
fn filled(pattern: &Pattern) -> impl Iterator<Item = Capability> {
    let text = pattern.as_str().replacen("rye.fetch.", "rye.load.", 1);
    let runs = ["", "a", ".a", "-", "load.tool.x", "tool.x", "x"];
    runs.into_iter().filter_map(move |run| text.replace('*', run).replace('?', "x").parse().ok())
}

fn check_inclusion(wide: &Pattern, narrow: &Pattern, capability: Option<&Capability>) {
    match wide.covers(narrow) {
        Ok(()) => {
            for capability in filled(narrow).chain(capability.cloned()) {
                assert!(
                    !narrow.matches(&capability) || wide.matches(&capability),
                    "covering is no less than matching"
                );
                if naively(narrow, &capability) == Some(true) {
                    assert_ne!(naively(wide, &capability), Some(false), "`{capability}` is lost");
                }
            }
        }
        Err(reason) => {
            if let Some(example) = reason.capability() {
                assert!(narrow.matches(example), "`{example}` is not of `{narrow}`");
                assert!(!wide.matches(example), "`{example}` is covered by `{wide}`");
                assert_ne!(naively(narrow, example), Some(false), "`{example}` of `{narrow}`");
                assert_ne!(naively(wide, example), Some(true), "`{example}` of `{wide}`");
            }
        }
    }
    let shared = capability.is_some_and(|asked| wide.matches(asked) && narrow.matches(asked));
    assert!(!shared || wide.meets(narrow), "what share a capability meet");
}
