//! The cost of contrived patterns, measured by the size of their compiled form and not by time.
//!
//! The regular expressions visit each state of their program at most once for each byte, as `regex` guarantees. The
//! matching time is therefore the program size times the length of the capability, and the program size must be
//! proportional to the pattern.

use regex::RegexBuilder;

use super::Pattern;

/// Returns the smallest size limit in bytes that the program of `pattern` fits into.
fn size(pattern: &str) -> usize {
    let pattern: Pattern = pattern.parse().unwrap();
    let sources: Vec<String> =
        pattern.globs().iter().flat_map(|glob| glob.regex_sources()).collect();
    let fits = |limit: usize| {
        sources.iter().all(|source| RegexBuilder::new(source).size_limit(limit).build().is_ok())
    };
    let mut low = 0;
    let mut high = MOST;
    assert!(fits(high), "`{}` takes more than {MOST} bytes", pattern.as_str());
    while high - low > 256 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}

/// The largest program of one pattern.
const MOST: usize = 1 << 20;

#[test]
fn the_hardest_patterns_compile_within_the_bound() {
    let head = "rye.execute.knowledge.";
    for hard in [
        "?".repeat(256),
        "[!x]".repeat(64),
        "[!a-z]".repeat(42),
        format!("{}.*", "[!a-zA-Z0-9._-]".repeat(16)),
        format!("*{}", "?*".repeat(7)) + &"?".repeat(240),
        "*[!a]".repeat(8),
        "*a".repeat(8) + &"[!b]".repeat(60),
    ] {
        size(&format!("{head}{hard}"));
    }
}

#[test]
fn a_longer_pattern_compiles_to_more_in_proportion() {
    for unit in ["a", "?", "[!x]", "[a-c]"] {
        let sized = |count: usize| size(&format!("rye.load.tool.x*{}", unit.repeat(count)));
        let [short, long] = [sized(12), sized(48)];
        assert!(long <= short * 5, "`{unit}`: {short} bytes for 12, {long} for 48");
    }
}

#[test]
fn stars_do_not_multiply() {
    let sized = |stars: usize| size(&format!("rye.load.tool.{}b", "*a".repeat(stars)));
    let [one, eight] = [sized(1), sized(8)];
    assert!(eight <= one * 10, "{one} bytes for one star, {eight} for eight");
}
