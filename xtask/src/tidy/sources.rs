//! Rules for Rust files.

use std::collections::BTreeSet;

use crate::tidy::{
    exceptions::{Exception, Subject},
    measure::{Function, Measure, measure},
    tree::File,
};

const CODE_LINES: usize = 600;
/// The smallest total number of lines that is too large.
const LINES: usize = 900;
const FUNCTION_LINES: usize = 60;

/// Names of modules that do not tell their content.
const DRAWERS: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc", "types"];

/// Finds violations in each `.rs` file, and exceptions that are not needed.
pub(crate) fn check(tree: &[File], exceptions: &[Exception]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for file in tree.iter().filter(|file| file.path.ends_with(".rs")) {
        findings.extend(opening(file));
        findings.extend(empty_docs(file));
        match measure(&file.text) {
            Ok(measure) => {
                findings.extend(drawers(file, &measure));
                findings.extend(lengths(file, &measure, exceptions, &mut used));
            }
            Err(error) => findings.push(format!("`{}` is no Rust: {error}", file.path)),
        }
    }
    for (index, exception) in exceptions.iter().enumerate() {
        let path = exception.path;
        if !used.contains(&index) {
            findings.push(format!("the exception for `{path}` is no longer needed; delete it"));
        }
        if exception.reason.trim().is_empty() {
            findings.push(format!(
                "the exception for `{path}` has no reason; give one or shorten the code"
            ));
        }
    }
    findings
}

/// Returns `true` if the path is that of a file of tests.
pub(crate) fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"))
}

/// Splits `crates/NAME/src/PATH.rs` into `NAME` and `PATH.rs`.
pub(crate) fn source_path(path: &str) -> Option<(&str, &str)> {
    let (name, path) = path.strip_prefix("crates/")?.split_once("/src/")?;
    (!name.contains('/') && path.ends_with(".rs")).then_some((name, path))
}

fn opening(file: &File) -> Option<String> {
    let first = file.text.lines().next().unwrap_or_default();
    let explained = ["//!", "#![", "#["].iter().any(|start| first.starts_with(start));
    // The name of a test file tells its content.
    let within_src = file.path.split('/').any(|part| part == "src") && !is_test(&file.path);
    (within_src && !explained)
        .then(|| format!("`{}` does not begin with `//!`; say what it is", file.path))
}

fn drawers(file: &File, measure: &Measure) -> Vec<String> {
    let named = |name: &str| DRAWERS.contains(&name);
    let own = file.path.trim_end_matches(".rs").split('/').filter(|part| named(part));
    let inline = measure.modules.iter().map(String::as_str).filter(|name| named(name));
    let finding =
        |name: &str| format!("`{}` has a module `{name}`; name it after what it holds", file.path);
    own.chain(inline).map(finding).collect()
}

/// Finds doc comments without text. A blank line between two paragraphs is allowed.
fn empty_docs(file: &File) -> Vec<String> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let is_doc = |line: &&str| line.starts_with("///") || line.starts_with("//!");
    let blocks = lines.chunk_by(|a, b| is_doc(a) == is_doc(b));
    let mut findings = Vec::new();
    let mut number = 1;
    for block in blocks {
        if block.iter().all(|line| matches!(*line, "///" | "//!")) {
            findings.push(format!("`{}` has an empty doc comment in line {number}", file.path));
        }
        number += block.len();
    }
    findings
}

fn lengths(
    file: &File,
    measure: &Measure,
    exceptions: &[Exception],
    used: &mut BTreeSet<usize>,
) -> Vec<String> {
    let mut findings = Vec::new();
    for (subject, finding) in excesses(file, measure) {
        let covers =
            |exception: &Exception| exception.path == file.path && exception.subject == subject;
        match exceptions.iter().position(covers) {
            Some(index) => drop(used.insert(index)),
            None => findings.push(finding),
        }
    }
    findings
}

fn excesses<'m>(file: &File, measure: &'m Measure) -> Vec<(Subject<'m>, String)> {
    let path = &file.path;
    let mut excesses = Vec::new();
    let total = file.text.lines().count();
    if total >= LINES {
        let finding =
            format!("`{path}` has {total} lines, and {LINES} are too many; divide it by idea");
        excesses.push((Subject::File, finding));
    }
    let code = measure.code_lines;
    if code > CODE_LINES && !is_test(path) {
        let finding = format!(
            "`{path}` has {code} lines of code and may have {CODE_LINES}; divide it by idea"
        );
        excesses.push((Subject::File, finding));
    }
    for Function { name, lines } in
        measure.functions.iter().filter(|function| function.lines > FUNCTION_LINES)
    {
        let finding = format!(
            "`fn {name}` in `{path}` has {lines} lines and may have {FUNCTION_LINES}; name its steps"
        );
        excesses.push((Subject::Function(name), finding));
    }
    excesses
}
