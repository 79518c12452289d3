//! `cargo xtask book`: the guide of `docs/` as pages to click through, built by mdBook.

use std::path::Path;

use crate::process;

/// Without its server and its watcher, which a build does not need.
const MDBOOK: &str = "mdbook@0.5.4 --no-default-features --features search";

/// Builds the pages below `target/book`, with the program that is there or is installed for it.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    if !process::succeeds(root, "mdbook --version") {
        let line = format!("cargo install --locked --debug {MDBOOK}");
        println!("`mdbook` is missing: {line}");
        process::run(root, &[], &line)?;
    }
    process::run(root, &[], "mdbook build docs")
}
