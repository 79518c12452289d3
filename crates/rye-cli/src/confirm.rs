//! Questions to the user at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::failure::Failure;

/// Fails unless the user answers the question with yes. `refused` tells what a no leaves undone, and `advice` what to give
/// where there is no terminal.
pub(crate) fn require(question: &str, refused: &str, advice: &str) -> Result<(), Failure> {
    match ask(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::refused(refused)),
        None => Err(Failure::usage(advice)),
    }
}

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
