//! What rendering a prompt costs, in a program that has just rendered others.

use std::collections::BTreeMap;

use divan::{Bencher, black_box, counter::BytesCount};
use rye_prompt::{Inputs, Link, ReturnStyle, render};

fn main() {
    divan::main();
}

/// Many, because the fastest of them is the one that nothing else disturbed.
const SAMPLES: u32 = 200;
/// How often one sample repeats it: one time alone would measure caches and branches that know nothing yet.
const WARM: u32 = 50;

/// The directive that reading is measured with.
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
        // The prompt is dropped at once and not kept for the end of the sample.
        .bench(|| {
            let rendered = render(black_box(link), permissions, &inputs, ReturnStyle::Call);
            black_box(rendered).is_ok()
        });
}
