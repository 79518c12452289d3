//! What goes to standard output.

use serde_json::Value;

/// Prints data for programs: one JSON value, indented.
pub(crate) fn json(value: &Value) {
    println!("{value:#}");
}

/// Tells of warnings, whatever standard output is for: nobody is to overlook that something is unverified.
pub(crate) fn warnings(warnings: &[String]) {
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// A value for people: text as it is, anything else as JSON.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
