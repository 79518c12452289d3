//! `rye completions SHELL`.

use std::io;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  rye completions bash > ~/.local/share/bash-completion/completions/rye"
)]
pub(crate) struct Arguments {
    /// The shell to complete for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    clap_complete::generate(arguments.shell, &mut Cli::command(), "rye", &mut io::stdout());
    Exit::Fine
}
