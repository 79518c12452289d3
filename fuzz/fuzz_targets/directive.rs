//! A directive file of any text is a directive or a list of problems, and every span lies inside the file.

#![no_main]

use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use rye_parse::{Directive, Problem};

fuzz_target!(|source: &str| {
    let result = rye_parse::directive(source);
    assert_eq!(result, rye_parse::directive(source), "equal text gives equal results");
    match result {
        Ok(directive) => check_directive(source, &directive),
        Err(error) => {
            assert!(!error.problems().is_empty(), "a refusal says why");
            check_problems(source, error.problems());
        }
    }
});

fn check_directive(source: &str, directive: &Directive) {
    check_problems(source, &directive.notes);
    check_span(source, &directive.name.span);
    check_span(source, &directive.body.span);
    directive.context.iter().for_each(|entry| check_span(source, &entry.span));
    directive.hooks.iter().for_each(|hook| check_span(source, &hook.span));
    directive.inputs.iter().for_each(|input| check_span(source, &input.span));
    directive.steps.iter().for_each(|step| check_span(source, &step.span));
    if let Some(permissions) = &directive.permissions {
        check_span(source, &permissions.span);
        assert!(source.contains(&permissions.value.raw), "permissions are kept byte for byte");
    }
    for placeholder in rye_parse::placeholders(&directive.body.value) {
        check_span(&directive.body.value, &placeholder.span);
    }
}

fn check_problems(source: &str, problems: &[Problem]) {
    for problem in problems {
        check_span(source, &problem.span);
        assert!(!problem.to_string().is_empty(), "a problem has a message");
        let position = rye_parse::position(source, problem.span.start);
        assert!(position.line >= 1 && position.column >= 1, "positions count from 1");
    }
}

fn check_span(source: &str, span: &Range<usize>) {
    assert!(
        source.get(span.clone()).is_some(),
        "{span:?} is no range of characters in {} bytes",
        source.len()
    );
}
