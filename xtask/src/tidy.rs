//! `cargo xtask tidy`: checks rules that reviewers would otherwise have to repeat.
//!
//! All findings are reported at once. Tidy needs no network, no git and no build.

mod cycles;
mod events;
mod files;
mod layers;
mod modules;
mod openings;
mod packages;
mod sources;
pub(crate) mod tree;
mod words;

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use anyhow::anyhow;

use crate::workspace::metadata;

/// Prints every finding in the workspace at `root` and fails if there is one.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let findings = check(root)?;
    if findings.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "tidy found\n\n{}\n\nmend it and run `cargo xtask tidy` again",
        findings.join("\n")
    ))
}

/// Returns every finding, in the order of the checks.
fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut packages = metadata(root)?.packages;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    let tree = &tree::read(root);
    let mut findings = layers::check(&packages);
    findings.extend(packages::check(&packages));
    // Each of these reads every file, so that they run at once.
    let found = thread::scope(|scope| {
        let checks = [
            scope.spawn(move || sources::check(tree)),
            scope.spawn(move || files::check(tree)),
            scope.spawn(move || cycles::check(tree)),
            scope.spawn(move || events::check(tree)),
            scope.spawn(move || words::check(tree)),
            scope.spawn(move || openings::check(tree)),
        ];
        checks.map(|check| check.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    findings.extend(found.into_iter().flatten());
    Ok(findings)
}

#[cfg(test)]
mod tests;
