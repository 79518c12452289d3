//! `cargo xtask sdk`: checks every request body that the tests make with the types of the vendors' own SDKs, and
//! reads every answer of the conformance tables with these SDKs.
//!
//! `sdk/judge.py` and `sdk/answers.py` do the checks. The versions of the SDKs are pinned here, so that results are reproducible;
//! an update is reviewed like any other change.

use std::path::Path;

use crate::{files, packages, process};

/// The newest versions when the protocols were written.
const SDKS: &str = "anthropic==2.11.0 openai==3.52.0 google-genai==3.4.0";

/// The checkers, each with the folder in `target/tmp` that the tests of `rye-providers` write for it.
const CHECKS: [(&str, &str); 2] =
    [("xtask/src/sdk/judge.py", "bodies"), ("xtask/src/sdk/answers.py", "answers")];

/// Makes the bodies and the answers anew and checks them, after a self-test of each checker.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = packages::python(root, "venv", SDKS)?;
    let kept = process::target_folder(root)?.join("tmp");
    CHECKS.iter().try_for_each(|(_, folder)| files::remove_folder(&kept.join(folder)))?;
    // With `--workspace`, so that the features are those of the other test runs and nothing is built twice.
    process::run(root, &[], "cargo test --quiet --workspace --test rye_providers")?;
    // The SDKs warn about answers that are not as documented, of which the tables have many.
    let python = format!("{} -W ignore", python.display());
    CHECKS.iter().try_for_each(|(check, folder)| {
        let folder = kept.join(folder);
        process::run(root, &[], &format!("{python} {check} --self-test {}", folder.display()))?;
        process::run(root, &[], &format!("{python} {check} {}", folder.display()))
    })
}
