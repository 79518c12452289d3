//! `rye help [TOPIC…]`.

use clap::{Args, Command, builder::StyledStr};
use rye::parse::FORMAT_REFERENCE;
use rye::sandbox::promise_table;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Returns the text of a page.
type Page = fn() -> String;

/// The topics of the manual that are not commands.
const TOPICS: [(&str, Page); 2] =
    [("format", || FORMAT_REFERENCE.to_owned()), ("sandbox", promise_table)];

/// Print the help of a command, or a page of the manual
#[derive(Debug, Args)]
#[command(
    after_help = "Topics:\n  format   The format of directives, knowledge, tools, hooks and configuration\n  sandbox  What programs of tools do in which sandbox\n\n\
                        Examples:\n  rye help keys generate\n  rye help format | less"
)]
pub(crate) struct Arguments {
    /// A command with its subcommand, or a topic; default: the program
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
}

/// Prints a page of the manual, or the help of a command of `program`.
pub(crate) fn run(
    arguments: &Arguments,
    program: Command,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let page = match arguments.words.as_slice() {
        [topic] => TOPICS.iter().find(|(name, _)| name == topic).map(|(_, page)| page()),
        _ => None,
    };
    if let Some(page) = page {
        print!("{page}");
        return Ok(Exit::Fine);
    }
    let help = help_of(&arguments.words, program)?;
    if environment.colors() {
        output::painted(&help.ansi().to_string())
    } else {
        print!("{help}")
    }
    Ok(Exit::Fine)
}

/// Returns the `--help` text of the command with these names.
fn help_of(words: &[String], mut program: Command) -> Result<StyledStr, Failure> {
    let mut command = &mut program;
    for word in words {
        let known = names(command);
        command = command.find_subcommand_mut(word).ok_or_else(|| unknown(words, word, &known))?;
    }
    let words = words.iter().map(String::as_str);
    let line = ["rye"].into_iter().chain(words).chain(["--help"]);
    // Parsed like a request of the user, so that both texts are the same.
    let asked =
        program.try_get_matches_from(line).expect_err("because help is an early end of parsing");
    Ok(asked.render())
}

fn names(command: &Command) -> Vec<String> {
    command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

fn unknown(words: &[String], word: &str, known: &[String]) -> Failure {
    let topics = TOPICS.iter().map(|(name, _)| (*name).to_owned());
    let topics = topics.filter(|_| words.first().is_some_and(|first| first == word));
    let known: Vec<String> = known.iter().cloned().chain(topics).collect();
    let is_topic = TOPICS.iter().any(|(name, _)| words.first().is_some_and(|first| first == name));
    if known.is_empty() || is_topic {
        let rest =
            if is_topic { words.get(1..).unwrap_or_default().join(" ") } else { word.to_owned() };
        return Failure::usage(format!(
            "there is no help on `{}`; leave `{rest}` out",
            words.join(" ")
        ));
    }
    Failure::usage(format!(
        "there is no help on `{}`; there is on `{}`",
        words.join(" "),
        known.join("`, `")
    ))
}
