//! The cost of requesting a permit, by the number of patterns in the grant, compared with other pattern matchers.
//!
//! The other crates only match: they have no layers and no denials, and make no permits.

use divan::{Bencher, black_box};
use fnmatch_regex::{glob_to_regex, glob_to_regex_pattern};
use regex::{Regex, RegexSet};
use rye_caps::risk::RiskTable;
use rye_caps::{Authority, Grant, Invocation, Layer, LayerName, Pattern};
use serde_json::json;

fn main() {
    divan::main();
}

/// Many samples, because the fastest one is the least disturbed.
const SAMPLES: u32 = 200;
/// Repetitions per sample. A single one would measure cold caches and branch predictors.
const WARM: u32 = 500;
const ELSEWHERE: &str = "rye.execute.tool.elsewhere.files.read";

/// A request through the layers of a root thread: operator, project, signer and directive.
#[divan::bench(args = [4, 32], sample_count = SAMPLES, sample_size = WARM)]
fn allowed(bencher: Bencher<'_, '_>, patterns: usize) {
    permit(bencher, patterns, &last(patterns), true);
}

#[divan::bench(args = [4, 32], sample_count = SAMPLES, sample_size = WARM)]
fn denied(bencher: Bencher<'_, '_>, patterns: usize) {
    permit(bencher, patterns, ELSEWHERE, false);
}

#[divan::bench(args = [4, 32], sample_count = SAMPLES, sample_size = WARM)]
fn allowed_by_one_layer(bencher: Bencher<'_, '_>, patterns: usize) {
    let authority = Authority::new(Layer::new(LayerName::Operator, grant(patterns)));
    ask(bencher, &authority, &last(patterns), true);
}

#[divan::bench(args = [4, 32], sample_count = SAMPLES, sample_size = WARM)]
fn allowed_by_regex_set(bencher: Bencher<'_, '_>, patterns: usize) {
    let sources =
        texts(patterns).map(|text| glob_to_regex_pattern(&text).expect("because it is a glob"));
    let set = RegexSet::new(sources).expect("because they are small");
    let capability = last(patterns);
    assert!(set.is_match(&capability), "what is measured is what it says");
    bencher.bench(|| black_box(&set).is_match(black_box(&capability)));
}

#[divan::bench(args = [4, 32], sample_count = SAMPLES, sample_size = WARM)]
fn allowed_by_patterns_one_by_one(bencher: Bencher<'_, '_>, patterns: usize) {
    let regexes: Vec<Regex> =
        texts(patterns).map(|text| glob_to_regex(&text).expect("because it is a glob")).collect();
    let matches = |capability: &str| regexes.iter().any(|regex| regex.is_match(capability));
    let capability = last(patterns);
    assert!(matches(&capability), "what is measured is what it says");
    bencher.bench(|| matches(black_box(&capability)));
}

/// The largest number of patterns that a directive may have, with a table as long as the shipped one.
#[divan::bench(args = [100, 1_000])]
fn assessed(bencher: Bencher<'_, '_>, patterns: usize) {
    let rows = (0..20).map(
        |n| json!({ "risk": "elevated", "patterns": [format!("rye.execute.tool.other{n}.*")] }),
    );
    let all = json!({ "risk": "unrestricted", "patterns": ["rye.*"] });
    let table = json!({ "classifications": rows.chain([all]).collect::<Vec<_>>() });
    let table = RiskTable::from_value(&table).expect("because it is a table");
    let grant = grant(patterns);
    bencher.bench(|| black_box(&table).assess(black_box(&grant), &[], &[]).len());
}

/// Each pattern compared with every other.
#[divan::bench(args = [100, 1_000])]
fn redundant(bencher: Bencher<'_, '_>, patterns: usize) {
    let grant = grant(patterns);
    bencher.bench(|| black_box(&grant).redundant().len());
}

fn permit(bencher: Bencher<'_, '_>, patterns: usize, capability: &str, expected: bool) {
    let root = Layer::new(LayerName::Operator, Grant::everything());
    let authority = Authority::new(root)
        .narrow(Layer::new(LayerName::Project, Grant::everything()))
        .narrow(Layer::new(LayerName::Signer("6ea18199041a1ea8".to_owned()), Grant::everything()))
        .narrow(Layer::new(LayerName::Directive("ops/write_runbook".to_owned()), grant(patterns)));
    ask(bencher, &authority, capability, expected);
}

fn ask(bencher: Bencher<'_, '_>, authority: &Authority, capability: &str, expected: bool) {
    let capability: Invocation = capability.parse().expect("because it is a capability");
    assert_eq!(authority.permit(&capability).is_ok(), expected, "what is measured is what it says");
    bencher.bench(|| black_box(authority).permit(black_box(&capability)).is_ok());
}

fn grant(patterns: usize) -> Grant {
    texts(patterns).map(|text| text.parse::<Pattern>().expect("because it is a pattern")).collect()
}

/// Returns patterns of which half end in a star and half contain one.
fn texts(patterns: usize) -> impl Iterator<Item = String> {
    (0..patterns).map(|n| match n % 2 {
        0 => format!("rye.execute.tool.team{n}.*"),
        _ => format!("rye.execute.tool.team{n}.*.read"),
    })
}

/// Returns the capability that only the last pattern covers, so that no search ends early.
fn last(patterns: usize) -> String {
    format!("rye.execute.tool.team{}.files.read", patterns - 1)
}
