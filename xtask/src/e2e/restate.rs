//! `cargo xtask e2e restate`: runs threads on a Restate server, with workers and servers that are killed.
//!
//! The server comes from npm and is never part of Rye, because its licence is BSL 1.1. It listens on this machine alone, in a
//! folder of each test's own, and sends no telemetry. It needs `npm` on the path.

use std::{env, path::Path};

use crate::{
    files::text,
    packages,
    process::{self, Rye},
};
use anyhow::bail;

const FOLDER: &str = "target/xtask/restate";
const SERVER: &str = "@restatedev/restate-server@1.7.12";
const WORKSPACE: &str = "engines/restate";

/// Does the same where npm has a server for the machine. Elsewhere it says what is not tested.
pub(crate) fn run_if_possible(root: &Path) -> anyhow::Result<()> {
    if program().is_some() {
        return run(root);
    }
    println!(
        "NOT TESTED HERE: threads on Restate, because its server is not made for this machine"
    );
    Ok(())
}

/// Installs the server, and runs the checks and tests of the workspace.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let Some(program) = program() else {
        bail!("Restate's server is not made for this machine");
    };
    packages::node(root, "npm", FOLDER, SERVER)?;
    let server = root.join(FOLDER).join("node_modules/@restatedev").join(program);
    let rye = Rye::build(root)?;
    let folder = root.join(WORKSPACE);
    // Many dependencies have the version and the features that they have in the whole, and need no second build.
    let target = text(root.join("target"));
    let variables = [
        ("CARGO_TARGET_DIR", target.as_str()),
        ("RESTATE_SERVER", &text(&server)),
        ("RYE", &text(rye.program())),
    ];
    process::run(&folder, &variables, "cargo fmt --check")?;
    process::run(&folder, &variables, "cargo clippy --locked --all-targets -- -D warnings")?;
    // Each test has a server of its own.
    process::run(&folder, &variables, "cargo test --locked -- --include-ignored --test-threads=2")?;
    println!(
        "the same where each handler is suspended at every wait, so that each of its steps is replayed"
    );
    let suspending = [("RYE_SUSPEND", "1"), ("RYE_KILLS", "3"), ("RYE_WAITING", "4")];
    let variables: Vec<_> = variables.into_iter().chain(suspending).collect();
    let tests = "cargo test --locked --test threads -- --include-ignored --test-threads=2";
    process::run(&folder, &variables, tests)
}

/// The server for this machine, below npm's folder of packages.
fn program() -> Option<&'static str> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Some("restate-server-linux-x64/bin/restate-server"),
        ("linux", "aarch64") => Some("restate-server-linux-arm64/bin/restate-server"),
        ("macos", "x86_64") => Some("restate-server-darwin-x64/bin/restate-server"),
        ("macos", "aarch64") => Some("restate-server-darwin-arm64/bin/restate-server"),
        _ => None,
    }
}
