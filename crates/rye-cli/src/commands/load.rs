//! `rye load ID`.

use clap::Args;
use rye::primary::{Caller, Destination, LoadRequest, Loaded, load, needed_items};
use rye::resolve::{ItemId, ResolveError};
use rye::sign::Provenance;
use rye::types::ItemKind;
use rye::{Rye, hidden_characters};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Print an item as it is written, after its signature was verified
#[derive(Debug, Args)]
#[command(
    after_help = "With `--to` the files are copied, with their signatures, to where you can change them; a file that is there is \
                  not replaced. The copy of an item that comes with the program is unsigned, and counts once you signed it. \
                  The nearest space that has the id decides: what is refused there is refused.\n\n\
                  Examples:\n  rye load notes/index\n  rye load rye/agent/core/Identity --kind knowledge --json\n  \
                  rye load rye/agent/core/Identity --to project\n  rye load team/review team/plan --to project --with"
)]
pub(crate) struct Arguments {
    /// The item id, such as `notes/index`; with `--to`, several
    id: ItemId,
    /// Further ids, for `--to`
    #[arg(hide = true)]
    more: Vec<String>,
    /// The kind of item [possible values: directive, knowledge, tool, config]; default: the one kind that has the id
    #[arg(long)]
    kind: Option<ItemKind>,
    /// Copy the files into this space [possible values: project, user]
    #[arg(long, alias = "destination", value_name = "SPACE")]
    to: Option<Destination>,
    /// Copy also the items that a directive names: what it extends, its knowledge, and what its steps and hooks call
    #[arg(long, requires = "to")]
    with: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let ids = ids(arguments)?;
    let rye = environment.rye()?;
    let mut wanted: Vec<(ItemKind, ItemId)> = Vec::new();
    for id in ids {
        let kind = match arguments.kind {
            Some(kind) => kind,
            None => kind_of(&rye, &id)?,
        };
        let needed = match arguments.with {
            true => needed_items(&rye, kind, &id)?,
            false => vec![(kind, id)],
        };
        wanted.extend(needed.into_iter().filter(|one| !wanted.contains(one)).collect::<Vec<_>>());
    }
    if arguments.with {
        let named = |id: &ItemId| {
            *id == arguments.id || arguments.more.iter().any(|more| more == id.as_str())
        };
        let is_there = |kind, id: &ItemId| arguments.to.is_some_and(|to| is_in(&rye, kind, id, to));
        wanted.retain(|(kind, id)| named(id) || !is_there(*kind, id));
    }
    let mut loaded = Vec::new();
    for (kind, id) in wanted {
        let mut request = LoadRequest::new(kind, id);
        request.destination = arguments.to;
        loaded.push(load(&rye, &request, &Caller::operator())?);
        if !environment.json() {
            loaded.last().iter().for_each(|loaded| print(loaded));
        }
    }
    if environment.json() {
        Answer::of("items", loaded.iter().map(Loaded::to_json)).print();
    }
    Ok(Exit::Fine)
}

/// Returns `true` if the item is in the space to copy to already.
fn is_in(rye: &Rye, kind: ItemKind, id: &ItemId, to: Destination) -> bool {
    rye.library().locate(kind, id).is_ok_and(|located| located.winner.space.as_str() == to.as_str())
}

/// Returns the ids. Several are an error without `--to`, with advice if one of them is a kind.
fn ids(arguments: &Arguments) -> Result<Vec<ItemId>, Failure> {
    let mut ids = vec![arguments.id.clone()];
    let Some(more) = arguments.more.first() else { return Ok(ids) };
    let how = match arguments.id.as_str().parse::<ItemKind>() {
        Ok(kind) => format!("the kind is an option: `rye load {more} --kind {kind}`"),
        Err(_) if arguments.to.is_some() => {
            for text in &arguments.more {
                let id = text.parse::<ItemId>();
                ids.push(
                    id.map_err(|error| Failure::usage(format!("`{text}` is no item id: {error}")))?,
                );
            }
            return Ok(ids);
        }
        Err(_) => "load each by itself".to_owned(),
    };
    Err(Failure::usage(format!("`rye load` takes one id, and `{more}` is one more; {how}")))
}

/// Returns the only kind that has the id. If there are several, the caller must choose.
fn kind_of(rye: &Rye, id: &ItemId) -> Result<ItemKind, Failure> {
    let mut kinds = Vec::new();
    let mut missing = Vec::new();
    for &kind in ItemKind::ALL {
        match rye.library().locate(kind, id) {
            Err(error @ ResolveError::NotFound { .. }) => missing.push(error),
            // Other errors are reported by the load.
            Ok(_) | Err(_) => kinds.push(kind),
        }
    }
    match kinds.as_slice() {
        [kind] => Ok(*kind),
        [] => Err(Failure::no_item(id, &missing)),
        kinds => {
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("`--kind {kind}`")).collect();
            Err(Failure::usage(format!("`{id}` is several items; add {}", kinds.join(" or "))))
        }
    }
}

fn print(loaded: &Loaded) {
    let Loaded { item, copied_to, .. } = loaded;
    if *item.content.provenance() == Provenance::Unsigned {
        output::warnings(&[format!(
            "UNVERIFIED: {} `{}` is not signed by anybody",
            item.kind, item.id
        )]);
    }
    match copied_to {
        Some(path) => {
            println!("{}", path.display());
            if let Some(command) = loaded.signing_command() {
                println!(
                    "next: review it, then `{command}`; until then, it is refused where it counts"
                );
            }
        }
        None => {
            if hidden_characters(&item.source).next().is_some() {
                let told = "the text holds characters that are not shown; `rye check` names them";
                output::warnings(&[told.to_owned()]);
            }
            let end = if item.source.ends_with('\n') { "" } else { "\n" };
            print!("{}{end}", item.source);
        }
    }
}
