//! Items that a command passes over because they are refused, told so that nobody misses them unknowingly.

use rye::resolve::ResolveError;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Warns on standard error that so much is not `done`, with the first reasons.
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

/// The error and its causes on one line.
pub(crate) fn reason(error: &ResolveError) -> String {
    Failure::of(error, Exit::Refused).to_string()
}

/// Data for programs.
pub(crate) fn data(refused: &[ResolveError]) -> Vec<Value> {
    refused.iter().map(|error| json!({ "reason": reason(error) })).collect()
}

const MOST_REASONS: usize = 5;
