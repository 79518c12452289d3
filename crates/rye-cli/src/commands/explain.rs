//! `rye explain ID|FILE`.

use clap::Args;
use rye::{Explained, PlanRequest};

use crate::directive::resolve_directive;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Show each part of a directive with its file and its signer
#[derive(Debug, Args)]
#[command(
    after_help = "Needs no inputs, and tells of a directive that may not run why not; the directives that it may start are \
                  prepared as its children would be. `sha256` is over system message, a zero \
                  byte and first user message, with placeholders as written.\n\n\
                  Examples:\n  rye explain notes/index\n  rye explain .ai/directives/notes/index.md\n  \
                  rye explain notes/index --json"
)]
pub(crate) struct Arguments {
    /// The directive: its id, or its file in one of the spaces
    directive: String,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.preview(false)?;
    let id = resolve_directive(&arguments.directive, &rye, environment)?;
    let request = PlanRequest::new(id);
    let explained = Explained::with_starts(&rye, &request)?;
    output::warnings(&explained.drafts);
    if environment.json() {
        Answer::one("directives", explained.to_json()).print();
    } else {
        print!("{}", output::visible(&explained.to_string()));
    }
    Ok(Exit::Fine)
}
