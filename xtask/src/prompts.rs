//! `cargo xtask prompts`: every directive of a project as a snapshot, for `cargo insta review`.

use std::path::{Path, PathBuf};

use crate::process;

/// Whose prompts, and who vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The project's folder.
    project: PathBuf,
    /// Files of trust documents.
    trust: Vec<PathBuf>,
}

impl Request {
    /// Reads `[DIR [TRUST…]]`; none is the quick start and the example key.
    pub(crate) fn of(words: &[&str]) -> Self {
        let (project, trust) = match words {
            [] => ("examples/quickstart", &["examples/keys/example-trust.toml"][..]),
            [project, trust @ ..] => (*project, trust),
        };
        // Who names a folder means it from where they stand; the quick start is in the workspace.
        let place = |path: &&str| match words {
            [] => PathBuf::from(path),
            _ => std::path::absolute(path).unwrap_or_else(|_| path.into()),
        };
        Self { project: place(&project), trust: trust.iter().map(place).collect() }
    }
}

/// Renders the directives of the project into its `snapshots` folder, each difference as a file to review.
///
/// The rendering is `crates/rye/examples/prompts.rs`; this package does not depend on the library, which takes long to
/// build.
pub(crate) fn run(root: &Path, request: &Request) -> Result<(), String> {
    let Request { project, trust } = request;
    // Not as one line, because paths may hold spaces.
    let status = process::command(root, "cargo run --quiet --package rye --example prompts --")
        .arg(project)
        .args(trust)
        .envs([("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1")])
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(format!("the prompts of `{}` cannot be rendered", project.display()));
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
