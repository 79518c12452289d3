//! The problems of files, found before they are signed or run (SPEC 12.1a).

mod approval;
mod bounds;
mod called_items;
mod calls;
mod catalog;
mod catalog_items;
mod checker;
mod denied;
mod directive;
mod event_data;
mod finding;
mod foreign;
mod grants;
#[cfg(test)]
mod helps;
mod hidden;
mod judged;
mod leftovers;
mod metadata;
mod permissions;
mod placing;
mod references;
mod report;
mod signature;
mod starts;
mod tool;
mod vouching;

pub(crate) use self::vouching::{NamedItem, named_by};

use std::cmp::Reverse;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rye_parse::ParseError;
use rye_providers::ProviderConfig;
use rye_resolve::{ItemId, Space, declared_problems_of_knowledge};
use rye_sign::CommentStyle;
use rye_types::ItemKind;

use self::catalog::{Content, Loaded};
pub use self::checker::{Checker, SpacesToCheck};
pub use self::finding::{Finding, Severity};
pub use self::report::{github, sarif};
use crate::config;
use crate::syntax_json::ast;

/// The number of findings that are kept per file. One last finding stands for the rest.
const KEPT: usize = 200;

/// The number of names that a help text lists.
const LISTED: usize = 20;

/// A file that was looked at.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The file, as it was named.
    pub path: PathBuf,
    /// The kind of the item.
    pub kind: ItemKind,
    /// Its id, when it lies in a space.
    pub id: Option<ItemId>,
    /// Its text, which the spans of the findings index.
    pub source: String,
    /// Everything worth saying, in the order of the text.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The lock of a project, with a finding for each directive that differs from it. A problem without a directive is one of the
    /// lock itself.
    #[must_use]
    pub fn of_lock(path: &Path, text: String, problems: &[(Option<ItemId>, String)]) -> Self {
        let finding = |(id, message): &(Option<ItemId>, String)| match id {
            Some(id) => {
                let message = format!("directive `{id}` {message}");
                Finding::error("not-as-locked", &message, locked_at(&text, id))
                    .with_label("as it was locked")
                    .with_help("review the change, then write it down with `rye lock`")
            }
            None => Finding::error("not-as-locked", message, 0..0).with_label("the lock"),
        };
        let findings = problems.iter().map(finding).collect();
        Self { path: path.to_owned(), kind: ItemKind::Config, id: None, source: text, findings }
    }

    /// Returns `true` if no finding is an error.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }

    /// Returns the findings that are probably not meant, and bar nothing.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Warning)
    }

    /// Returns `true` if files of this kind name the places of secrets. An author may have put a
    /// secret itself there by mistake, so messages must not repeat the text or show its lines.
    #[must_use]
    pub fn may_hold_secrets(&self) -> bool {
        let Some(id) = &self.id else { return false };
        match self.kind {
            ItemKind::Config => {
                config::rules_of_file(id.as_str()).is_some_and(|rules| rules.is_secretive)
            }
            ItemKind::Tool => config::is_provider(id),
            _ => false,
        }
    }

    /// Returns the content of a directive's file as JSON, or `None` for other items and for a file
    /// that does not parse. Every part is present; an absent part is `null` or empty. A `span`
    /// gives the bytes of a part, and amounts of money are decimal text.
    #[must_use]
    pub fn ast(&self) -> Option<serde_json::Value> {
        let directive =
            (self.kind == ItemKind::Directive).then(|| rye_parse::directive(&self.source));
        directive?.ok().map(|directive| ast(&directive))
    }

    /// Returns `true` if nothing of the file bars signing it.
    #[must_use]
    pub fn is_signable(&self) -> bool {
        self.findings.iter().all(|finding| !finding.bars_signing)
    }
}

/// The line of a lock that names the directive, or its beginning.
fn locked_at(text: &str, id: &ItemId) -> Range<usize> {
    let line = format!("\nid = \"{id}\"\n");
    match text.find(&line) {
        Some(at) => at + 1..at + line.len() - 1,
        None => 0..0,
    }
}

/// Checks the form of one file by its text alone: syntax, declared name, category and version, placeholders, permission
/// patterns, and characters that a person does not see ([`hidden_characters`](rye_parse::hidden_characters)).
///
/// A [`Checker`] checks the items that it names, its signature and the permissions that it needs.
#[must_use]
pub fn check(path: &Path, kind: ItemKind, id: Option<&ItemId>, source: String) -> Checked {
    let loaded = Loaded::of(source, kind, path);
    let findings = form(path, kind, id, &loaded);
    finish(path, kind, id, loaded.source, findings)
}

/// The findings that follow from the text alone.
fn form(path: &Path, kind: ItemKind, id: Option<&ItemId>, loaded: &Loaded) -> Vec<Finding> {
    let source = loaded.source.as_str();
    match &loaded.content {
        Content::Directive(Ok(read)) => directive::findings(read, source, id),
        Content::Knowledge(Ok(read)) => {
            let claims = |id| declared_problems_of_knowledge(read, source, id);
            let claims = id.map(claims).unwrap_or_default();
            let notes = read.notes.iter().map(Finding::note);
            notes.chain(claims.iter().map(Finding::of_claim)).collect()
        }
        Content::Directive(Err(error)) | Content::Knowledge(Err(error)) => errors(error),
        Content::Other if kind == ItemKind::Config => configuration(path, id, source),
        Content::Tool(_) if id.is_some_and(config::is_provider) => provider(path, source),
        Content::Tool(Ok(read)) => tool::findings(read),
        Content::Tool(Err(error)) => errors(error),
        Content::Other => Vec::new(),
    }
}

/// A file with all of its findings, in the order of the text and no more than are read.
fn finish(
    path: &Path,
    kind: ItemKind,
    id: Option<&ItemId>,
    source: String,
    mut findings: Vec<Finding>,
) -> Checked {
    if !findings.iter().any(|finding| finding.code == "not-utf-8") {
        findings.extend(hidden::findings(&source, &findings));
        findings.extend(leftovers::findings(&source));
    }
    curtail(&mut findings, source.len());
    findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    Checked { path: path.to_owned(), kind, id: id.cloned(), source, findings }
}

/// Puts one finding, as grave as the gravest of them, in place of those that are too many. The gravest are kept, and of equal
/// ones the first in the text.
fn curtail(findings: &mut Vec<Finding>, end: usize) {
    findings.sort_by_key(|finding| (Reverse(finding.severity), finding.span.start));
    let dropped = findings.split_off(findings.len().min(KEPT));
    let Some(severity) = dropped.iter().map(|finding| finding.severity).max() else { return };
    let bars_signing = dropped.iter().any(|finding| finding.bars_signing);
    let message = format!("more than {KEPT} findings; the rest is not shown");
    findings.push(Finding {
        severity,
        bars_signing,
        ..Finding::error("too-many", &message, end..end)
    });
}

fn configuration(path: &Path, id: Option<&ItemId>, source: &str) -> Vec<Finding> {
    let mut findings = match id.and_then(|id| config::rules_of_file(id.as_str())) {
        Some(rules) => against(rules, path, source),
        None if id.is_some_and(config::is_hooks) => rye_parse::hooks(source, extension(path))
            .err()
            .map_or_else(Vec::new, |error| errors(&error)),
        None => match rye_parse::config(source, extension(path)) {
            Ok(_) => Vec::new(),
            Err(error) => errors(&error),
        },
    };
    if CommentStyle::of_extension(extension(path)).is_none() {
        findings.push(Finding::error(
            "unsignable",
            "this file type has no comments, so it cannot carry a signature; write it as YAML or TOML",
            0..0,
        ));
    }
    findings
}

/// The configuration of a provider, which lives among the tools (SPEC 11.1).
fn provider(path: &Path, source: &str) -> Vec<Finding> {
    let config = match rye_parse::placed_config(source, extension(path)) {
        Ok(config) => config,
        Err(error) => return untold(&error),
    };
    let Err(error) = ProviderConfig::from_value(&config.value) else { return Vec::new() };
    let finding = |problem: &rye_providers::ConfigProblem| {
        // A name with a dot in it is reported at the nearest place around it.
        let keys: Vec<&str> = problem.path.split('.').filter(|key| !key.is_empty()).collect();
        Finding::error("provider", &problem.to_string(), config.place(&keys))
    };
    error.problems().iter().map(finding).collect()
}

fn against(rules: &config::FileRules, path: &Path, source: &str) -> Vec<Finding> {
    let config = match rye_parse::placed_config(source, extension(path)) {
        Ok(config) => config,
        Err(error) if rules.is_secretive => return untold(&error),
        Err(error) => return errors(&error),
    };
    let help = format!("`rye schema {}` prints what the file may hold", rules.schema);
    let finding = |problem: &config::ConfigProblem| {
        let keys: Vec<&str> = problem.path.iter().map(String::as_str).collect();
        of_schema(problem, config.place(&keys)).with_help(&help)
    };
    (rules.problems)(&config.value).iter().map(finding).collect()
}

/// A file in a folder of Rye's own configuration whose name is nearly, or in another folder, the name of a file that Rye reads.
fn unread(id: &ItemId) -> Option<Finding> {
    if let Some(meant) = config::meant_in_other_case(id) {
        let message = format!("Rye reads no configuration `{id}`; write it as `{meant}`");
        let finding = Finding::error("unread-configuration", &message, 0..0);
        return Some(finding.with_label("without effect"));
    }
    let parts = |id: &'static str| id.rsplit_once('/').unwrap_or(("", id));
    let (folder, name) = id.as_str().rsplit_once('/').unwrap_or(("", id.as_str()));
    let is_own = config::FILES.into_iter().any(|file| parts(file).0 == folder);
    if config::FILES.contains(&id.as_str()) || !is_own {
        return None;
    }
    let elsewhere = config::FILES.into_iter().find(|file| parts(file).1 == name);
    let beside = config::FILES.into_iter().map(parts).filter(|(of_file, _)| *of_file == folder);
    let near = rye_parse::nearest_name(name, beside.map(|(_, name)| name))
        .map(|near| if folder.is_empty() { near.to_owned() } else { format!("{folder}/{near}") });
    let meant = elsewhere.map(str::to_owned).or(near)?;
    let message = format!("Rye reads no configuration `{id}`; did you mean `{meant}`?");
    Some(Finding::warning("unread-configuration", &message, 0..0).with_label("without effect"))
}

/// Findings about a configuration file of the right form: values without effect, and keys for the operator alone.
fn of_space(space: Space, path: &Path, id: &ItemId, source: &str) -> Vec<Finding> {
    let read = || rye_parse::placed_config(source, extension(path)).ok();
    let Some((rules, config)) = config::rules_of_file(id.as_str()).zip(read()) else {
        return unread(id).into_iter().collect();
    };
    if !(rules.problems)(&config.value).is_empty() {
        return Vec::new();
    }
    let of_project = match space {
        Space::Project => (rules.problems_of_project)(&config.value),
        _ => Vec::new(),
    };
    let in_vain = (rules.problems_of_meaning)(&config.value);
    let placed = |problem: &config::ConfigProblem| {
        let keys: Vec<&str> = problem.path.iter().map(String::as_str).collect();
        of_schema(problem, config.place(&keys))
    };
    let of_project = of_project.iter().map(placed).map(|finding| {
        Finding { code: "not-for-projects", ..finding }.with_label("only in the user space")
    });
    of_project.chain(in_vain.iter().map(placed)).collect()
}

/// A problem of a value, whose place in the file says what the sentence need not say: the keys that lead to it are at the place.
fn of_schema(problem: &config::ConfigProblem, place: Range<usize>) -> Finding {
    let finding = Finding::error("schema", &problem.message, place);
    match problem.pointer() {
        "" => finding,
        told => finding.with_label(told),
    }
}

fn errors(error: &ParseError) -> Vec<Finding> {
    error.problems().iter().map(Finding::problem).collect()
}

/// The same without a word of a file that may hold a secret.
fn untold(error: &ParseError) -> Vec<Finding> {
    error.problems().iter().map(Finding::without_text).collect()
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}
