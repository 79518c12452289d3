//! `rye completions SHELL`.

use clap::Args;
use clap_complete::Shell;
use serde_json::json;

use crate::completion::script;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "The script has the shell ask `rye` for what can follow: commands, options, ids of items, threads and files. \
                  Have the shell read it at its start, so that it is always the one of the installed program.\n\n\
                  Examples:\n  echo 'source <(rye completions bash)' >> ~/.bashrc\n  \
                  echo 'source <(rye completions zsh)' >> ~/.zshrc\n  \
                  echo 'rye completions fish | source' >> ~/.config/fish/config.fish\n  \
                  echo 'eval (rye completions elvish | slurp)' >> ~/.config/elvish/rc.elv\n  \
                  echo 'rye completions powershell | Out-String | Invoke-Expression' >> $PROFILE"
)]
pub(crate) struct Arguments {
    /// The shell to complete for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let script = script(arguments.shell).map_err(|error| Failure::of(&error, Exit::Failed))?;
    if environment.json() {
        let text = String::from_utf8_lossy(&script);
        let row = json!({ "shell": arguments.shell.to_string(), "text": text });
        Answer::one("scripts", row).print();
    } else {
        output::bytes(&script);
    }
    Ok(Exit::Fine)
}
