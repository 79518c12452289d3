//! Patterns: what is accepted means the same when it is written again, matching is what a naive matcher says, and
//! inclusion agrees with matching.
//!
//! The input is three lines: two patterns and a capability.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_caps::{Capability, Pattern};

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
        assert_eq!(pattern.matches(capability), naive::matches(text, capability.as_str()));
    }
}

fn check_inclusion(wide: &Pattern, narrow: &Pattern, capability: Option<&Capability>) {
    match wide.covers(narrow) {
        Ok(()) => {
            if let Some(capability) = capability {
                assert!(
                    !narrow.matches(capability) || wide.matches(capability),
                    "covering is no less than matching"
                );
            }
        }
        Err(reason) => {
            if let Some(example) = reason.capability() {
                assert!(narrow.matches(example), "`{example}` is not of `{narrow}`");
                assert!(!wide.matches(example), "`{example}` is covered by `{wide}`");
            }
        }
    }
}
