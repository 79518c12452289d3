//! The facts about the workspace that tasks read from `cargo metadata`.
//!
//! The library for them turns on features of `serde_json` and `serde_core` that the program does not use, so that `cargo test` would
//! build these again, and all that depends on them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, anyhow};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// The packages of the workspace.
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    /// The registries to which cargo may publish the package; `None` stands for all.
    publish: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    req: String,
    /// `None` for an ordinary dependency.
    kind: Option<String>,
}

impl Package {
    /// Returns `true` if cargo can publish the package.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

impl Dependency {
    /// Returns `true` unless the dependency is one for tests or for the build.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns `true` for a dependency of tests.
    pub(crate) fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }

    /// Returns `true` if the manifest gives a version.
    pub(crate) fn has_version(&self) -> bool {
        self.req != "*"
    }
}

/// Reads the metadata of the workspace at `root`, without those of packages outside of it.
#[expect(clippy::disallowed_methods, reason = "cargo is asked")]
pub(crate) fn metadata(root: &Path) -> anyhow::Result<Metadata> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("`cargo metadata` cannot be started")?;
    if !output.status.success() {
        return Err(anyhow!("`cargo metadata` fails: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).context("`cargo metadata` says something else")
}
