//! What several targets hold a value against.

pub mod decoding;
mod naive;

use std::ops::Range;

use rye_parse::{ParseError, Problem};

/// The value, or nothing when the text was refused: with reasons, in order, each at a place of the text.
pub fn checked<T>(source: &str, result: Result<T, ParseError>) -> Option<T> {
    result.map_err(|error| check_refusal(source, &error)).ok()
}

fn check_refusal(source: &str, error: &ParseError) {
    let problems = error.problems();
    assert!(!problems.is_empty(), "a refusal says why");
    assert!(problems.is_sorted_by_key(|problem| problem.span.start), "problems are in order");
    check_problems(source, problems);
}

/// Each problem has a message and a place.
pub fn check_problems(source: &str, problems: &[Problem]) {
    for problem in problems {
        check_span(source, &problem.span);
        assert!(!problem.to_string().is_empty(), "a problem has a message");
        let position = rye_parse::position(source, problem.span.start);
        assert!(position.line >= 1 && position.column >= 1, "positions count from 1");
    }
}

/// The range is one of characters in the text.
pub fn check_span(source: &str, span: &Range<usize>) {
    let length = source.len();
    assert!(
        source.get(span.clone()).is_some(),
        "{span:?} is no range of characters in {length} bytes"
    );
}

/// One range lies inside the other.
pub fn check_nested(outer: &Range<usize>, inner: &Range<usize>) {
    assert!(
        outer.start <= inner.start && inner.end <= outer.end,
        "{inner:?} is not inside {outer:?}"
    );
}

/// The first line, which chooses what the target does, and the rest, which it does it with.
pub fn choice(input: &str) -> (&str, &str) {
    input.split_once('\n').unwrap_or((input, ""))
}
