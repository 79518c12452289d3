//! The tools that read, write, edit and list.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Failure;
use super::search::{put_skipped, view};
use crate::fs::{self, Lines, LsQuery, Root, Stop};
use crate::self_starting::with_self_starting;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    #[serde(default)]
    line_numbers: bool,
}

pub(super) fn read(root: &Root, arguments: Value, _: &Stop) -> Result<Value, Failure> {
    let arguments: ReadArguments = serde_json::from_value(arguments)?;
    let mut lines = Lines::from(arguments.offset.unwrap_or(1));
    if let Some(limit) = arguments.limit {
        lines = lines.at_most(limit);
    }
    let text = fs::read(root, &arguments.path, lines)?;
    let content = if arguments.line_numbers { text.with_line_numbers() } else { text.content };
    let mut result = json!({
        "path": text.path,
        "content": content,
        "bytes": text.bytes,
        "lines": text.lines,
        "truncated": text.truncated,
    });
    if let Some(line) = text.next_line {
        result["next_offset"] = line.into();
    }
    if let Some(line) = text.cut_line {
        result["cut_line"] = line.into();
    }
    Ok(result)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
}

pub(super) fn write(root: &Root, arguments: Value, _: &Stop) -> Result<Value, Failure> {
    let arguments: WriteArguments = serde_json::from_value(arguments)?;
    let written = fs::write(root, &arguments.path, &arguments.content)?;
    let result = json!({ "path": written.path, "bytes_written": written.bytes_written });
    Ok(with_self_starting(result, &written.self_starting))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditArguments {
    path: String,
    edits: Vec<EditArgument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditArgument {
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

pub(super) fn edit(root: &Root, arguments: Value, _: &Stop) -> Result<Value, Failure> {
    let arguments: EditArguments = serde_json::from_value(arguments)?;
    let edits: Vec<fs::Edit> = arguments.edits.iter().map(EditArgument::edit).collect();
    let edited = fs::edit(root, &arguments.path, &edits)?;
    let result = json!({
        "path": edited.path,
        "replaced": edited.replaced,
        "bytes": edited.bytes,
        "diff": edited.diff,
    });
    Ok(with_self_starting(result, &edited.self_starting))
}

impl EditArgument {
    fn edit(&self) -> fs::Edit {
        let edit = fs::Edit::new(&self.old, &self.new);
        if self.all { edit.everywhere() } else { edit }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LsArguments {
    path: Option<String>,
    #[serde(default)]
    first_lines: bool,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    ignored: bool,
    #[serde(default)]
    skip: usize,
}

pub(super) fn ls(root: &Root, arguments: Value, _: &Stop) -> Result<Value, Failure> {
    let arguments: LsArguments = serde_json::from_value(arguments)?;
    let mut query = LsQuery::new(arguments.path.as_deref().unwrap_or("."))
        .view(view(arguments.hidden, arguments.ignored))
        .skip(arguments.skip);
    if arguments.first_lines {
        query = query.first_lines();
    }
    let listing = fs::ls(root, &query)?;
    let mut result = json!({ "path": listing.path, "count": listing.count });
    result["entries"] = listing.entries.iter().map(entry).collect();
    result["listing"] = listing.listing().into();
    if listing.omitted_count() > 0 {
        result["omitted"] = listing.omitted_count().into();
        result["next_skip"] = (listing.first + listing.entries.len()).into();
    }
    put_skipped(&mut result, &listing.skipped);
    Ok(result)
}

fn entry(entry: &fs::Entry) -> Value {
    let mut object = json!({ "name": entry.name, "kind": entry.kind.as_str() });
    if let Some(bytes) = entry.bytes {
        object["bytes"] = bytes.into();
    }
    if let Some(line) = &entry.first_line {
        object["first_line"] = line.as_str().into();
    }
    object
}
