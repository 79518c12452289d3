//! Fast parsing of the command line, which builds only the named command.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as _, CommandFactory as _, FromArgMatches as _, Parser as _};
use rye::parse::nearest_name;

use crate::args::Cli;
use crate::commands::{
    check, diff, explain, list, load, lock, render, run, search, sign, verify, which,
};
use crate::global::Global;

/// Parses the words, starting with the name of the program.
///
/// Building all commands with their help takes longer than most commands do. A command that comes first is
/// therefore built alone. If it cannot parse the words, because of a mistake or a request for help, the whole
/// program parses them again and decides.
pub(crate) fn read(words: &[OsString]) -> Result<Cli, clap::Error> {
    alone(words).map_or_else(|| Cli::try_parse_from(words).map_err(|it| suggest(it, words)), Ok)
}

/// Adds the command that was probably meant to an error about an unknown one. The parser of the command line knows of no
/// swapped letters.
fn suggest(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let is_suggested = error.get(ContextKind::SuggestedSubcommand).is_some();
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand)
        && error.kind() == ErrorKind::InvalidSubcommand
        && !is_suggested
        && let Some(near) = nearest_command(given, words)
    {
        let near = ContextValue::Strings(vec![near]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    error
}

/// Returns the command that is spelled like `given`, among those that may stand in its place.
fn nearest_command(given: &str, words: &[OsString]) -> Option<String> {
    let mut program = Cli::command();
    // This gives the commands the options of the program.
    program.build();
    let mut parent = &program;
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if takes_next(parent, word) {
            words.next();
        } else if word == given {
            break;
        } else {
            parent = parent.find_subcommand(word).unwrap_or(parent);
        }
    }
    let names = parent.get_subcommands().map(clap::Command::get_name);
    nearest_name(given, names).map(str::to_owned)
}

/// Returns `true` if the word is an option of the command whose value is the next word.
fn takes_next(command: &clap::Command, word: &OsStr) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix("--"));
    command.get_arguments().any(|option| {
        name.is_some() && option.get_long() == name && option.get_action().takes_values()
    })
}

fn alone(words: &[OsString]) -> Option<Cli> {
    let named = words.get(1)?;
    let (name, augment) = COMMANDS.iter().find(|(name, _)| named == name)?;
    let command = augment(clap::Command::new(*name));
    let mut program = Global::augment_args(clap::Command::new("rye")).subcommand(command);
    let matches = program.try_get_matches_from_mut(words);
    // The end of the process frees the memory at once, which is faster.
    std::mem::forget(program);
    Cli::from_arg_matches(&matches.ok()?).ok()
}

type Augment = fn(clap::Command) -> clap::Command;

/// The frequent commands. Others are parsed by the whole program.
const COMMANDS: [(&str, Augment); 12] = [
    ("run", run::Arguments::augment_args),
    ("render", render::Arguments::augment_args),
    ("explain", explain::Arguments::augment_args),
    ("diff", diff::Arguments::augment_args),
    ("check", check::Arguments::augment_args),
    ("lock", lock::Arguments::augment_args),
    ("verify", verify::Arguments::augment_args),
    ("sign", sign::Arguments::augment_args),
    ("search", search::Arguments::augment_args),
    ("list", list::Arguments::augment_args),
    ("load", load::Arguments::augment_args),
    ("which", which::Arguments::augment_args),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_command_alone_takes_what_it_takes_in_the_program() {
        let program = Cli::command();
        for (name, augment) in COMMANDS {
            let alone = augment(clap::Command::new(name));
            let within = program.find_subcommand(name).unwrap();
            let arguments = |command: &clap::Command| -> Vec<String> {
                command.get_arguments().map(|argument| format!("{argument:?}")).collect()
            };
            assert_eq!(arguments(&alone), arguments(within), "{name}");
        }
    }

    #[test]
    fn a_line_means_the_same_to_both() {
        for line in [
            "rye render a/b --input x=1 -i y=2 --project p --trust t --trust u --json",
            "rye render a/b --template --user-space u --system s --allow-unsigned",
            "rye run a --provider steps",
            "rye check --project p -- -x",
            "rye which a --kind directive",
            "rye list --json",
        ] {
            let alone = format!("{:?}", alone(&words(line)).expect(line));
            assert_eq!(alone, format!("{:?}", Cli::try_parse_from(words(line)).unwrap()), "{line}");
        }
    }

    #[test]
    fn what_is_no_plain_call_is_left_to_the_program() {
        for line in [
            "rye",
            "rye --json render a",
            "rye render",
            "rye render --help",
            "rye -V",
            "rye x",
            "rye keys show",
        ] {
            assert!(alone(&words(line)).is_none(), "{line}");
        }
    }
}
