//! The public behaviour of the crate: accepted input, refused input, and messages.

mod conditions;
mod config;
mod directive;
mod hooks;
mod knowledge;
mod metadata;
mod properties;
mod reference;
mod steps;
mod tool;
mod xml;

use std::ops::Range;

use rye_parse::{Directive, ParseError, Problem};

/// Makes a test of each row: its name, and the arguments of the check.
macro_rules! rows {
    ($check:path; $($name:ident: $($argument:expr),+;)*) => {
        $(#[test] fn $name() { $check($($argument),+); })*
    };
}
pub(crate) use rows;

/// Returns a directive file with `inside` in its root element.
pub(crate) fn file(inside: &str) -> String {
    format!("```xml\n<directive name=\"a\">{inside}</directive>\n```\n")
}

/// Returns a directive file with `inside` in its metadata.
pub(crate) fn metadata(inside: &str) -> String {
    file(&format!("<metadata>{inside}</metadata>"))
}

/// Parses a directive that must be valid.
#[track_caller]
pub(crate) fn read(source: &str) -> Directive {
    match rye_parse::directive(source) {
        Ok(directive) => directive,
        Err(error) => panic!("{}", all(error.problems())),
    }
}

/// Removes the marks `«` and `»` from a text. Returns the text and the marked places in order.
pub(crate) fn unmarked(marked: &str) -> (String, Vec<Range<usize>>) {
    let mut text = String::new();
    let mut places = Vec::new();
    let mut open = Vec::new();
    for c in marked.chars() {
        match c {
            '«' => open.push(text.len()),
            '»' => places.push(open.pop().expect("each mark is opened")..text.len()),
            c => text.push(c),
        }
    }
    places.sort_by_key(|place| (place.start, place.end));
    (text, places)
}

/// Checks that a text is refused with these messages at the marked places, in order.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(
    parse: impl Fn(&str) -> Result<T, ParseError>,
    marked: &str,
    messages: &[&str],
) {
    let (source, places) = unmarked(marked);
    let error = parse(&source).expect_err("refused");
    same(error.problems(), &places, messages);
}

/// Checks problems or notes against messages and places.
#[track_caller]
pub(crate) fn same(problems: &[Problem], places: &[Range<usize>], messages: &[&str]) {
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, messages);
    let spans: Vec<_> = problems.iter().map(|problem| problem.span.clone()).collect();
    assert_eq!(spans, places, "places of {said:#?}");
}

/// Checks that a directive is refused.
#[track_caller]
pub(crate) fn directive_refused(marked: &str, messages: &[&str]) {
    refused(rye_parse::directive, marked, messages);
}

/// Checks that metadata is refused.
#[track_caller]
pub(crate) fn metadata_refused(marked: &str, messages: &[&str]) {
    directive_refused(&metadata(marked), messages);
}

/// Checks that a directive is accepted with these notes at the marked places.
#[track_caller]
pub(crate) fn noted(marked: &str, messages: &[&str]) {
    let (source, places) = unmarked(marked);
    same(&read(&source).notes, &places, messages);
}

fn all(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{:?} {problem}\n", problem.span)).collect()
}
