//! `cargo xtask book`: builds the guide in `docs/` as HTML with mdBook.

use std::path::Path;

use crate::process;

/// The package without its server and its watcher, which a build does not need.
const MDBOOK: &str = "mdbook@0.5.4 --no-default-features --features search";

/// Builds the pages below `target/book`. If `mdbook` is missing, installs it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    if !process::succeeds(root, "mdbook --version") {
        let line = format!("cargo install --locked --debug {MDBOOK}");
        println!("`mdbook` is missing: {line}");
        process::run(root, &[], &line)?;
    }
    process::run(root, &[], "mdbook build docs")
}
