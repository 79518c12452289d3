//! Rules for the manifest and the other files of each package.

use std::fs;

use crate::workspace::Package;

/// Libraries for tests, which must not be ordinary dependencies, because these reach every user.
const TEST_ONLY: &[&str] = &["assert_cmd", "insta", "proptest", "trybuild"];

const PAPERS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Finds missing files, stale change logs and faulty manifests.
pub(crate) fn check(packages: &[Package]) -> Vec<String> {
    let program = packages.iter().filter(|package| package.name == "rye-cli").flat_map(|package| {
        let root = package.manifest_path.ancestors().nth(3).unwrap_or(&package.manifest_path);
        let file = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
        versions(&package.version, &file("pyproject.toml"), &file("docs/install.md"))
    });
    let each = packages.iter().flat_map(|package| [manifest(package), papers(package)].concat());
    each.chain(program).collect()
}

/// Finds versions of the program that differ from that of its crate: in the project that pre-commit installs, and in the guide.
fn versions(version: &str, hooks: &str, guide: &str) -> Vec<String> {
    let lines = [
        ("pyproject.toml", hooks, format!("version = \"{version}\"")),
        ("pyproject.toml", hooks, format!("dependencies = [\"rye-cli=={version}\"]")),
        ("docs/install.md", guide, format!("rev: rye-cli-v{version}")),
        ("docs/install.md", guide, format!("- uses: rye-os/rye@rye-cli-v{version}")),
        ("docs/install.md", guide, format!("sudo apt install ./rye-cli_{version}-1_amd64.deb")),
    ];
    let is_missing = |text: &str, line: &str| !text.lines().any(|found| found.trim() == line);
    let missing = lines.iter().filter(|(_, text, line)| is_missing(text, line));
    missing.map(|(file, _, line)| format!("`{file}` has no line `{line}`")).collect()
}

fn manifest(package: &Package) -> Vec<String> {
    let name = &package.name;
    let text = fs::read_to_string(&package.manifest_path).unwrap_or_default();
    let mut findings = Vec::new();
    if !inherits_lints(&text) {
        findings.push(format!(
            "`{name}` does not inherit the workspace's lints; add `[lints] workspace = true`"
        ));
    }
    if package.is_published() && !text.lines().any(|line| line.starts_with("include = [")) {
        findings.push(format!("`{name}` has no `include`; list what the published package holds"));
    }
    let ordinary = package.dependencies.iter().filter(|dependency| dependency.is_ordinary());
    for dependency in ordinary.filter(|dependency| TEST_ONLY.contains(&dependency.name.as_str())) {
        findings
            .push(format!("`{name}` depends on `{}`; make it a dev-dependency", dependency.name));
    }
    findings
}

fn inherits_lints(manifest: &str) -> bool {
    let mut table = manifest.lines().skip_while(|line| line.trim() != "[lints]").skip(1);
    let inside = table
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line == "workspace = true");
    inside || manifest.lines().any(|line| line == "lints.workspace = true")
}

fn papers(package: &Package) -> Vec<String> {
    if !package.is_published() {
        return Vec::new();
    }
    let name = &package.name;
    let folder = package.manifest_path.parent().expect("because a manifest is in a folder");
    let missing = PAPERS.iter().filter(|paper| !folder.join(paper).is_file());
    let mut findings: Vec<String> =
        missing.map(|paper| format!("`{name}` has no `{paper}`")).collect();
    if let Ok(log) = fs::read_to_string(folder.join("CHANGELOG.md")) {
        for heading in ["Unreleased".to_owned(), package.version.clone()] {
            let start = format!("## [{heading}]");
            if !log.lines().any(|line| line.starts_with(&start)) {
                findings.push(format!("the CHANGELOG.md of `{name}` has no section `{start}`"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::versions;

    #[test]
    fn each_place_that_names_another_version_is_found() {
        let hooks = "version = \"0.2.0\"\ndependencies = [\"rye-cli==0.1.0\"]\n";
        let guide = "    rev: rye-cli-v0.1.0\n      - uses: rye-os/rye@rye-cli-v0.2.0\n";
        let found = versions("0.2.0", hooks, guide);
        let expected = [
            "`pyproject.toml` has no line `dependencies = [\"rye-cli==0.2.0\"]`",
            "`docs/install.md` has no line `rev: rye-cli-v0.2.0`",
            "`docs/install.md` has no line `sudo apt install ./rye-cli_0.2.0-1_amd64.deb`",
        ];
        assert_eq!(found, expected);
    }
}
