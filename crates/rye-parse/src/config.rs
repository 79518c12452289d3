//! Config files: YAML, TOML or JSON behind the same bounds (SPEC 4.2).

use serde::de::DeserializeSeed;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{
    ParseError, Problem, ProblemKind,
    name::suggestion,
    problem::Report,
    strict::{Collector, Document},
    yaml::{self, LONGEST_FILE, sized, without_place},
};

/// The extensions of config files.
const EXTENSIONS: [&str; 4] = ["yaml", "yml", "toml", "json"];

/// Reads a config file with extension `yaml`, `yml`, `toml` or `json` as an object.
///
/// # Errors
///
/// Every problem of the file, each with its place: not that format, not a mapping, a key given twice, too long,
/// too deep, or a value that JSON cannot express.
pub fn config(source: &str, extension: &str) -> Result<Value, ParseError> {
    let mut report = Report::new(source);
    let document = document(&mut report, extension);
    report.finish()?;
    Ok(Value::Object(document.map(|document| document.value).unwrap_or_default()))
}

/// The mapping of the file; `None` when the report says why there is none.
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

/// The problem of a file whose name says that it is something else.
pub(crate) fn unknown_extension(extension: &str, known: &[&str]) -> Problem {
    let kind = ProblemKind::UnknownExtension { extension: extension.to_owned() };
    Problem::new(kind, 0..0, "this file").help(suggestion(extension, known))
}

fn toml(report: &mut Report<'_>) -> Option<Document> {
    let text = report.source;
    if !sized(report, text, 0, "file", LONGEST_FILE) {
        return None;
    }
    let collector = Collector::new(text, 0, "TOML");
    let result = DeTable::parse(text)
        .and_then(|table| {
            place_keys(&collector, table.get_ref(), &mut Vec::new());
            collector.seed().deserialize(toml::Deserializer::from(table))
        })
        .map_err(|error| (error.message().lines().next().unwrap_or("").to_owned(), error.span()));
    collector.finish(report, result)
}

/// Notes where the keys of a table stand, which its deserializer does not tell.
fn place_keys(collector: &Collector<'_>, table: &DeTable<'_>, path: &mut Vec<String>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        collector.placed(path, key.span());
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
    let text = report.source;
    if !sized(report, text, 0, "file", LONGEST_FILE) {
        return None;
    }
    let collector = Collector::new(text, 0, "JSON");
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

/// The offset of a line and a column in bytes, both from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    start + column.saturating_sub(1)
}
