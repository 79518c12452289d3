//! Knowledge entries: metadata and a text (SPEC 4.1).

use serde_json::{Map, Value};

use crate::{
    ParseError, Problem, Spanned,
    problem::Report,
    span::trimmed,
    strict::Document,
    yaml::{self, LONGEST_BLOCK, LONGEST_FILE},
};

mod block;

/// A knowledge entry as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Knowledge {
    /// Its name; `id` where only that is given.
    pub name: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// A word such as `reference`.
    pub entry_type: Option<String>,
    /// The folder it says it stands in.
    pub category: Option<String>,
    /// Its version, as written.
    pub version: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it refers to, as written.
    pub references: Vec<String>,
    /// All of the metadata, the fields above included, in document order; dates are text.
    pub metadata: Map<String, Value>,
    /// The trimmed text below the metadata, byte for byte; empty for a YAML file.
    pub body: Spanned<String>,
    /// What is worth saying although it is no error.
    pub notes: Vec<Problem>,
}

/// Reads a knowledge entry in Markdown: metadata in a `yaml` fence at its start, then the body.
///
/// Front matter between `---` lines, and `key: value` lines above the first heading, are read with a note. A file
/// without any of these is all body.
///
/// # Errors
///
/// Every problem of the file, each with its place.
///
/// ````
/// let entry = rye_parse::knowledge("```yaml\nname: rules\ntags: [team]\n```\n\n# Rules\n")?;
/// assert_eq!(entry.name.as_deref(), Some("rules"));
/// assert_eq!(entry.body.value, "# Rules");
/// # Ok::<(), rye_parse::ParseError>(())
/// ````
pub fn knowledge(source: &str) -> Result<Knowledge, ParseError> {
    let mut report = Report::new(source);
    let Some(found) = block::find(&mut report) else {
        return finish(report, None, 0..0);
    };
    let document = match found.metadata {
        Some(metadata) => yaml::read(&mut report, metadata, "metadata", LONGEST_BLOCK),
        None => Some(Document::empty()),
    };
    finish(report, document, found.body)
}

/// Reads a knowledge entry that is one YAML mapping: metadata without a body.
///
/// # Errors
///
/// Every problem of the file, each with its place.
pub fn knowledge_yaml(source: &str) -> Result<Knowledge, ParseError> {
    let mut report = Report::new(source);
    let document = yaml::read(&mut report, 0..source.len(), "file", LONGEST_FILE);
    finish(report, document, source.len()..source.len())
}

fn finish(
    mut report: Report<'_>,
    document: Option<Document>,
    body: std::ops::Range<usize>,
) -> Result<Knowledge, ParseError> {
    let document = document.unwrap_or_else(Document::empty);
    let body = trimmed(report.source, body);
    let id = document.text(&mut report, "id");
    let mut text = |key| document.text(&mut report, key);
    let mut knowledge = Knowledge {
        name: text("name").or(id),
        title: text("title"),
        description: text("description"),
        entry_type: text("entry_type"),
        category: text("category"),
        version: text("version"),
        tags: document.texts(&mut report, "tags"),
        references: document.texts(&mut report, "references"),
        metadata: Map::new(),
        body: Spanned::new(report.text(&body).to_owned(), body),
        notes: Vec::new(),
    };
    knowledge.notes = report.finish()?;
    knowledge.metadata = document.value;
    Ok(knowledge)
}
