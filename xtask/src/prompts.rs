//! `cargo xtask prompts`: renders every directive of a project as a snapshot, for `cargo insta review`.

use std::path::{Path, PathBuf};

use crate::process;
use anyhow::bail;

/// The project whose prompts are rendered, and its trust documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The project's folder.
    project: PathBuf,
    /// The files of the trust documents.
    trust: Vec<PathBuf>,
}

impl Request {
    /// Parses `[DIR [TRUST…]]`. Without arguments it is the quick start with the example key.
    pub(crate) fn of(words: &[&str]) -> Self {
        let (project, trust) = match words {
            [] => ("examples/quickstart", &["examples/keys/example-trust.toml"][..]),
            [project, trust @ ..] => (*project, trust),
        };
        // A given path is relative to the current folder; the quick start is relative to the workspace.
        let place = |path: &&str| match words {
            [] => PathBuf::from(path),
            _ => std::path::absolute(path).unwrap_or_else(|_| path.into()),
        };
        Self { project: place(&project), trust: trust.iter().map(place).collect() }
    }
}

/// Renders the directives of the project into its `snapshots` folder. Each difference becomes a file to
/// review.
///
/// The example `crates/rye/examples/prompts.rs` renders, because the library takes long to build and so is
/// not a dependency of this package.
pub(crate) fn run(root: &Path, request: &Request) -> anyhow::Result<()> {
    let Request { project, trust } = request;
    // Paths are passed as separate arguments, because they may have spaces.
    let status = process::command(root, "cargo run --quiet --package rye-os --example prompts --")
        .arg(project)
        .args(trust)
        .envs([("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1")])
        .status();
    if !status.is_ok_and(|status| status.success()) {
        bail!("the prompts of `{}` cannot be rendered", project.display());
    }
    let project = project.display();
    println!(
        "to look at what differs, run\n\n    cargo insta review --workspace-root '{project}'\n"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Request;

    #[test]
    fn the_quick_start_is_meant_where_nothing_is_named() {
        let quickstart = Request::of(&[]);
        assert_eq!(quickstart.project, Path::new("examples/quickstart"));
        assert_eq!(quickstart.trust, [Path::new("examples/keys/example-trust.toml")]);
    }

    #[test]
    fn what_is_named_is_meant_from_where_the_task_is_started() {
        let other = Request::of(&["a b", "c.toml"]);
        assert!(other.project.is_absolute() && other.project.ends_with("a b"));
        assert!(
            matches!(other.trust.as_slice(), [file] if file.is_absolute() && file.ends_with("c.toml"))
        );
        assert!(Request::of(&["a"]).trust.is_empty());
    }
}
