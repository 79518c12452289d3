//! `rye load ID`.

use clap::Args;
use rye::primary::{Caller, Destination, LoadRequest, Loaded, load};
use rye::resolve::{ItemId, ItemKind, ResolveError};
use rye::sign::Provenance;
use rye::{Rye, hidden_characters};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Print an item as it is written, after its signature was verified
#[derive(Debug, Args)]
#[command(
    after_help = "With `--to` the file is copied, with its signature, to where you can change it; a file that is there is not \
                  replaced. The nearest space that has the id decides: what is refused there is refused.\n\n\
                  Examples:\n  rye load notes/index\n  rye load rye/agent/core/Identity --kind knowledge --json\n  \
                  rye load team/review --to project"
)]
pub(crate) struct Arguments {
    /// The item id, such as `notes/index`
    id: ItemId,
    /// Further words, which are an error
    #[arg(hide = true)]
    more: Vec<String>,
    /// The kind of item [possible values: directive, knowledge, tool, config]; default: the one kind that has the id
    #[arg(long)]
    kind: Option<ItemKind>,
    /// Copy the file into this space [possible values: project, user]
    #[arg(long, alias = "destination", value_name = "SPACE")]
    to: Option<Destination>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    one_id(arguments)?;
    let rye = environment.rye()?;
    let kind = match arguments.kind {
        Some(kind) => kind,
        None => kind_of(&rye, &arguments.id)?,
    };
    let mut request = LoadRequest::new(kind, arguments.id.clone());
    request.destination = arguments.to;
    let loaded = load(&rye, &request, &Caller::operator())?;
    if environment.json() {
        Answer::one("items", loaded.to_json()).print();
    } else {
        print(&loaded);
    }
    Ok(Exit::Fine)
}

/// Returns an error for further words, with advice if one of them is a kind.
fn one_id(arguments: &Arguments) -> Result<(), Failure> {
    let Some(more) = arguments.more.first() else { return Ok(()) };
    let how = match arguments.id.as_str().parse::<ItemKind>() {
        Ok(kind) => format!("the kind is an option: `rye load {more} --kind {kind}`"),
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
        Some(path) => println!("{}", path.display()),
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
