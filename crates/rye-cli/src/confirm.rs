//! Questions to the user at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::failure::Failure;

/// Asks the question and returns `true` for yes, or `None` without a terminal.
pub(crate) fn ask(question: &str) -> Result<Option<bool>, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(None);
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|source| Failure::failed(format!("cannot read the answer: {source}")))?;
    Ok(Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")))
}
