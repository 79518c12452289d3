//! `cargo xtask e2e neighbours`: imports files of other programs, from packages that ship them.
//!
//! The packages are fetched once from npm and PyPI. Nothing of them is run, and none of their files is committed. Each package is imported
//! into a project of its own, and the project is checked: an error has to be at a draft of which the import said that a person decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::{
    files::{self, text},
    process::{self, Rye},
};

const FOLDER: &str = "target/xtask/neighbours";

/// Packages of npm, with what they ship: skills, subagents, commands, prompts, rules and servers.
const NPM: [&str; 5] = [
    "cc-sdd@3.0.2",
    "bmad-method@6.12.0",
    "get-shit-done-cc@1.32.0",
    "claude-code-plugins@1.0.3",
    "genkit@1.42.0",
];

/// Packages of PyPI: plugins, skills, commands, agents and tasks.
const PYPI: [&str; 6] = [
    "superclaude==4.3.0",
    "databao==0.7.0",
    "crewai==0.86.0",
    "fastapi==0.165.0",
    "specify-cli==1.2.3",
    "skillsaw==0.22.0",
];

/// Formats of which no package of the registries was found to ship three files. Fixtures after their specifications test them.
const NOT_FOUND: [&str; 5] =
    ["goose-recipe", "gh-aw-workflow", "prompty", "tool-schemas", "original"];

/// The fewest files, and the fewest formats with three files each, for which the task passes.
const LEAST_FILES: usize = 50;
const LEAST_FORMATS: usize = 8;

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let rye = Rye::build(root)?;
    let folder = root.join(FOLDER);
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for package in NPM {
        import(&rye, &folder, &fetched(root, "npm", package)?, &mut counts)?;
    }
    for package in PYPI {
        import(&rye, &folder, &fetched(root, "pypi", package)?, &mut counts)?;
    }
    tell(&counts);
    let files: usize = counts.values().map(|counts| counts.files).sum();
    let formats = counts.values().filter(|counts| counts.files >= 3).count();
    if files < LEAST_FILES || formats < LEAST_FORMATS {
        bail!("{files} files of {formats} formats with three files and more: too few");
    }
    Ok(())
}

/// The files of a package, which is fetched unless it is there.
fn fetched(root: &Path, registry: &str, package: &str) -> anyhow::Result<PathBuf> {
    let name = package.replace(['@', '/', '='], "_");
    let below = format!("{FOLDER}/{registry}/{name}");
    let folder = root.join(&below);
    let stamp = folder.join("fetched");
    let files = folder.join("files");
    if stamp.is_file() {
        return Ok(files);
    }
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&files)?;
    let unpack = if registry == "npm" {
        process::run(
            root,
            &[],
            &format!("npm pack --silent --pack-destination {below} {package}"),
        )?;
        "import sys, tarfile, glob\nfor file in glob.glob(sys.argv[1] + '/*.tgz'): tarfile.open(file).extractall(sys.argv[1] + '/files', filter='data')"
    } else {
        process::run(
            root,
            &[],
            &format!(
                "python3 -m pip download --quiet --no-deps --only-binary :all: --dest {below} {package}"
            ),
        )?;
        "import sys, zipfile, glob\nfor file in glob.glob(sys.argv[1] + '/*.whl'): zipfile.ZipFile(file).extractall(sys.argv[1] + '/files')"
    };
    let script = folder.join("unpack.py");
    files::write(&script, unpack)?;
    process::run(root, &[], &format!("python3 {} {below}", text(&script)))?;
    files::write(&stamp, package)?;
    Ok(files)
}

/// What was imported of one format.
#[derive(Default)]
struct Counts {
    files: usize,
    carried: usize,
    left_out: usize,
}

/// Imports a package into a project of its own, and checks the project.
fn import(
    rye: &Rye<'_>,
    folder: &Path,
    files: &Path,
    counts: &mut BTreeMap<String, Counts>,
) -> anyhow::Result<()> {
    let project = folder.join("project");
    drop(fs::remove_dir_all(&project));
    fs::create_dir_all(project.join(".ai"))?;
    let answer = json(rye, &project, &["import", &text(files), "--json"])?;
    let found = rows(&answer, "found");
    if found.is_empty() {
        bail!("nothing of `{}` is imported: {answer}", files.display());
    }
    let place = |row: &Value, member: &str| row[member].as_str().unwrap_or_default().to_owned();
    for part in &found {
        counts.entry(place(part, "format")).or_default().files += 1;
    }
    // A row belongs to the part whose file or folder has its file.
    let format_of = |file: &str| {
        let holds =
            |path: &str| path.is_empty() || file == path || file.starts_with(&format!("{path}/"));
        found.iter().find(|part| holds(&place(part, "path"))).map(|part| place(part, "format"))
    };
    for (list, is_carried) in [("carried", true), ("left_out", false)] {
        for row in rows(&answer, list) {
            let Some(format) = format_of(&place(&row, "file")) else { continue };
            let counts = counts.entry(format).or_default();
            if is_carried { counts.carried += 1 } else { counts.left_out += 1 }
        }
    }
    // A plugin may have parts for other programs alone.
    if rows(&answer, "drafts").is_empty() {
        return Ok(());
    }
    undecided(rye, &project, &answer)
}

/// Refuses an error of the check that the import did not leave to a person.
fn undecided(rye: &Rye<'_>, project: &Path, answer: &Value) -> anyhow::Result<()> {
    let decided: BTreeSet<String> = rows(answer, "decisions")
        .iter()
        .filter_map(|row| row["path"].as_str().map(str::to_owned))
        .collect();
    let checked = json(rye, project, &["check", "--json"])?;
    for file in rows(&checked, "files") {
        let path = file["path"].as_str().unwrap_or_default().replace('\\', "/");
        let draft = path.rsplit_once(".ai/").map_or(path.as_str(), |(_, draft)| draft);
        let findings = file["problems"].as_array().cloned().unwrap_or_default();
        let error = findings.iter().find(|finding| finding["severity"] == "error");
        if let Some(error) = error.filter(|_| !decided.contains(draft)) {
            bail!("`{draft}` has an error of which the import said nothing: {error}");
        }
    }
    Ok(())
}

fn json(rye: &Rye<'_>, project: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = rye.call(project, arguments)?;
    let code = output.status.code();
    if !matches!(code, Some(0 | 1)) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`rye {}` ended with {code:?}: {stderr}", arguments.join(" "));
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`rye {}` printed no JSON", arguments.join(" ")))
}

fn rows(answer: &Value, list: &str) -> Vec<Value> {
    answer[list].as_array().cloned().unwrap_or_default()
}

fn tell(counts: &BTreeMap<String, Counts>) {
    println!("{:16} {:>6} {:>8} {:>8}", "format", "files", "carried", "left out");
    for (format, Counts { files, carried, left_out }) in counts {
        println!("{format:16} {files:>6} {carried:>8} {left_out:>8}");
    }
    println!("no package found: {}", NOT_FOUND.join(", "));
}
