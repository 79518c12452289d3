//! What rendering a prompt costs.

use std::collections::BTreeMap;

use divan::{Bencher, black_box, counter::BytesCount};
use rye_prompt::{Inputs, Link, ReturnStyle, render};

fn main() {
    divan::main();
}

/// The directive that reading is measured with.
const DIRECTIVE: &str = include_str!("../../rye-parse/benches/directive.md");

#[divan::bench]
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
        .bench(|| render(black_box(link), permissions, black_box(&inputs), ReturnStyle::Call));
}
