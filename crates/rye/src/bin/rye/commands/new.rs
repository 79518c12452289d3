//! `rye new KIND ID`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use rye::resolve::{ItemId, ItemKind};
use rye::{Complexity, Draft, draft, draft_directive};
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::refuse_links;
use crate::output;

/// Write a new item from a template that passes its check
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A directive that reads a file and returns what it says
    #[command(
        after_help = "Example:\n  rye new directive notes/tidy\n  rye new directive notes/tidy --complexity moderate"
    )]
    Directive(NewDirective),
    /// A knowledge entry
    #[command(after_help = "Example:\n  rye new knowledge notes/index-style")]
    Knowledge(New),
    /// A tool's manifest
    #[command(after_help = "Example:\n  rye new tool notes/word_count")]
    Tool(New),
}

#[derive(Debug, Args)]
pub(crate) struct NewDirective {
    #[command(flatten)]
    new: New,
    /// How much work it is: its limits, from `config/agent/resilience.yaml`, and its model's tier follow from that
    #[arg(long, value_name = "CLASS", value_parser = complexity())]
    complexity: Option<Complexity>,
}

fn complexity() -> impl TypedValueParser<Value = Complexity> {
    let classes = PossibleValuesParser::new(Complexity::ALL.map(Complexity::as_str));
    classes.try_map(|class| class.parse())
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The new item's id, such as `notes/tidy`
    id: ItemId,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    let (kind, id) = match command {
        Command::Directive(directive) => (ItemKind::Directive, &directive.new.id),
        Command::Knowledge(new) => (ItemKind::Knowledge, &new.id),
        Command::Tool(new) => (ItemKind::Tool, &new.id),
    };
    let draft = drafted(command, kind, id, environment)?;
    let path = environment.project()?.join(".ai").join(&draft.path);
    refuse_links(&path)?;
    refuse_twins(kind, &path)?;
    write(&path, &draft.text)?;
    if environment.json() {
        output::json(
            &json!({ "kind": kind.as_str(), "id": id.as_str(), "path": output::path(&path) }),
        );
        return Ok(Exit::Fine);
    }
    let path = path.display();
    println!("{path}\nnext: edit it, then `rye check {path}` and `rye sign {path}`");
    Ok(Exit::Fine)
}

fn drafted(
    command: &Command,
    kind: ItemKind,
    id: &ItemId,
    environment: &Environment,
) -> Result<Draft, Failure> {
    if let Command::Directive(NewDirective { complexity: Some(class), .. }) = command {
        let limits = environment.rye()?.class_limits(*class)?;
        return Ok(draft_directive(id, *class, &limits));
    }
    Ok(draft(kind, id).expect("because every kind that can be named here has a template"))
}

/// Two files of one id would be ambiguous (SPEC 1.4), so a file with another extension counts too.
fn refuse_twins(kind: ItemKind, path: &Path) -> Result<(), Failure> {
    let twins =
        kind.extensions().iter().map(|extension| path.with_file_name(twin(path, extension)));
    match twins.into_iter().find(|twin| twin.symlink_metadata().is_ok()) {
        Some(twin) => {
            Err(Failure::failed(format!("`{}` exists and is not replaced", twin.display())))
        }
        None => Ok(()),
    }
}

/// The file name with another extension; an id may hold dots, so the last one is what is replaced.
fn twin(path: &Path, extension: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("{stem}.{extension}"))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    };
    written().map_err(|source| Failure::io("write", path, &source))
}
