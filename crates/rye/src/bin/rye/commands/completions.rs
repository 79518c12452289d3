//! `rye completions SHELL`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use serde_json::json;

use crate::args::Cli;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::output::{self, Answer};

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

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "rye", &mut script);
    if environment.json() {
        let text = String::from_utf8_lossy(&script);
        let row = json!({ "shell": arguments.shell.to_string(), "text": text });
        Answer::one("scripts", row).print();
    } else {
        output::bytes(&script);
    }
    Exit::Fine
}
