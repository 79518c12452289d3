//! Python environments, each with the packages of a task.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::process;
use anyhow::Context as _;

/// Returns the interpreter in `target/xtask/NAME` with the given packages for `pip`. The environment is made
/// anew if the packages change.
pub(crate) fn python(root: &Path, name: &str, packages: &str) -> anyhow::Result<PathBuf> {
    let folder = format!("target/xtask/{name}");
    let program = root.join(&folder).join("bin/python");
    let stamp = root.join(&folder).join("packages");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == packages) {
        return Ok(program);
    }
    process::run(root, &[], &format!("python3 -m venv {folder}"))?;
    process::run(root, &[], &format!("{folder}/bin/python -m pip install --quiet {packages}"))?;
    fs::write(&stamp, packages)
        .with_context(|| format!("`{}` cannot be written", stamp.display()))?;
    Ok(program)
}
