//! The spaces that an incomplete command line names, for completion and help.

use std::ffi::{OsStr, OsString};

use clap::{Args as _, Command, FromArgMatches as _};

use crate::environment::Environment;
use crate::global::Global;

/// Returns the environment that the options for spaces name in an incomplete command line, and ignores all other words.
pub(crate) fn environment_of(typed: &[OsString]) -> Option<Environment> {
    let mut named = vec![OsString::from("rye")];
    let mut takes_next = false;
    for word in typed {
        let option = SPACES.iter().find(|option| begins(word, option));
        if takes_next || option.is_some() {
            named.push(word.clone());
        }
        takes_next = !takes_next && option.is_some_and(|option| word == option);
    }
    let global = Global::augment_args(Command::new("rye")).ignore_errors(true);
    let matches = global.try_get_matches_from(named).ok()?;
    let global = Global::from_arg_matches(&matches).ok()?;
    Some(Environment::read(global, false))
}

/// The options that name spaces and the project.
const SPACES: [&str; 3] = ["--project", "--user-space", "--system"];

/// Returns `true` if the word is the option, or the option with its value.
fn begins(word: &OsStr, option: &str) -> bool {
    let rest = word.to_str().and_then(|word| word.strip_prefix(option));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}
