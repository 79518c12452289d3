//! Checks for a caller that is not the operator (SPEC 17.5). Nothing is run, written or signed.

use std::cmp::Reverse;
use std::path::{Component, Path, PathBuf};

use rye_caps::Primary;
use rye_parse::Directive;
use rye_resolve::{ItemId, Located, ResolveError, Space, extending_hook, item_at};
use rye_types::ItemKind;
use serde_json::{Value, json};

use super::caller::Caller;
use super::error::PrimaryError;
use super::operation::KINDS;
use crate::authoring::draft;
use crate::check::{Checked, Finding, Severity, SpacesToCheck, check as check_form, named_by};
use crate::needs::LibraryItems;
use crate::place::LONGEST_FILE;
use crate::project::Project;

/// The files to check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller names a file or none")]
pub enum CheckRequest {
    /// One file.
    File {
        /// Its place.
        place: CheckPlace,
        /// The text that is checked in place of the file's own. The file need not exist.
        text: Option<String>,
    },
    /// All items of the project that the caller may load.
    Project,
}

/// The place of a file to check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an item has a name and a file")]
pub enum CheckPlace {
    /// The file of an item.
    Id(ItemKind, ItemId),
    /// A path below the project, such as `.ai/directives/notes/index.md`.
    Path(String),
}

/// The findings about files, as far as the caller may read them.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedItems {
    /// The files, those with the gravest findings first.
    pub files: Vec<CheckedFile>,
    /// The number of files that were looked at.
    pub looked_at: usize,
    /// Sentences about what lies among the items and is none.
    pub strays: Vec<String>,
    /// `true` if each file was checked by its text alone, because a finding may name an item that the caller may not load, or repeat words
    /// of one that no accepted signature covers.
    pub is_form_only: bool,
}

/// The findings about one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedFile {
    /// The file and its findings.
    pub checked: Checked,
    /// `true` if the messages may repeat words that the caller cannot load, because no accepted signature covers the file. The
    /// caller gets code, severity and place of each.
    pub is_withheld: bool,
}

/// Checks files as `rye check` does, and tells a caller what it may know. Configuration is for the operator alone.
///
/// A caller that gives the text gets each message, and those about its form alone if it names a directive that no accepted signature
/// covers. Of a file that it could not load, it gets codes and places: a message may repeat
/// words of the file, and the words of an unverified file reach no model.
///
/// # Errors
///
/// The function fails if the caller may not load the item, or if the request names no file that an item can have.
pub fn check(
    spaces: &SpacesToCheck,
    request: &CheckRequest,
    caller: &Caller,
) -> Result<CheckedItems, PrimaryError> {
    let project = spaces.project();
    let mut is_form_only = KINDS.iter().any(|kind| !caller.may_all(Primary::Load, *kind));
    let mut strays = Vec::new();
    let checked = match request {
        CheckRequest::Project => {
            let paths;
            (paths, strays) = files_of_project(project, caller)?;
            let checked = spaces.checker().check_files(&paths);
            checked.into_iter().map(|checked| withheld_if_unverified(project, checked)).collect()
        }
        CheckRequest::File { place, text } => {
            let path = locate(project, place, text.is_some(), caller)?;
            match text {
                Some(text) => {
                    let checked = spaces.checker().check_text(&path, bounded(text)?);
                    is_form_only |= names_unverified(project, &checked);
                    vec![CheckedFile { checked, is_withheld: false }]
                }
                None => {
                    let checked = spaces.checker().check_files(&[path]).into_iter();
                    checked.map(|checked| withheld_if_unverified(project, checked)).collect()
                }
            }
        }
    };
    let mut files: Vec<CheckedFile> = checked;
    if is_form_only {
        strays.clear();
        for file in &mut files {
            let Checked { path, kind, id, source, .. } = &file.checked;
            file.checked = check_form(path, *kind, id.as_ref(), source.clone());
        }
    }
    files.sort_by_key(|file| {
        Reverse(file.checked.findings.iter().map(|finding| finding.severity).max())
    });
    Ok(CheckedItems { looked_at: files.len(), files, strays, is_form_only })
}

/// Returns the path of a file that the caller may load, or that an item could have.
fn locate(
    project: &Project,
    place: &CheckPlace,
    has_text: bool,
    caller: &Caller,
) -> Result<PathBuf, PrimaryError> {
    match place {
        CheckPlace::Path(text) => {
            let (kind, id, path) = at_path(project, text)?;
            caller.permit(Primary::Load, kind, &id)?;
            Ok(path)
        }
        CheckPlace::Id(kind, id) => {
            caller.permit(Primary::Load, *kind, id)?;
            of_item(project, *kind, id, has_text)
        }
    }
}

/// Returns the file of an item, or for a text of its own the file of the project that would have it.
fn of_item(
    project: &Project,
    kind: ItemKind,
    id: &ItemId,
    has_text: bool,
) -> Result<PathBuf, PrimaryError> {
    match (project.library().locate(kind, id), has_text) {
        (Ok(Located { winner, .. }), _) if winner.space == Space::Project => Ok(winner.path),
        (Ok(_) | Err(ResolveError::NotFound { .. }), true) => {
            let draft = draft(kind, id).ok_or(PrimaryError::Configuration)?;
            Ok(root(project)?.join(".ai").join(draft.path))
        }
        (Ok(Located { winner, .. }), false) if winner.space == Space::Builtin => {
            Err(PrimaryError::usage(format!(
                "{kind} `{id}` is a part of the program; give `text` to check a file of the project that takes its place"
            )))
        }
        (Ok(Located { winner, .. }), false) => Ok(winner.path),
        (Err(error), _) => Err(error.into()),
    }
}

fn at_path(project: &Project, text: &str) -> Result<(ItemKind, ItemId, PathBuf), PrimaryError> {
    let root = root(project)?;
    let given = Path::new(text);
    let below = given.strip_prefix(root).unwrap_or(given);
    let is_below = below.components().all(|part| matches!(part, Component::Normal(_)));
    let path = root.join(below);
    let found = is_below.then(|| item_at(project.library().spaces(), &path)).flatten();
    match found {
        Some((kind, id, Space::Project)) => Ok((kind, id, path)),
        _ => Err(PrimaryError::usage(format!(
            "`{}` is no place of an item of the project; write it as `.ai/directives/NAME.md`",
            text.escape_debug()
        ))),
    }
}

fn root(project: &Project) -> Result<&Path, PrimaryError> {
    let root = project.library().spaces().project();
    root.ok_or_else(|| PrimaryError::usage("there is no project here, so that no file has a place"))
}

/// Refuses a text that is longer than a file of an item may be.
fn bounded(text: &str) -> Result<&str, PrimaryError> {
    let is_too_long = u64::try_from(text.len()).is_ok_and(|bytes| bytes > LONGEST_FILE);
    match is_too_long {
        true => Err(PrimaryError::usage(format!("`text` is longer than {LONGEST_FILE} bytes"))),
        false => Ok(text),
    }
}

/// The files of the project that the caller may load, and sentences about what is no item.
fn files_of_project(
    project: &Project,
    caller: &Caller,
) -> Result<(Vec<PathBuf>, Vec<String>), PrimaryError> {
    root(project)?;
    let kinds = KINDS.into_iter().filter(|kind| caller.may_some(Primary::Load, *kind));
    let mut paths = Vec::new();
    let mut strays = Vec::new();
    for kind in kinds {
        let may = |id: &ItemId| caller.may(Primary::Load, kind, id);
        let survey = project.library().survey(kind);
        for listed in survey.items {
            let is_own = listed.location.space == Space::Project && may(&listed.id);
            paths.extend(is_own.then_some(listed.location.path));
        }
        for problem in survey.problems {
            match problem {
                ResolveError::Ambiguous { id, space: Space::Project, files, .. } if may(&id) => {
                    paths.extend(files.into_iter().map(|file| file.path));
                }
                ResolveError::Ambiguous { .. } => {}
                problem => strays.push(problem.to_string()),
            }
        }
    }
    paths.sort_unstable();
    paths.dedup();
    Ok((paths, strays))
}

/// Marks a file that the caller could not load.
fn withheld_if_unverified(project: &Project, checked: Checked) -> CheckedFile {
    let is_verified = checked.id.as_ref().is_some_and(|id| {
        let item = project.library().without_drafts().text(checked.kind, id);
        item.is_ok_and(|item| item.location.path == checked.path && item.source == checked.source)
    });
    let is_withheld = !is_verified || names_unverified(project, &checked);
    CheckedFile { is_withheld, checked }
}

/// Returns `true` for a directive that names a directive which no accepted signature covers, or that names such a one in turn: findings
/// may repeat words of it.
fn names_unverified(project: &Project, checked: &Checked) -> bool {
    let library = project.library().without_drafts();
    let items = LibraryItems::of(&library);
    let hooks = library.config_hooks();
    let Some(own) = rye_parse::directive(&checked.source).ok().zip(checked.id.as_ref()) else {
        return false;
    };
    let mut known: Vec<ItemId> = Vec::new();
    let name = |id: &ItemId, directive: &Directive, known: &mut Vec<ItemId>| {
        let extending = hooks.as_ref().ok().and_then(|hooks| extending_hook(hooks, id, directive));
        for named in named_by(&items, directive, extending) {
            if named.kind == ItemKind::Directive && !known.contains(&named.id) {
                known.push(named.id);
            }
        }
    };
    name(own.1, &own.0, &mut known);
    let mut place = 0;
    while let Some(id) = known.get(place).cloned() {
        place += 1;
        match library.directive(&id) {
            Ok(directive) => name(&id, directive.content.value(), &mut known),
            Err(ResolveError::NotFound { .. }) => {}
            Err(_) => return true,
        }
    }
    false
}

/// The number of files that an answer names.
const MOST_FILES: usize = 200;

impl CheckedItems {
    /// Returns the files with findings as JSON, in the form of `rye check --json`, and the numbers of all findings.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let told = || self.files.iter().filter(|file| !file.checked.findings.is_empty());
        let count = |severity| {
            let findings = self.files.iter().flat_map(|file| &file.checked.findings);
            findings.filter(|finding| finding.severity == severity).count()
        };
        json!({
            "ok": count(Severity::Error) == 0,
            "files": told().take(MOST_FILES).map(CheckedFile::to_json).collect::<Value>(),
            "checked": self.looked_at,
            "errors": count(Severity::Error),
            "warnings": count(Severity::Warning),
            "notes": count(Severity::Note),
            "files_not_shown": told().skip(MOST_FILES).count(),
            "strays": self.strays,
            "form_only": self.is_form_only,
        })
    }
}

const WITHHELD: &str =
    "not shown, because no accepted signature covers the file; give its `text` to read the message";

impl CheckedFile {
    /// Returns the row of the file. The messages of a file that the caller could not load are left out.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut row = self.checked.to_json();
        row["withheld"] = self.is_withheld.into();
        if self.is_withheld {
            let problems = row["problems"].as_array_mut().into_iter().flatten();
            for (problem, finding) in problems.zip(&self.checked.findings) {
                withhold(problem, finding);
            }
        }
        row
    }
}

/// Leaves the words out, unless they are about the missing signature and none of the file's own.
fn withhold(problem: &mut Value, finding: &Finding) {
    if finding.is_about_signing() {
        return;
    }
    problem["message"] = WITHHELD.into();
    problem["label"] = "".into();
    problem["help"] = Value::Null;
}
