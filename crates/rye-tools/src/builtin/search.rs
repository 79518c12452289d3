//! The tools that search files by path and by content.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Failure;
use crate::fs::{self, Case, Cut, GlobQuery, GrepQuery, Root, Show, Skipped, Stop, Syntax, View};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GlobArguments {
    pattern: String,
    path: Option<String>,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    ignored: bool,
    #[serde(default)]
    skip: usize,
}

pub(super) fn glob(root: &Root, arguments: Value, stop: &Stop) -> Result<Value, Failure> {
    let arguments: GlobArguments = serde_json::from_value(arguments)?;
    let query = GlobQuery::new(&arguments.pattern)
        .below(arguments.path.as_deref().unwrap_or("."))
        .view(view(arguments.hidden, arguments.ignored))
        .skip(arguments.skip);
    let found = fs::glob(root, &query, stop)?;
    let count = found.paths.len();
    let mut result = json!({ "paths": found.paths, "count": count });
    put_skipped(&mut result, &found.skipped);
    put_cut(&mut result, found.cut, query.skip + count);
    Ok(result)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrepArguments {
    pattern: String,
    path: Option<String>,
    #[serde(default)]
    globs: Vec<String>,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    files_only: bool,
    #[serde(default)]
    context: usize,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    ignored: bool,
    #[serde(default)]
    skip: usize,
    limit: Option<usize>,
}

impl GrepArguments {
    fn query(self) -> GrepQuery {
        let mut query = GrepQuery::new(&self.pattern).context(self.context);
        query.path = self.path.unwrap_or(query.path);
        query.globs = self.globs;
        query.syntax = if self.literal { Syntax::Literal } else { Syntax::Regex };
        query.case = if self.ignore_case { Case::Insensitive } else { Case::Sensitive };
        query.show = if self.files_only { Show::Files } else { Show::Lines };
        query.view = view(self.hidden, self.ignored);
        query.skip = self.skip;
        query.limit = self.limit.unwrap_or(query.limit);
        query
    }
}

pub(super) fn grep(root: &Root, arguments: Value, stop: &Stop) -> Result<Value, Failure> {
    let query = serde_json::from_value::<GrepArguments>(arguments)?.query();
    let found = fs::grep(root, &query, stop)?;
    let files: Vec<Value> = found.files.iter().map(|file| file_matches(file, query.show)).collect();
    let mut result = json!({ "files": files, "count": found.count, "searched": found.searched });
    put_skipped(&mut result, &found.skipped);
    put_cut(&mut result, found.cut, query.skip + found.count);
    Ok(result)
}

fn file_matches(file: &fs::FileMatches, show: Show) -> Value {
    match show {
        Show::Files => json!({ "path": file.path }),
        Show::Lines => {
            json!({ "path": file.path, "count": file.count, "lines": file.lines.join("\n") })
        }
    }
}

pub(super) fn view(hidden: bool, ignored: bool) -> View {
    let view = if hidden { View::usual().with_hidden() } else { View::usual() };
    if ignored { view.with_ignored() } else { view }
}

/// Adds the counts of skipped entries to the result, if there are any.
pub(super) fn put_skipped(result: &mut Value, skipped: &Skipped) {
    let counts = skipped.counts().into_iter().filter(|(_, count)| *count > 0);
    let counts: Map<String, Value> =
        counts.map(|(reason, count)| (reason.to_owned(), count.into())).collect();
    if !counts.is_empty() {
        result["skipped"] = counts.into();
    }
}

/// Adds the reason why there may be more results, and the value to continue with.
fn put_cut(result: &mut Value, cut: Option<Cut>, next: usize) {
    let Some(cut) = cut else { return };
    let text = match cut {
        Cut::Results | Cut::Text => {
            result["next_skip"] = next.into();
            "there is more; call again with `skip` from `next_skip`, or ask for less"
        }
        Cut::Entries => "too many entries of folders; give a `path` further down",
        Cut::Bytes => "too much to search; give a `path` further down, or `globs`",
        Cut::Stopped => "out of time; give a `path` further down",
    };
    result["cut"] = text.into();
}
