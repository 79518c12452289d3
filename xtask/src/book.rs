//! `cargo xtask book`: builds the guide in `docs/` as HTML with mdBook.

use std::path::Path;

use crate::{packages, process};

/// The package without its server and its watcher, which a build does not need.
const MDBOOK: &str = "mdbook@0.5.4 --no-default-features --features search";

/// Builds the pages below `target/book`. If `mdbook` is missing, installs it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    packages::cargo(root, "mdbook", MDBOOK)?;
    process::run(root, &[], "mdbook build docs")
}
