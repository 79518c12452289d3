//! The cost of parsing a directive in a program that has already parsed others.

use std::fs;

use divan::{Bencher, black_box, counter::BytesCount};

fn main() {
    divan::main();
}

/// Many samples, because the fastest one is the least disturbed.
const SAMPLES: u32 = 200;
/// Repetitions per sample. A single one would measure cold caches and branch predictors.
const WARM: u32 = 50;

/// A directive of typical size and form.
const DIRECTIVE: &str = include_str!("directive.md");

#[divan::bench(sample_count = SAMPLES, sample_size = WARM)]
fn directive(bencher: Bencher<'_, '_>) {
    parse(bencher, DIRECTIVE);
}

/// The founding directive, which is not part of the project. If its file is absent, nothing is measured.
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
    // The result is dropped at once, as in most callers, and not at the end of the sample.
    bencher
        .counter(BytesCount::of_str(source))
        .bench(|| rye_parse::directive(black_box(source)).is_ok());
}
