//! `rye render ID|FILE`.

use clap::Args;
use rye::resolve::ItemId;
use rye::types::ReturnStyle;
use rye::{FirstRequest, Placing, PlanRequest, Preview, ProviderChoice, RenderRequest, Rendered};
use serde_json::json;

use crate::directive::resolve_directive;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{Given, bound};
use crate::output::{self, Answer};

/// Print the exact prompt of a directive without running it
#[derive(Debug, Args)]
#[command(
    after_help = "On a terminal, hidden characters are spelled out, such as \\u{202e}; a file or a pipe gets \
                  every byte as it is.\n\n\
                  Examples:\n  rye render notes/index --input folder=notes\n  rye render notes/index --template\n  \
                        rye render .ai/directives/notes/index.md --json\n  \
                        rye render notes/index --provider anthropic_messages --returns tool"
)]
pub(crate) struct Arguments {
    /// The directive: its id, or its file in one of the spaces
    directive: String,
    #[command(flatten)]
    given: Given,
    /// Leave the placeholders as written; needs no inputs, and prints the directive prompt alone
    #[arg(long, conflicts_with = "inputs")]
    template: bool,
    /// The form of the request for outputs [possible values: call, block, tool]; default: `call`, or what the
    /// provider is set to
    #[arg(long, value_name = "STYLE")]
    returns: Option<ReturnStyle>,
    /// Print the exact body of the first request to this provider, with tools and system template; sends nothing and
    /// needs no key
    #[arg(long, value_name = "NAME", conflicts_with = "template")]
    provider: Option<String>,
    /// A model of the provider's, instead of the one that the directive asks for
    #[arg(long, value_name = "MODEL", requires = "provider")]
    model: Option<String>,
    /// Accept only signatures that bind kind and id over the whole file, and no directive that grants more than what it extends
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.preview(arguments.strict)?;
    let id = resolve_directive(&arguments.directive, &rye, environment)?;
    if arguments.template {
        let template = rye.template(&id, arguments.returns.unwrap_or_default())?;
        output::warnings(&template.warnings);
        if environment.json() {
            let row = json!({ "template": template.text, "draft": template.draft, "warnings": template.warnings });
            Answer::one("prompts", row).print();
        } else {
            print!("{}\n", template.text)
        }
        return Ok(Exit::Fine);
    }
    if let Some(provider) = &arguments.provider {
        return first_request(id, provider, arguments, &rye, environment);
    }
    let mut request = RenderRequest::new(id);
    request.inputs = bound(&arguments.given)?;
    request.returns = arguments.returns;
    print(&rye.render(&request)?, environment);
    Ok(Exit::Fine)
}

/// Prints the body of the first request of a run. No key is needed.
fn first_request(
    id: ItemId,
    provider: &str,
    arguments: &Arguments,
    rye: &Preview,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let mut request = PlanRequest::new(id);
    request.inputs = Placing::Values(bound(&arguments.given)?);
    request.provider = ProviderChoice::from_name(provider);
    request.model = arguments.model.clone();
    request.returns = arguments.returns;
    let first = FirstRequest::of(rye, &request)?;
    output::warnings(&first.warnings);
    if environment.json() {
        let row = json!({
            "provider": first.provider,
            "model": first.model,
            "body": first.body,
            "sha256": first.digest.to_string(),
            "draft": first.draft,
            "warnings": first.warnings,
        });
        Answer::one("prompts", row).print();
    } else {
        println!("--- request to {}, {}", first.provider, first.model);
        print!("{}\n--- sha256 {}\n", first.body, first.digest);
    }
    Ok(Exit::Fine)
}

fn print(rendered: &Rendered, environment: &Environment) {
    output::warnings(&rendered.warnings);
    if environment.json() {
        let row = json!({
            "system": rendered.system,
            "prompt": rendered.prompt,
            "first_user_message": rendered.first_user_message,
            "sha256": rendered.digest.to_string(),
            "draft": rendered.draft,
            "warnings": rendered.warnings,
        });
        return Answer::one("prompts", row).print();
    }
    let system = rendered.system.as_ref().map(|system| format!("--- system\n{system}\n"));
    let system = system.unwrap_or_default();
    print!("{system}--- user\n{}\n--- sha256 {}\n", rendered.first_user_message, rendered.digest);
}
