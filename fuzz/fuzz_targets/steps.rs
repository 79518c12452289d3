//! Any text below a fence is a body: it never makes a file unreadable, and every step is at its place.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::{check_nested, check_problems, check_span};

const FENCE: &str = "```xml\n<directive name=\"a\"></directive>\n```\n";

fuzz_target!(|body: &str| {
    let source = format!("{FENCE}{body}");
    let directive = rye_parse::directive(&source).expect("a body is never an error");
    check_problems(&source, &directive.notes);
    assert_eq!(directive.body.value, body.trim(), "the body is the text below the fence");
    assert_eq!(source.get(directive.body.span.clone()), Some(body.trim()));
    for step in &directive.steps {
        check_span(&source, &step.span);
        check_nested(&directive.body.span, &step.span);
        step.value.actions.iter().for_each(|action| {
            check_span(&source, &action.span);
            check_nested(&step.span, &action.span);
        });
    }
    let starts = directive.steps.iter().map(|step| step.span.start);
    assert!(starts.is_sorted(), "steps are in the order of the text");
});
