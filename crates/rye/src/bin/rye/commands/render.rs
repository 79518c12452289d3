//! `rye render ID|FILE`.

use std::path::Path;

use clap::Args;
use rye::prompt::ReturnStyle;
use rye::resolve::{ItemId, ItemKind};
use rye::{RenderRequest, Rendered, Rye, place};
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{Given, bound};
use crate::output;

/// Print the exact prompt of a directive without running it
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  rye render notes/index --input folder=notes\n  rye render notes/index --template\n  \
                        rye render .ai/directives/notes/index.md --json"
)]
pub(crate) struct Arguments {
    /// The directive: its id, or its file in one of the spaces
    directive: String,
    #[command(flatten)]
    given: Given,
    /// Leave the placeholders as written; needs no inputs, and prints the directive prompt alone
    #[arg(long, conflicts_with = "inputs")]
    template: bool,
    /// How outputs are asked for [possible values: call, block, tool]
    #[arg(long, value_name = "STYLE", default_value_t)]
    returns: ReturnStyle,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let id = directive(&arguments.directive, &rye, environment)?;
    if arguments.template {
        let template = rye.template(&id, arguments.returns)?;
        output::warnings(&template.warnings);
        if environment.json() {
            output::json(&json!({ "template": template.text, "warnings": template.warnings }))
        } else {
            println!("{}", template.text)
        }
        return Ok(Exit::Fine);
    }
    let mut request = RenderRequest::new(id);
    request.inputs = bound(&arguments.given)?;
    request.returns = arguments.returns;
    print(&rye.render(&request)?, environment);
    Ok(Exit::Fine)
}

/// The id that the argument is, or that the file has which it names; a file must be what its id means.
fn directive(argument: &str, rye: &Rye, environment: &Environment) -> Result<ItemId, Failure> {
    let path = environment.absolute(Path::new(argument));
    if !path.is_file() {
        return argument.parse().map_err(|error| Failure::of(&error, Exit::Usage));
    }
    let Some((ItemKind::Directive, id)) = place(&path) else {
        return Err(Failure::usage(format!(
            "`{argument}` is not in the `directives` folder of an `.ai` folder"
        )));
    };
    let winner = rye.library().locate(ItemKind::Directive, &id)?.winner.path;
    match (winner.canonicalize(), path.canonicalize()) {
        (Ok(winner), Ok(path)) if winner == path => Ok(id),
        _ => Err(Failure::usage(format!(
            "`{argument}` is not what `{id}` means here; that is `{}`",
            winner.display()
        ))),
    }
}

fn print(rendered: &Rendered, environment: &Environment) {
    output::warnings(&rendered.warnings);
    if environment.json() {
        output::json(&json!({
            "system": rendered.system,
            "prompt": rendered.prompt,
            "first_user_message": rendered.first_user_message,
            "sha256": rendered.digest.to_string(),
            "warnings": rendered.warnings,
        }));
        return;
    }
    if let Some(system) = &rendered.system {
        println!("--- system\n{system}");
    }
    println!("--- user\n{}\n--- sha256 {}", rendered.first_user_message, rendered.digest);
}
