//! Packages of other registries that tasks install once, at pinned versions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{files, process};

/// Returns the interpreter in `target/xtask/NAME` with the given packages for `pip`. The environment is made
/// anew if the packages change.
pub(crate) fn python(root: &Path, name: &str, packages: &str) -> anyhow::Result<PathBuf> {
    let folder = format!("target/xtask/{name}");
    let program = root.join(&folder).join("bin/python");
    let stamp = root.join(&folder).join("packages");
    if is_installed(&stamp, packages) {
        return Ok(program);
    }
    process::run(root, &[], &format!("python3 -m venv {folder}"))?;
    process::run(root, &[], &format!("{folder}/bin/python -m pip install --quiet {packages}"))?;
    files::write(&stamp, packages)?;
    Ok(program)
}

/// Installs packages of npm into a folder below `root`, with the command `npm`, unless these versions are there.
pub(crate) fn node(root: &Path, npm: &str, folder: &str, packages: &str) -> anyhow::Result<()> {
    let place = root.join(folder);
    let stamp = place.join("installed");
    if is_installed(&stamp, packages) {
        return Ok(());
    }
    files::write(&place.join("package.json"), "{\"private\": true}\n")?;
    let options = format!("--prefix {folder} --no-audit --no-fund --loglevel=error");
    // Some packages would report their installation otherwise.
    let quiet = [("SCARF_ANALYTICS", "false"), ("DO_NOT_TRACK", "1")];
    process::run(root, &quiet, &format!("{npm} install {options} {packages}"))?;
    files::write(&stamp, packages)
}

/// Installs a package of cargo, unless its program runs.
pub(crate) fn cargo(root: &Path, program: &str, package: &str) -> anyhow::Result<()> {
    if process::succeeds(root, &format!("{program} --version")) {
        return Ok(());
    }
    // The debug profile builds in a fraction of the time, and the tools do little work.
    let line = format!("cargo install --locked --debug {package}");
    println!("`{program}` is missing: {line}");
    process::run(root, &[], &line)
}

fn is_installed(stamp: &Path, packages: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|installed| installed == packages)
}
