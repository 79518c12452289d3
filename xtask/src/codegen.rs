//! `cargo xtask codegen`: writes `docs/cli.md`, `docs/format.md`, the table of `docs/programs.md` and `schemas/` from the
//! output of the built program.

mod help;

use std::{fs, path::Path};

use crate::{
    generated::{Mode, all, ensure_file_contents},
    process::Rye,
};
use anyhow::{Context as _, anyhow};

/// Writes every generated file, or in [`Mode::Check`] names each one that differs.
pub(crate) fn run(root: &Path, mode: Mode) -> anyhow::Result<()> {
    let rye = Rye::build(root)?;
    let mut files = schemas(&rye)?;
    let superfluous = superfluous_schemas(root, &files);
    files.push(("docs/cli.md".to_owned(), help::document(&|arguments| rye.output(arguments))?));
    files.push(("docs/format.md".to_owned(), manual(&rye)?));
    files.push((PROGRAMS.to_owned(), programs(root, &rye)?));
    let written = files.iter().map(|(path, contents)| {
        ensure_file_contents(root, path, contents.as_bytes(), mode, "codegen")
    });
    let removed = superfluous.iter().map(|path| remove(root, path, mode));
    all(written.chain(removed))
}

/// The page of the guide about programs, which holds a generated table.
const PROGRAMS: &str = "docs/programs.md";

/// The lines around the table.
const TABLE: [&str; 2] =
    ["<!-- promises:begin, written by `cargo xtask codegen` -->\n", "<!-- promises:end -->\n"];

/// Returns the page about programs with the table that the program prints now.
fn programs(root: &Path, rye: &Rye<'_>) -> anyhow::Result<String> {
    let page = fs::read_to_string(root.join(PROGRAMS)).context("the page about programs")?;
    let [begin, end] = TABLE;
    let parts = page.split_once(begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some((before, after))
    });
    let (before, after) =
        parts.ok_or_else(|| anyhow!("`{PROGRAMS}` has no place for its table: {begin:?}"))?;
    let table = rye.output(&["help", "sandbox"])?;
    Ok(format!("{before}{begin}\n{table}\n{end}{after}"))
}

/// Returns the manual of the formats as a page of the guide.
fn manual(rye: &Rye<'_>) -> anyhow::Result<String> {
    let manual = rye.output(&["help", "format"])?;
    Ok(format!("{}{manual}", help::NOTICE))
}

/// Returns a file for each name that `rye schema` lists. The files have no notice, because JSON has no
/// comments.
fn schemas(rye: &Rye<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let names = rye.output(&["schema"])?;
    let names = names.lines().map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| Ok((format!("schemas/{name}.json"), rye.output(&["schema", name])?))).collect()
}

fn superfluous_schemas(root: &Path, wanted: &[(String, String)]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join("schemas")) else { return Vec::new() };
    let names = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let paths = names.map(|name| format!("schemas/{name}"));
    paths
        .filter(|path| path.ends_with(".json") && wanted.iter().all(|(other, _)| other != path))
        .collect()
}

fn remove(root: &Path, path: &str, mode: Mode) -> anyhow::Result<()> {
    match mode {
        Mode::Check => Err(anyhow!(
            "`{path}` is no schema of `rye`; run `cargo xtask codegen` and commit the result"
        )),
        Mode::Write => {
            fs::remove_file(root.join(path)).with_context(|| format!("`{path}` cannot be removed"))
        }
    }
}
