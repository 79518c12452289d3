//! The checks of `.github`, `action.yml` and `.pre-commit-hooks.yaml` with the tools that others use for them.

use std::path::Path;

use crate::{files::text, packages, process};

const PACKAGES: &str = "zizmor==1.32.0 check-jsonschema==0.39.0 pre-commit==4.7.0";

/// Checks the workflows, the action and the hooks. Nothing is asked of a network but the packages, once.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = packages::python(root, "workflows-python", PACKAGES)?;
    let programs = python.parent().expect("because an interpreter is in a folder");
    let call = |program: &str, words: &str| {
        process::run(root, &[], &format!("{} {words}", text(programs.join(program))))
    };
    call("zizmor", "--offline --quiet .github action.yml")?;
    let mut workflows: Vec<String> = std::fs::read_dir(root.join(".github/workflows"))?
        .filter_map(|entry| Some(text(entry.ok()?.path())))
        .collect();
    workflows.sort();
    let schema = "--quiet --builtin-schema";
    call("check-jsonschema", &format!("{schema} vendor.github-workflows {}", workflows.join(" ")))?;
    call("check-jsonschema", &format!("{schema} vendor.github-actions action.yml"))?;
    call("pre-commit", "validate-manifest .pre-commit-hooks.yaml")
}
