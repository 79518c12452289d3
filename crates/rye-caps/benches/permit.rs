//! What asking for a permit costs, by the number of patterns in the grant.

use divan::{Bencher, black_box};
use rye_caps::{Authority, Capability, Grant, Layer, LayerName, Pattern};

fn main() {
    divan::main();
}

/// The capability that the last pattern alone covers, so that no search ends early.
#[divan::bench(args = [4, 32])]
fn allowed(bencher: Bencher<'_, '_>, patterns: usize) {
    permit(bencher, patterns, &format!("rye.execute.tool.team{}.files.read", patterns - 1), true);
}

#[divan::bench(args = [4, 32])]
fn denied(bencher: Bencher<'_, '_>, patterns: usize) {
    permit(bencher, patterns, "rye.execute.tool.elsewhere.files.read", false);
}

fn permit(bencher: Bencher<'_, '_>, patterns: usize, capability: &str, expected: bool) {
    let authority = Authority::new(Layer::new(LayerName::Operator, grant(patterns)));
    let capability: Capability = capability.parse().expect("because it is a capability");
    assert_eq!(authority.permit(&capability).is_ok(), expected, "what is measured is what it says");
    bencher.bench(|| black_box(&authority).permit(black_box(&capability)).is_ok());
}

/// Half of the patterns end in a star and half hold one.
fn grant(patterns: usize) -> Grant {
    let texts = (0..patterns).map(|n| match n % 2 {
        0 => format!("rye.execute.tool.team{n}.*"),
        _ => format!("rye.execute.tool.team{n}.*.read"),
    });
    texts.map(|text| text.parse::<Pattern>().expect("because it is a pattern")).collect()
}
