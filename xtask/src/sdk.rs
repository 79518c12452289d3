//! `cargo xtask sdk`: checks every request body that the tests make with the types of the vendors' own SDKs.
//!
//! `sdk/judge.py` does the check. The versions of the SDKs are pinned here, so that results are reproducible;
//! an update is reviewed like any other change.

use std::path::Path;

use crate::{files, packages, process};

/// The newest versions when the protocols were written.
const SDKS: &str = "anthropic==2.11.0 openai==3.52.0 google-genai==3.4.0";

const JUDGE: &str = "xtask/src/sdk/judge.py";

/// Makes the bodies anew and checks them, after a self-test of the checker.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = packages::python(root, "venv", SDKS)?;
    // The folder that the tests write to.
    let bodies = process::target_folder(root)?.join("tmp/bodies");
    files::remove_folder(&bodies)?;
    // With `--workspace`, so that the features are those of the other test runs and nothing is built twice.
    process::run(root, &[], "cargo test --quiet --workspace --test rye_providers")?;
    process::run(root, &[], &format!("{} {JUDGE} --self-test", python.display()))?;
    process::run(root, &[], &format!("{} {JUDGE} {}", python.display(), bodies.display()))
}
