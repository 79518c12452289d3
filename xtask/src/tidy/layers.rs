//! The layer table, which lists all allowed dependencies between packages.

use crate::workspace::Package;

/// Each package with the packages of this workspace that it may depend on, leaf first: a row names only
/// earlier rows. A new edge is a design change.
const LAYERS: &[(&str, &[&str])] = &[
    ("rye-types", &[]),
    ("rye-files", &[]),
    ("rye-parse", &["rye-types"]),
    ("rye-caps", &["rye-types"]),
    ("rye-sign", &["rye-types"]),
    ("rye-sandbox", &["rye-types"]),
    ("rye-resolve", &["rye-types", "rye-files", "rye-parse", "rye-caps", "rye-sign"]),
    ("rye-prompt", &["rye-types", "rye-parse"]),
    ("rye-port", &["rye-types", "rye-parse", "rye-sign", "rye-resolve"]),
    ("rye-transcript", &["rye-types", "rye-files", "rye-parse", "rye-caps", "rye-sign"]),
    ("rye-mcp", &["rye-sign", "rye-transcript"]),
    (
        "rye-thread",
        &["rye-types", "rye-files", "rye-parse", "rye-caps", "rye-sign", "rye-transcript"],
    ),
    ("rye-web", &["rye-types", "rye-caps", "rye-sandbox", "rye-thread"]),
    ("rye-tools", &["rye-types", "rye-caps", "rye-sandbox", "rye-thread", "rye-web"]),
    ("rye-providers", &["rye-types", "rye-parse", "rye-thread"]),
    ("rye-view", &["rye-types", "rye-caps", "rye-parse", "rye-sign", "rye-transcript"]),
    (
        "rye-project",
        &[
            "rye-types",
            "rye-files",
            "rye-parse",
            "rye-caps",
            "rye-sign",
            "rye-sandbox",
            "rye-resolve",
            "rye-prompt",
            "rye-thread",
            "rye-tools",
            "rye-web",
            "rye-providers",
            "rye-port",
        ],
    ),
    (
        "rye-review",
        &[
            "rye-types",
            "rye-parse",
            "rye-caps",
            "rye-sign",
            "rye-resolve",
            "rye-prompt",
            "rye-transcript",
            "rye-project",
        ],
    ),
    (
        "rye-session",
        &[
            "rye-types",
            "rye-files",
            "rye-parse",
            "rye-caps",
            "rye-sign",
            "rye-sandbox",
            "rye-resolve",
            "rye-prompt",
            "rye-thread",
            "rye-tools",
            "rye-providers",
            "rye-port",
            "rye-project",
            "rye-review",
            "rye-mcp",
        ],
    ),
    (
        "rye-os",
        &[
            "rye-types",
            "rye-files",
            "rye-parse",
            "rye-caps",
            "rye-sign",
            "rye-sandbox",
            "rye-resolve",
            "rye-prompt",
            "rye-thread",
            "rye-tools",
            "rye-web",
            "rye-providers",
            "rye-port",
            "rye-project",
            "rye-session",
            "rye-review",
        ],
    ),
    ("rye-cli", &["rye-types", "rye-os", "rye-view"]),
    (
        "rye-tests",
        &[
            "rye-types",
            "rye-parse",
            "rye-caps",
            "rye-sign",
            "rye-resolve",
            "rye-prompt",
            "rye-thread",
            "rye-tools",
            "rye-providers",
            "rye-session",
            "rye-os",
        ],
    ),
    ("rye-bench-harness", &["rye-types", "rye-caps", "rye-sign", "rye-thread", "rye-providers"]),
    ("xtask", &[]),
];

/// Finds dependencies that the table does not allow, including development and build dependencies.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(|package| edges(package, packages)).collect()
}

fn edges(package: &Package, packages: &[Package]) -> Vec<String> {
    let name = package.name.as_str();
    let Some((_, allowed)) = LAYERS.iter().find(|(row, _)| *row == name) else {
        return vec![format!(
            "`{name}` is not in the layer table; add a row to `xtask/src/tidy/layers.rs`"
        )];
    };
    let mut findings = Vec::new();
    let internal = |name: &str| packages.iter().any(|package| package.name == name);
    for dependency in package.dependencies.iter().filter(|dependency| internal(&dependency.name)) {
        let target = &dependency.name;
        if !allowed.contains(&target.as_str()) {
            findings.push(format!("`{name}` may not depend on `{target}`"));
        }
        let (is_for_tests, has_version) = (dependency.is_for_tests(), dependency.has_version());
        // A package cannot be published before a development dependency with a version, which may in turn
        // depend on it.
        if is_for_tests && has_version {
            findings.push(format!(
                "`{name}` gives the dev-dependency `{target}` a version; give it a path alone"
            ));
        }
        if !is_for_tests && !has_version && package.is_published() {
            findings.push(format!(
                "`{name}` gives `{target}` no version; add one, or it cannot be published"
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::LAYERS;

    #[test]
    fn every_row_names_earlier_rows_only() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            for target in *allowed {
                let earlier = LAYERS.iter().take(index).any(|(row, _)| row == target);
                assert!(earlier, "`{name}` names `{target}`, which does not stand above it");
            }
        }
    }
}
