//! A directive file of any text is a directive or a list of problems, and every span lies inside the file and its parent.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::{check_nested, check_problems, check_span, checked};
use rye_parse::{Directive, Hook, Outputs, Step};

fuzz_target!(|source: &str| {
    let result = rye_parse::directive(source);
    assert_eq!(result, rye_parse::directive(source), "equal text gives equal results");
    if let Some(directive) = checked(source, result) {
        check_directive(source, &directive);
    }
});

fn check_directive(source: &str, directive: &Directive) {
    check_problems(source, &directive.notes);
    check_span(source, &directive.name.span);
    check_span(source, &directive.body.span);
    directive.context.iter().for_each(|entry| check_span(source, &entry.span));
    directive.inputs.iter().for_each(|input| {
        check_span(source, &input.span);
        check_nested(&input.span, &input.value.name.span);
    });
    if let Outputs::List(outputs) = &directive.outputs {
        outputs.iter().for_each(|output| check_nested(&output.span, &output.value.name.span));
    }
    directive.hooks.iter().for_each(|hook| {
        check_span(source, &hook.span);
        check_hook(source, &hook.value);
    });
    directive.steps.iter().for_each(|step| {
        check_span(source, &step.span);
        check_step(source, &step.value);
    });
    if let Some(permissions) = &directive.permissions {
        assert_eq!(source.get(permissions.span.clone()), Some(permissions.value.raw.as_str()));
        let entries = permissions.value.entries.iter().map(|entry| &entry.span);
        entries.for_each(|entry| check_nested(&permissions.span, entry));
    }
}

fn check_hook(source: &str, hook: &Hook) {
    hook.actions.iter().for_each(|action| check_span(source, &action.span));
}

fn check_step(source: &str, step: &Step) {
    step.actions.iter().for_each(|action| check_span(source, &action.span));
}
