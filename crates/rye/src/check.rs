//! What is wrong with a file, before anybody signs or runs it.

mod ast;
mod directive;
mod finding;
mod hidden;
mod privileges;
mod report;

use std::ops::Range;
use std::path::{Path, PathBuf};

use rye_parse::ParseError;
use rye_providers::ProviderConfig;
use rye_resolve::{ItemId, ItemKind};
use rye_sign::CommentStyle;

pub(crate) use self::ast::{directive_meaning, hook_meaning};
pub use self::finding::{Finding, Severity};
pub use self::report::{github, sarif};
use crate::config;
use crate::place::{kind_of, place};

/// How many findings of one file are kept; the rest is one last finding.
const KEPT: usize = 200;

/// A file that was looked at.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The file, as it was named.
    pub path: PathBuf,
    /// What sort of item it is.
    pub kind: ItemKind,
    /// Its id, when it lies in a space.
    pub id: Option<ItemId>,
    /// Its text, which the spans of the findings index.
    pub source: String,
    /// Everything worth saying, in the order of the text.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// Whether nothing in the file is an error.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }

    /// Whether it says where secrets are, so that a person who misread that may have put the secret itself there: no message
    /// repeats what stands in it, and none of its lines is to be shown.
    #[must_use]
    pub fn may_hold_secrets(&self) -> bool {
        let Some(id) = &self.id else { return false };
        match self.kind {
            ItemKind::Config => config::of_file(id.as_str()).is_some_and(config::is_secretive),
            ItemKind::Tool => config::is_provider(id),
            _ => false,
        }
    }

    /// What a directive's file says, as JSON: every part, absent ones as `null` or empty, each place as the `span` of its
    /// bytes, and amounts of money as decimal text. `None` for other items and for a file that does not parse.
    #[must_use]
    pub fn ast(&self) -> Option<serde_json::Value> {
        let directive =
            (self.kind == ItemKind::Directive).then(|| rye_parse::directive(&self.source));
        directive?.ok().map(|directive| ast::ast(&directive))
    }

    /// Whether the file may be signed: what is a warning about the item's own name, category or version is an error
    /// here (SPEC 1.5).
    #[must_use]
    pub fn is_signable(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity < Severity::Warning || !finding.bars_signing)
            && self.is_ok()
    }
}

/// Checks the text of one file: its form, its declared name, category and version, its placeholders, its permission
/// patterns, and what of it a person does not see ([`hidden_characters`](crate::hidden_characters)). Signatures are not looked at; that is what verifying is for.
#[must_use]
pub fn check(path: &Path, kind: ItemKind, id: Option<&ItemId>, source: String) -> Checked {
    let mut findings = match kind {
        ItemKind::Directive => directive::findings(&source, id),
        ItemKind::Knowledge => knowledge(path, &source),
        ItemKind::Tool => tool(path, id, &source),
        ItemKind::Config => configuration(path, id, &source),
    };
    findings.extend(hidden::findings(&source, &findings));
    findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    curtail(&mut findings, source.len());
    Checked { path: path.to_owned(), kind, id: id.cloned(), source, findings }
}

/// Checks a file as it is on disk: what it is follows from its place and its text. A file that is not UTF-8 text is
/// an error at its first wrong byte, and nothing else of it is looked at.
#[must_use]
pub fn check_bytes(path: &Path, bytes: Vec<u8>) -> Checked {
    let (source, wrong) = match String::from_utf8(bytes) {
        Ok(source) => (source, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(at))
        }
    };
    let (kind, id) =
        place(path).map_or_else(|| (kind_of(path, &source), None), |(kind, id)| (kind, Some(id)));
    let Some(at) = wrong else { return check(path, kind, id.as_ref(), source) };
    let replaced = at..at + char::REPLACEMENT_CHARACTER.len_utf8();
    let finding = Finding::error("not-utf-8", "the file is not UTF-8 text", replaced);
    Checked { path: path.to_owned(), kind, id, source, findings: vec![finding] }
}

/// Puts one finding, as grave as the gravest of them, in place of those that are too many.
fn curtail(findings: &mut Vec<Finding>, end: usize) {
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

fn knowledge(path: &Path, source: &str) -> Vec<Finding> {
    let read =
        if extension(path) == "md" { rye_parse::knowledge } else { rye_parse::knowledge_yaml };
    match read(source) {
        Ok(knowledge) => knowledge.notes.iter().map(Finding::note).collect(),
        Err(error) => errors(&error),
    }
}

/// A tool's manifest, or a provider's configuration, which lives among the tools (SPEC 11.1).
fn tool(path: &Path, id: Option<&ItemId>, source: &str) -> Vec<Finding> {
    if id.is_some_and(config::is_provider) {
        return provider(path, source);
    }
    match rye_parse::tool(source, extension(path)) {
        Ok(manifest) => manifest.notes.iter().map(Finding::note).collect(),
        Err(error) => errors(&error),
    }
}

fn configuration(path: &Path, id: Option<&ItemId>, source: &str) -> Vec<Finding> {
    let mut findings = match id.and_then(|id| config::of_file(id.as_str())) {
        Some(schema) => against(schema, path, source),
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

fn provider(path: &Path, source: &str) -> Vec<Finding> {
    let value = match rye_parse::config(source, extension(path)) {
        Ok(value) => value,
        Err(error) => return untold(&error),
    };
    match ProviderConfig::from_value(&value) {
        Ok(_) => Vec::new(),
        Err(error) => {
            let problems = error.problems().iter();
            problems
                .map(|problem| Finding::error("provider", &problem.to_string(), 0..source.len()))
                .collect()
        }
    }
}

fn against(schema: &'static str, path: &Path, source: &str) -> Vec<Finding> {
    match rye_parse::config(source, extension(path)) {
        Ok(value) => {
            let whole: Range<usize> = 0..source.len();
            let problems = config::problems(schema, &value);
            problems
                .iter()
                .map(|problem| Finding::error("schema", problem, whole.clone()))
                .collect()
        }
        Err(error) if config::is_secretive(schema) => untold(&error),
        Err(error) => errors(&error),
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
