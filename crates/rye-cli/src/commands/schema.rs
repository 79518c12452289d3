//! `rye schema [NAME]`.

use clap::Args;
use rye::SCHEMAS;
use rye::parse::nearest_name;
use rye::types::ItemKind;
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Print the JSON schema of a configuration file or of a run's lines, or all schemas' names
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  rye schema\n  rye schema resilience > resilience.schema.json")]
pub(crate) struct Arguments {
    /// The schema's name; without it, the names are listed
    name: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let Some(name) = &arguments.name else {
        let names: Vec<&str> = SCHEMAS.iter().map(|schema| schema.name).collect();
        if environment.json() {
            Answer::of("schemas", names.iter().map(|name| json!({ "name": name }))).print();
        } else {
            names.iter().for_each(|name| println!("{name}"));
        }
        return Ok(Exit::Fine);
    };
    let Some(schema) = rye::schema(name) else {
        let names: Vec<&str> = SCHEMAS.iter().map(|schema| schema.name).collect();
        return Err(Failure::usage(format!(
            "no schema is called `{name}`; {}there are `{}`",
            suggest_name(name, &names),
            names.join("`, `")
        )));
    };
    if environment.json() {
        Answer::one("schemas", json!({ "name": name, "schema": schema.value })).print();
    } else {
        output::document(&schema.value);
    }
    Ok(Exit::Fine)
}

/// The way out for a name that no schema has: the nearest one, also where the name is that of a file of configuration, or the command
/// that writes an item of a kind, of which there is no schema.
fn suggest_name(name: &str, names: &[&str]) -> String {
    if let Ok(kind) = name.parse::<ItemKind>()
        && kind != ItemKind::Config
    {
        return format!("`rye new {kind} ID` writes a {kind} with all of its parts; ");
    }
    let written = name.trim_end_matches(".yaml").replace(['/', '-'], "_");
    let last = written.rsplit_once("agent_").map_or(written.as_str(), |(_, last)| last);
    let near = nearest_name(last, names.iter().copied());
    near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}
