//! Directive arguments of commands.

use std::path::{Path, PathBuf};

use rye::parse::{Directive, tool};
use rye::resolve::{ItemId, Library, ResolveError, Space};
use rye::sign::{Policy, TrustStore};
use rye::types::ItemKind;
use rye::{Project, place};
use serde_json::Value;

use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the id in the argument, or that of the file that it names, by its path alone. The spaces are not
/// read.
pub(crate) fn id_of(argument: &str, environment: &Environment) -> Result<ItemId, Failure> {
    let path = environment.absolute(Path::new(argument));
    if !path.is_file() {
        return parse_id(argument);
    }
    place_of(argument, &path)
}

/// Returns the id in the argument, or that of the file that it names. The file must be the one that its id
/// refers to.
pub(crate) fn resolve_directive(
    argument: &str,
    project: &Project,
    environment: &Environment,
) -> Result<ItemId, Failure> {
    let path = environment.absolute(Path::new(argument));
    if !path.is_file() {
        return parse_id(argument);
    }
    of_file(argument, &path, project)
}

fn parse_id(argument: &str) -> Result<ItemId, Failure> {
    argument.parse().map_err(|error| match is_file_name(argument) {
        true => Failure::usage(format!("`{argument}` is not a plain file, or is not there")),
        false => Failure::of(&error, Exit::Usage),
    })
}

fn is_file_name(argument: &str) -> bool {
    Path::new(argument).extension().is_some_and(|extension| extension == "md")
}

/// Returns `true` if a space has a file for the directive, verified or not. No policy is read.
pub(crate) fn is_there(id: &ItemId, environment: &Environment) -> bool {
    let located = unverified_library(environment).locate(ItemKind::Directive, id);
    !matches!(located, Err(ResolveError::NotFound { .. }))
}

/// Returns a directive that the program ships.
pub(crate) fn shipped_directive(id: &ItemId, environment: &Environment) -> Option<Directive> {
    let item = unverified_library(environment).directive(id).ok()?;
    Some(item.content.value().clone())
}

/// Returns the schema of the arguments of a tool, verified or not.
pub(crate) fn schema_of_tool(id: &ItemId, environment: &Environment) -> Option<Value> {
    let library = unverified_library(environment);
    let location = library.locate(ItemKind::Tool, id).ok()?.winner;
    if location.space == Space::Builtin {
        return Some(library.tool(id).ok()?.content.value().input_schema.clone());
    }
    let text = read_text(&location.path).ok()?;
    Some(tool(&text, location.extension()).ok()?.input_schema)
}

/// Returns the ids of the items of project and user space. No file is read.
pub(crate) fn own_ids(environment: &Environment) -> Vec<ItemId> {
    let library = unverified_library(environment);
    let kinds = [ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool];
    let listed = kinds.into_iter().flat_map(|kind| library.survey(kind).items);
    let own = listed.filter(|it| matches!(it.location.space, Space::Project | Space::User));
    own.map(|item| item.id).collect()
}

/// Returns the files of project and user space that the id stands for, one for each kind of item. No file is read.
pub(crate) fn files_of(id: &ItemId, environment: &Environment) -> Vec<PathBuf> {
    let library = unverified_library(environment);
    let located = ItemKind::ALL.iter().copied().filter_map(|kind| library.locate(kind, id).ok());
    let own =
        located.filter(|located| matches!(located.winner.space, Space::Project | Space::User));
    own.map(|located| located.winner.path).collect()
}

/// A library that finds items by their names and trusts none.
fn unverified_library(environment: &Environment) -> Library {
    let trust = TrustStore::default();
    let policy = Policy::default();
    Library::new(environment.spaces(), trust, policy, Environment::now())
}

/// Returns the id of the directive in the file at `path`. Messages name the file `argument`.
pub(crate) fn of_file(argument: &str, path: &Path, project: &Project) -> Result<ItemId, Failure> {
    let id = place_of(argument, path)?;
    let winner = project.library().locate(ItemKind::Directive, &id)?.winner.path;
    match (winner.canonicalize(), path.canonicalize()) {
        (Ok(winner), Ok(path)) if winner == path => Ok(id),
        _ => Err(Failure::usage(format!(
            "`{argument}` is not what `{id}` means here; that is `{}`",
            winner.display()
        ))),
    }
}

/// Returns the id of a file from its path.
fn place_of(argument: &str, path: &Path) -> Result<ItemId, Failure> {
    match place(path) {
        Some((ItemKind::Directive, id)) => Ok(id),
        _ => Err(Failure::usage(format!(
            "`{argument}` is not in the `directives` folder of an `.ai` folder"
        ))),
    }
}
