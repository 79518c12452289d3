//! The inputs of a directive that the command line names, for completion and help. Nothing of them is verified.

use std::ffi::OsString;
use std::path::Path;

use rye::parse::{Input, directive};
use rye::resolve::ItemId;

use crate::directive::{files_of, id_of, shipped_directive};
use crate::environment::{Environment, read_named};
use crate::output;
use crate::typed_spaces::environment_of;

/// The commands that take a directive and its inputs.
const COMMANDS: [&str; 2] = ["run", "render"];

/// Returns the inputs of the first word that names a directive.
pub(crate) fn inputs_of(
    typed: &[OsString],
    environment: &Environment,
) -> Option<(ItemId, Vec<Input>)> {
    let words = typed.iter().filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    words.skip(1).find_map(|word| {
        let id = id_of(word, environment).ok()?;
        let inputs = read(word, &id, environment)?;
        Some((id, inputs))
    })
}

fn read(word: &str, id: &ItemId, environment: &Environment) -> Option<Vec<Input>> {
    let path = environment.absolute(Path::new(word));
    let own = if path.is_file() {
        Some(path)
    } else {
        files_of(id, environment).into_iter().find(|path| is_directive(path))
    };
    let found = match own {
        Some(path) => directive(&read_named(&path).ok()?).ok(),
        None => shipped_directive(id, environment),
    };
    Some(found?.inputs.into_iter().map(|input| input.value).collect())
}

fn is_directive(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "directives")
}

/// Prints the inputs of the directive in a request for help, such as `rye run notes/index --help`.
pub(crate) fn print_help(words: &[OsString]) {
    let typed = words.get(1..).unwrap_or_default();
    let takes_inputs = typed.first().is_some_and(|word| COMMANDS.iter().any(|name| word == name));
    let environment = environment_of(typed).filter(|_| takes_inputs);
    let Some((id, inputs)) = environment.and_then(|it| inputs_of(typed, &it)) else { return };
    if inputs.is_empty() {
        return println!("\nDirective `{id}` takes no inputs.");
    }
    println!("");
    println!("Inputs of `{id}`:");
    inputs.iter().for_each(|input| println!("  {}", line_of(input)));
}

/// Returns an input as one line: its name, type, presence, default, choices and description.
fn line_of(input: &Input) -> String {
    let mut facts = vec![input.value_type.to_string()];
    match &input.default {
        Some(default) => facts.push(format!("default `{}`", default.value)),
        None if input.required => facts.push("required".to_owned()),
        None => {}
    }
    if !input.choices.is_empty() {
        facts.push(format!("one of {}", input.choices.join(", ")));
    }
    let description = input.description.trim();
    output::line(&format!("{} ({})  {description}", input.name.value, facts.join(", ")))
        .trim_end()
        .to_owned()
}
