//! Config files: YAML, TOML or JSON with the same limits (SPEC 4.2).

use std::ops::Range;

use serde::de::DeserializeSeed;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{
    ParseError, Problem, ProblemKind,
    problem::Report,
    strict::{Collector, Document},
    suggest::suggestion,
    yaml::{self, LONGEST_FILE, without_place},
};

/// The extensions of config files.
const EXTENSIONS: [&str; 4] = ["yaml", "yml", "toml", "json"];

/// Parses a config file with the extension `yaml`, `yml`, `toml` or `json` as an object.
///
/// # Errors
///
/// Every problem of the file, with its place. Problems are syntax errors, a document that is not a mapping, duplicate
/// keys, a file that is too long or too deep, and values that JSON cannot express.
pub fn config(source: &str, extension: &str) -> Result<Value, ParseError> {
    placed_config(source, extension).map(|config| config.value)
}

/// A parsed config file with the places of its keys.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlacedConfig {
    /// The content of the file, as [`config`] returns it.
    pub value: Value,
    document: Document,
}

impl PlacedConfig {
    /// Returns the bytes of the key or list element at `path`, such as `["tiers", "fast"]` or `["ask", "0"]`.
    ///
    /// If it has no place of its own, the result is that of the nearest key around it. For an empty path, it is the
    /// first line.
    pub fn place(&self, path: &[&str]) -> Range<usize> {
        self.document.place_of_value(path)
    }
}

/// Parses a config file like [`config`], and keeps the places of its keys.
///
/// # Errors
///
/// The ones of [`config`].
pub fn placed_config(source: &str, extension: &str) -> Result<PlacedConfig, ParseError> {
    let mut report = Report::new(source);
    let document = document(&mut report, extension);
    report.finish()?;
    let mut document = document.unwrap_or_else(Document::empty);
    let value = Value::Object(std::mem::take(&mut document.value));
    Ok(PlacedConfig { value, document })
}

/// Parses the mapping of the file. If the result is `None`, the report contains the reason.
pub(crate) fn document(report: &mut Report<'_>, extension: &str) -> Option<Document> {
    match extension {
        "yaml" | "yml" => yaml::read(report, 0..report.source.len(), "file", LONGEST_FILE),
        "toml" => toml(report),
        "json" => json(report),
        _ => {
            report.error(unknown_extension(extension, &EXTENSIONS));
            None
        }
    }
}

/// Returns the problem of an unknown file extension.
pub(crate) fn unknown_extension(extension: &str, known: &[&str]) -> Problem {
    let kind = ProblemKind::UnknownExtension { extension: extension.to_owned() };
    Problem::new(kind, 0..0, "this file").help(suggestion(extension, known))
}

fn toml(report: &mut Report<'_>) -> Option<Document> {
    let text = report.source;
    report.check_size("file", text.len(), LONGEST_FILE, 0..0, "starts here")?;
    let collector = Collector::new(text, 0, "TOML");
    let result = DeTable::parse(text)
        .and_then(|table| {
            place_keys(&collector, table.get_ref(), &mut Vec::new());
            collector.seed().deserialize(toml::Deserializer::from(table))
        })
        .map_err(|error| (error.message().lines().next().unwrap_or("").to_owned(), error.span()));
    collector.finish(report, result)
}

/// Records the places of a table's keys, which its deserializer does not report.
fn place_keys(collector: &Collector<'_>, table: &DeTable<'_>, path: &mut Vec<String>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        collector.record_place(path, key.span());
        place_values(collector, value.get_ref(), path);
        path.pop();
    }
}

fn place_values(collector: &Collector<'_>, value: &DeValue<'_>, path: &mut Vec<String>) {
    match value {
        DeValue::Table(table) => place_keys(collector, table, path),
        DeValue::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                path.push(index.to_string());
                place_values(collector, value.get_ref(), path);
                path.pop();
            }
        }
        _ => {}
    }
}

fn json(report: &mut Report<'_>) -> Option<Document> {
    let text = report.source.strip_prefix(yaml::MARK).unwrap_or(report.source);
    let base = report.source.len() - text.len();
    report.check_size("file", text.len(), LONGEST_FILE, 0..0, "starts here")?;
    let collector = Collector::new(text, base, "JSON");
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = collector.seed().deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    let result = result.map_err(|error| {
        let place = offset(text, error.line(), error.column());
        (without_place(&error.to_string()), Some(crate::span::char_at(text, place)))
    });
    collector.finish(report, result)
}

/// Returns the offset of a line and a byte column, both starting at 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    start + column.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, extension: &str, path: &[&str], expected: &str) {
        let config = placed_config(source, extension).unwrap();
        assert_eq!(&source[config.place(path)], expected, "{path:?}");
    }

    #[test]
    fn a_key_and_an_element_of_a_list_have_their_places() {
        let yaml = "a: 1\nlist:\n  - one\n  - 'two'\n  - x: 1\n    y: 2\n";
        check(yaml, "yaml", &["list"], "list");
        check(yaml, "yaml", &["list", "0"], "one");
        check(yaml, "yaml", &["list", "2"], "x");
        check(yaml, "yaml", &["list", "2", "y"], "y");
        check(yaml, "yaml", &["list", "2", "y", "deeper"], "y");
        check(yaml, "yaml", &[], "a: 1");
        check("a = 1\n[t]\nb = [\"x\"]\n", "toml", &["t", "b"], "b");
        check("{\"a\": {\"b\": 1}}", "json", &["a", "b"], "b");
    }
}
