//! Rules for Rust files.

use syn::ItemMod;
use syn::visit::{self, Visit};

use crate::tidy::tree::File;

/// Names of modules that do not tell their content.
const DRAWERS: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc", "types"];

/// Finds violations in each `.rs` file.
pub(crate) fn check(tree: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.iter().filter(|file| file.path.ends_with(".rs")) {
        findings.extend(opening(file));
        findings.extend(empty_docs(file));
        match syn::parse_file(&file.text) {
            Ok(parsed) => findings.extend(drawers(file, &parsed)),
            Err(error) => findings.push(format!(
                "`{}` is no Rust: {error} in line {}",
                file.path,
                error.span().start().line
            )),
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

fn drawers(file: &File, parsed: &syn::File) -> Vec<String> {
    let mut modules = Modules(Vec::new());
    modules.visit_file(parsed);
    let own = file.path.trim_end_matches(".rs").split('/').map(str::to_owned);
    let named = own.chain(modules.0).filter(|name| DRAWERS.contains(&name.as_str()));
    named
        .map(|name| format!("`{}` has a module `{name}`; name it after what it holds", file.path))
        .collect()
}

/// The names of the modules of a file, declared or inline.
struct Modules(Vec<String>);

impl<'ast> Visit<'ast> for Modules {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.0.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }
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
