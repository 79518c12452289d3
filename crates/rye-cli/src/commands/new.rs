//! `rye new KIND ID`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use rye::resolve::ItemId;
use rye::types::ItemKind;
use rye::{
    Complexity, DRAFTED_CONFIGS, DRAFTED_SCRIPTS, Draft, draft, draft_config, draft_directive,
    draft_hook, draft_provider, draft_script, place,
};
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::refuse_links;
use crate::output::{self, Answer};

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
    /// A tool: the manifest of a command, or a script
    #[command(
        after_help = "Examples:\n  rye new tool notes/word_count\n  rye new tool notes/word_count --script py"
    )]
    Tool(NewTool),
    /// The configuration of a provider of models: a server on this machine
    #[command(
        after_help = "`rye run ID --provider NAME` uses it, once it is signed.\n\nExample:\n  rye new provider local"
    )]
    Provider(NewNamed),
    /// A hook, in a hooks file of the project
    #[command(
        after_help = "A project has one hooks file. Where it is there already, add the hook to its list. Until the file is signed, \
                      runs of the project are refused: with `--project ~`, those of all projects.\n\n\
                      Example:\n  rye new hook rules_of_work"
    )]
    Hook(NewNamed),
    /// A configuration file of the project
    #[command(
        after_help = "Until the file is signed, runs of the project are refused: with `--project ~`, those of all projects. \
                      `default_provider` refuses only runs that name no provider.\n\n\
                      Examples:\n  rye new config approval\n  rye new config resilience"
    )]
    Config(NewConfig),
}

#[derive(Debug, Args)]
pub(crate) struct NewNamed {
    /// Its name: one word, such as `local`
    name: ItemId,
}

#[derive(Debug, Args)]
pub(crate) struct NewConfig {
    /// The configuration, by the name of its schema
    #[arg(value_parser = PossibleValuesParser::new(DRAFTED_CONFIGS))]
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct NewTool {
    #[command(flatten)]
    new: New,
    /// Write a script in this language, by the extension of its file, in place of the manifest of a command
    #[arg(long, value_name = "EXTENSION", value_parser = PossibleValuesParser::new(DRAFTED_SCRIPTS))]
    script: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NewDirective {
    #[command(flatten)]
    new: New,
    /// The amount of work: its limits, from `config/agent/resilience.yaml`, and its model's tier follow from
    /// that
    #[arg(long, value_name = "CLASS", value_parser = complexity())]
    complexity: Option<Complexity>,
}

fn complexity() -> impl TypedValueParser<Value = Complexity> {
    let classes = PossibleValuesParser::new(Complexity::NAMES);
    classes.try_map(|class| class.parse())
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The new item's id, such as `notes/tidy`
    id: ItemId,
}

/// Refuses the name of a file in the place of an id, which would give the file its extension twice.
fn refuse_extension(command: &Command) -> Result<(), Failure> {
    let (kind, id) = match command {
        Command::Directive(directive) => (ItemKind::Directive, &directive.new.id),
        Command::Knowledge(new) => (ItemKind::Knowledge, &new.id),
        Command::Tool(tool) => (ItemKind::Tool, &tool.new.id),
        Command::Provider(named) => (ItemKind::Tool, &named.name),
        Command::Hook(named) => (ItemKind::Config, &named.name),
        Command::Config(_) => return Ok(()),
    };
    match id.as_str().rsplit_once('.') {
        Some((stem, extension)) if kind.extensions().contains(&extension) => Err(Failure::usage(
            format!("`{id}` is the name of a file, and an id has no extension; write `{stem}`"),
        )),
        _ => Ok(()),
    }
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    refuse_extension(command)?;
    let draft = draft_of(command, environment)?;
    let path = environment.items_folder()?.join(".ai").join(&draft.path);
    let (kind, id) = place(&path).expect("because a draft belongs into a folder of items");
    refuse_links(&path)?;
    refuse_twins(kind, &path).map_err(|failure| add_advice(command, failure))?;
    write(&path, &draft.text)?;
    if environment.json() {
        let row = json!({ "kind": kind.as_str(), "id": id.as_str(), "path": output::path(&path) });
        Answer::one("items", row).print();
        return Ok(Exit::Fine);
    }
    let path = path.display();
    println!("{path}");
    println!("next: edit it, then `rye check {path}` and `rye sign {path}`");
    if let Some(refused) = refused_until_signed(command, environment) {
        println!("until it is signed, {refused} are refused");
    }
    Ok(Exit::Fine)
}

/// Returns the runs that are refused while the new file is unsigned, if it is a file that each run reads.
fn refused_until_signed(command: &Command, environment: &Environment) -> Option<&'static str> {
    let names_no_provider = match command {
        Command::Hook(_) => false,
        Command::Config(config) => config.name == "default_provider",
        _ => return None,
    };
    Some(match (environment.items_are_of_user(), names_no_provider) {
        (false, false) => "runs of this project",
        (false, true) => "runs of this project that name no provider",
        (true, false) => "runs of all projects",
        (true, true) => "runs that name no provider",
    })
}

fn draft_of(command: &Command, environment: &Environment) -> Result<Draft, Failure> {
    let of_kind = |kind, id| draft(kind, id).expect("because the kind has a template");
    Ok(match command {
        Command::Directive(NewDirective { new, complexity: Some(class) }) => {
            draft_directive(&new.id, *class, &environment.rye()?.class_limits(*class)?)
        }
        Command::Directive(directive) => of_kind(ItemKind::Directive, &directive.new.id),
        Command::Knowledge(new) => of_kind(ItemKind::Knowledge, &new.id),
        Command::Tool(NewTool { new, script: Some(extension) }) => {
            draft_script(&new.id, extension).expect("because only these extensions are accepted")
        }
        Command::Tool(tool) => of_kind(ItemKind::Tool, &tool.new.id),
        Command::Provider(new) => draft_provider(one_word(&new.name)?),
        Command::Hook(new) => draft_hook(one_word(&new.name)?),
        Command::Config(new) => {
            draft_config(&new.name).expect("because only these names are accepted")
        }
    })
}

/// Refuses a name with folders, which is invalid for providers and hooks.
fn one_word(name: &ItemId) -> Result<&ItemId, Failure> {
    match name.folder() {
        None => Ok(name),
        Some(_) => {
            Err(Failure::usage(format!("`{name}` is not one word; write `{}`", name.name())))
        }
    }
}

/// Adds advice for an existing file that can hold several entries.
fn add_advice(command: &Command, failure: Failure) -> Failure {
    match command {
        Command::Hook(_) => {
            failure.or_else("add the hook to its list, which `rye schema hooks` describes")
        }
        _ => failure,
    }
}

/// Refuses an existing file with the same id and another extension, because they would be ambiguous (SPEC
/// 1.4).
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

/// Returns the file name with another extension. Only the last dot counts, because an id may contain dots.
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
