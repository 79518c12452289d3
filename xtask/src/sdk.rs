//! `cargo xtask sdk`: every request body that the tests make, held against the types of the vendors' own SDKs.
//!
//! `sdk/judge.py` says how. The SDKs are pinned, so that a body does not become wrong overnight; a newer one is put in here
//! and judged like any other change.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{process, venv};

/// The newest ones when the wires were written.
const SDKS: &str = "anthropic==2.11.0 openai==3.52.0 google-genai==3.4.0";

const JUDGE: &str = "xtask/src/sdk/judge.py";

/// Makes the bodies anew and judges them, after it made sure that the judge still refuses what is wrong.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let python = venv::python(root, "venv", SDKS)?;
    let bodies = bodies(root)?;
    // Of the whole workspace, so that what the tests were built for is not built a second time.
    process::run(root, &[], "cargo test --quiet --workspace --test rye_providers")?;
    process::run(root, &[], &format!("{} {JUDGE} --self-test", python.display()))?;
    process::run(root, &[], &format!("{} {JUDGE} {}", python.display(), bodies.display()))
}

/// The folder that the tests write to, without what other versions of them left there.
fn bodies(root: &Path) -> Result<PathBuf, String> {
    let target: PathBuf = crate::tidy::metadata(root)?.target_directory.into();
    let folder = target.join("tmp/bodies");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("`{}` cannot be emptied: {error}", folder.display()))
        }
        _ => Ok(folder),
    }
}
