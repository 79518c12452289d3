//! `rye completions SHELL`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output;

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  rye completions bash > ~/.local/share/bash-completion/completions/rye\n  \
                        rye completions zsh > ~/.zfunc/_rye\n  \
                        rye completions fish > ~/.config/fish/completions/rye.fish\n  \
                        rye completions elvish > ~/.config/elvish/lib/rye.elv\n  \
                        rye completions powershell >> $PROFILE"
)]
pub(crate) struct Arguments {
    /// The shell to complete for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "rye", &mut script);
    output::bytes(&script);
    Exit::Fine
}
