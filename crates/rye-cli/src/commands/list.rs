//! `rye list`.

use clap::Args;
use rye::resolve::{Described, Listed};
use rye::types::ItemKind;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::refused;
use crate::table::{align, is_signed, title_of};

/// List the items of all spaces, each verified, without those that are shadowed
#[derive(Debug, Args)]
#[command(
    after_help = "A refused item is listed and marked; why it is refused is told on standard error.\n\n\
                  Examples:\n  rye list\n  rye list --kind tool --json"
)]
pub(crate) struct Arguments {
    /// Only this kind (may be given many times) [possible values: directive, knowledge, tool, config]; default: all
    /// but config
    #[arg(long)]
    kind: Vec<ItemKind>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let wanted = |kind: &ItemKind| match arguments.kind.as_slice() {
        [] => *kind != ItemKind::Config,
        kinds => kinds.contains(kind),
    };
    let mut items = Vec::new();
    let mut problems = Vec::new();
    for kind in ItemKind::ALL.iter().copied().filter(wanted) {
        let (described, found) = rye.library().describe(kind);
        items.extend(described.into_iter().map(|described| (kind, described)));
        problems.extend(found);
    }
    let is_whole = problems.is_empty();
    if environment.json() {
        let items = items.iter().map(|(kind, described)| row(*kind, described));
        let answer = Answer::of("items", items).beside("problems", refused::data(&problems));
        answer.with("problems", problems.len()).fine_if(is_whole).print();
    } else {
        let rows: Vec<_> = items.iter().map(|(kind, item)| columns(*kind, item)).collect();
        align(&rows).for_each(|line| println!("{line}"));
        let of_items = items.into_iter().filter_map(|(_, described)| described.summary.err());
        refused::warn(&of_items.chain(problems).collect::<Vec<_>>(), "usable");
    }
    Ok(if is_whole { Exit::Fine } else { Exit::Failed })
}

fn columns(kind: ItemKind, described: &Described) -> [String; 4] {
    let Listed { id, location, .. } = &described.listed;
    let title = match &described.summary {
        Ok(item) => title_of(item.content.value(), item),
        Err(_) => "(refused)".to_owned(),
    };
    [kind.to_string(), id.to_string(), location.space.to_string(), title]
}

fn row(kind: ItemKind, described: &Described) -> Value {
    let Listed { id, location, .. } = &described.listed;
    let mut row = json!({
        "kind": kind.as_str(),
        "id": id.as_str(),
        "space": location.space.as_str(),
        "path": output::path(&location.path),
    });
    match &described.summary {
        Ok(item) => {
            let summary = item.content.value();
            row["title"] = summary.title.as_deref().into();
            row["description"] = summary.description.as_deref().into();
            row["tags"] = summary.tags.as_slice().into();
            row["signed"] = is_signed(item).into();
        }
        Err(error) => row["refused"] = refused::reason(error).into(),
    }
    row
}
