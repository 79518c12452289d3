//! Knowledge entries: metadata and a text (SPEC 4.1).

use serde_json::{Map, Value};

use crate::{
    ParseError, Problem, Spanned,
    problem::Report,
    span::trim_range,
    strict::Document,
    yaml::{self, LONGEST_BLOCK, LONGEST_FILE},
};

mod block;

/// A knowledge entry as written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Knowledge {
    /// The `name`, or the `id` if there is no `name`.
    pub name: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The subject of the entry.
    pub description: Option<String>,
    /// A word such as `reference`.
    pub entry_type: Option<String>,
    /// The folder of the file, as the file states it.
    pub category: Option<String>,
    /// The version, as written.
    pub version: Option<String>,
    /// Words for searching.
    pub tags: Vec<String>,
    /// The references to other entries, as written.
    pub references: Vec<String>,
    /// All metadata, including the fields above, in document order. Dates are text.
    pub metadata: Map<String, Value>,
    /// The trimmed text below the metadata, byte for byte; empty for a YAML file.
    pub body: Spanned<String>,
    /// Problems that do not make the entry invalid.
    pub notes: Vec<Problem>,
}

/// Parses a knowledge entry in Markdown: metadata in a `yaml` fence at its start, then the body.
///
/// Front matter between `---` lines, and `key: value` lines above the first heading, are parsed with a note. A file
/// without metadata is only a body.
///
/// # Errors
///
/// Every problem of the file, with its place.
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

/// Parses a knowledge entry in YAML: metadata without a body.
///
/// # Errors
///
/// Every problem of the file, with its place.
pub fn knowledge_yaml(source: &str) -> Result<Knowledge, ParseError> {
    let mut report = Report::new(source);
    let document = yaml::read(&mut report, 0..source.len(), "file", LONGEST_FILE);
    finish(report, document, source.len()..source.len())
}

/// Returns a plain text as knowledge: it is all body, and has no metadata whatever it looks like (SPEC 17.3).
///
/// ````
/// let entry = rye_parse::plain_text("---\nname: no metadata\n---\nUse tabs.\n");
/// assert_eq!((entry.name, entry.body.value.lines().count()), (None, 4));
/// ````
pub fn plain_text(source: &str) -> Knowledge {
    let start = source.len() - source.trim_start_matches('\u{feff}').len();
    let body = trim_range(source, start..source.len());
    let text = source.get(body.clone()).unwrap_or_default().to_owned();
    Knowledge {
        name: None,
        title: None,
        description: None,
        entry_type: None,
        category: None,
        version: None,
        tags: Vec::new(),
        references: Vec::new(),
        metadata: Map::new(),
        body: Spanned::new(text, body),
        notes: Vec::new(),
    }
}

fn finish(
    mut report: Report<'_>,
    document: Option<Document>,
    body: std::ops::Range<usize>,
) -> Result<Knowledge, ParseError> {
    let document = document.unwrap_or_else(Document::empty);
    let body = trim_range(report.source, body);
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
