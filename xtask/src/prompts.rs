//! `cargo xtask prompts`: every directive of a project as a snapshot, for `cargo insta review`.

use std::path::Path;

use crate::process;

/// Whose prompts, and who vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The project's folder.
    project: String,
    /// Files of trust documents.
    trust: Vec<String>,
}

impl Request {
    /// Reads `[DIR [TRUST…]]`; none is the quick start and the example key.
    pub(crate) fn of(words: &[&str]) -> Self {
        let (project, trust) = match words {
            [] => ("examples/quickstart", &["examples/keys/example-trust.toml"][..]),
            [project, trust @ ..] => (*project, trust),
        };
        let trust = trust.iter().map(ToString::to_string).collect();
        Self { project: project.to_owned(), trust }
    }
}

/// Renders the directives of the project into its `snapshots` folder, each difference as a file to review.
///
/// The rendering is `crates/rye/examples/prompts.rs`; this package does not depend on the library, which takes long to
/// build.
pub(crate) fn run(root: &Path, request: &Request) -> Result<(), String> {
    let Request { project, trust } = request;
    let line = format!(
        "cargo run --quiet --package rye --example prompts -- {project} {}",
        trust.join(" ")
    );
    process::run(root, &[("INSTA_UPDATE", "new"), ("INSTA_FORCE_PASS", "1")], &line)?;
    println!("to look at what differs, run\n\n    cargo insta review --workspace-root {project}\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Request;

    #[test]
    fn the_quick_start_is_meant_where_nothing_is_named() {
        let quickstart = Request::of(&[]);
        assert_eq!(quickstart.project, "examples/quickstart");
        assert_eq!(quickstart.trust, ["examples/keys/example-trust.toml"]);
        let other = Request::of(&["a", "b.toml"]);
        assert_eq!((other.project.as_str(), other.trust), ("a", vec!["b.toml".to_owned()]));
        assert!(Request::of(&["a"]).trust.is_empty());
    }
}
