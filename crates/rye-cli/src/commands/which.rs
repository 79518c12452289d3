//! `rye which ID`.

use clap::Args;
use rye::resolve::{ItemId, Located, Location, ResolveError};
use rye::types::ItemKind;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Show the file that an id refers to, and the files that it shadows
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  rye which rye/agent/core/base\n  rye which rye/file-system/read --kind tool --json"
)]
pub(crate) struct Arguments {
    /// The item id, such as `notes/index`
    id: ItemId,
    /// The kind of item [possible values: directive, knowledge, tool, config]; default: every kind that has the id
    #[arg(long)]
    kind: Option<ItemKind>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let kinds = arguments.kind.map_or(ItemKind::ALL.to_vec(), |kind| vec![kind]);
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    for kind in kinds {
        match rye.library().locate(kind, &arguments.id) {
            Ok(located) => rows.push((kind, located)),
            Err(error @ ResolveError::NotFound { .. }) => missing.push(error),
            Err(error) => return Err(error.into()),
        }
    }
    match (rows.as_slice(), missing.pop()) {
        // With a named kind, the error lists the folders that were searched.
        ([], Some(error)) if missing.is_empty() => Err(error.into()),
        ([], Some(error)) => {
            missing.push(error);
            Err(Failure::no_item(&arguments.id, &missing))
        }
        (rows, _) => Ok(print(rows, environment)),
    }
}

fn print(rows: &[(ItemKind, Located)], environment: &Environment) -> Exit {
    if environment.json() {
        Answer::of("items", rows.iter().map(|(kind, located)| row(*kind, located))).print();
        return Exit::Fine;
    }
    for (kind, located) in rows {
        println!("{kind}  {}  {}", located.winner.space, located.winner);
        for shadowed in &located.shadowed {
            println!("  shadows  {}  {shadowed}", shadowed.space);
        }
    }
    Exit::Fine
}

fn row(kind: ItemKind, located: &Located) -> Value {
    let place = |location: &Location| json!({ "space": location.space.as_str(), "path": output::path(&location.path) });
    json!({
        "kind": kind.as_str(),
        "winner": place(&located.winner),
        "shadowed": located.shadowed.iter().map(place).collect::<Value>(),
    })
}
