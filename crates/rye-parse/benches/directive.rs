//! What reading a directive costs, in a program that has just read others.

use std::fs;

use divan::{Bencher, black_box, counter::BytesCount};

fn main() {
    divan::main();
}

/// Many, because the fastest of them is the one that nothing else disturbed.
const SAMPLES: u32 = 200;
/// How often one sample repeats it: one time alone would measure caches and branches that know nothing yet.
const WARM: u32 = 50;

/// A directive of the size and shape of those that people write.
const DIRECTIVE: &str = include_str!("directive.md");

#[divan::bench(sample_count = SAMPLES, sample_size = WARM)]
fn directive(bencher: Bencher<'_, '_>) {
    parse(bencher, DIRECTIVE);
}

/// The founding directive itself, which is not part of the project: nothing is measured where it is not there.
#[divan::bench(sample_count = SAMPLES, sample_size = WARM)]
fn founding_directive(bencher: Bencher<'_, '_>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/seeds");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let path = entries.map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("004_"))
    });
    if let Some(source) = path.and_then(|path| fs::read_to_string(path).ok()) {
        parse(bencher, &source);
    }
}

fn parse(bencher: Bencher<'_, '_>, source: &str) {
    assert!(rye_parse::directive(source).is_ok(), "what is measured is a directive");
    // What was read is dropped at once, as most callers do, and not kept for the end of the sample.
    bencher
        .counter(BytesCount::of_str(source))
        .bench(|| rye_parse::directive(black_box(source)).is_ok());
}
