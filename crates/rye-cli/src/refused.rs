//! Warnings about refused items that a command leaves out.

use rye::resolve::ResolveError;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Warns on standard error about the number of items that are not `done`, with the first reasons.
pub(crate) fn warn(refused: &[ResolveError], done: &str) {
    if refused.is_empty() {
        return;
    }
    let heading = match refused.len() {
        1 => format!("1 item or folder is not {done}:"),
        count => format!("{count} items or folders are not {done}:"),
    };
    output::warnings(&[heading]);
    refused.iter().take(MOST_REASONS).for_each(|error| eprintln!("  {}", reason(error)));
    if refused.len() > MOST_REASONS {
        eprintln!("  and {} more; `--json` has all", refused.len() - MOST_REASONS);
    }
}

/// Returns the error with its causes on one line.
pub(crate) fn reason(error: &ResolveError) -> String {
    Failure::of(error, Exit::Refused).to_string()
}

/// Returns the refused items as JSON.
pub(crate) fn data(refused: &[ResolveError]) -> Vec<Value> {
    refused.iter().map(|error| json!({ "reason": reason(error) })).collect()
}

const MOST_REASONS: usize = 5;
