//! The cost of rendering a prompt in a program that has already rendered others.

use std::collections::BTreeMap;

use divan::{Bencher, black_box, counter::BytesCount};
use rye_prompt::{Inputs, Link, render};
use rye_types::ReturnStyle;

fn main() {
    divan::main();
}

/// Many samples, because the fastest one is the least disturbed.
const SAMPLES: u32 = 200;
/// Repetitions per sample. A single one would measure cold caches and branch predictors.
const WARM: u32 = 50;

/// The directive of the parsing benchmark.
const DIRECTIVE: &str = include_str!("../../rye-parse/benches/directive.md");

#[divan::bench(sample_count = SAMPLES, sample_size = WARM)]
fn directive(bencher: Bencher<'_, '_>) {
    let directive = rye_parse::directive(DIRECTIVE).expect("because it is a directive");
    let given: BTreeMap<_, _> = directive
        .inputs
        .iter()
        .map(|input| (input.value.name.value.clone(), "a value".into()))
        .collect();
    let inputs = Inputs::bind(&directive.inputs, &given).expect("because every input is given");
    let permissions = directive.permissions.as_ref().map(|raw| raw.value.raw.as_str());
    let link = Link::new("ops/write_runbook", &directive);
    let prompt = render(link, permissions, &inputs, ReturnStyle::Call).expect("because it renders");
    bencher
        .counter(BytesCount::of_str(&prompt))
        // The prompt is dropped at once, not at the end of the sample.
        .bench(|| {
            let rendered = render(black_box(link), permissions, &inputs, ReturnStyle::Call);
            black_box(rendered).is_ok()
        });
}
