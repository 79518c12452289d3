//! `cargo xtask mcp`: calls `rye mcp` with third-party clients and with the protocol's conformance suite, and
//! calls third-party servers with `rye`.
//!
//! The suite also calls a fixture that serves the suite's own tools over the HTTP code of `rye mcp`, and it
//! brings servers for the client of `rye`.
//!
//! The versions of the clients are pinned here; an update is reviewed like any other change.

mod cells;
mod servers;
mod suite;
mod tools;
mod ways;

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
};

use self::tools::{CLIENT, FIXTURE, SERVER, Tools};
use crate::{
    files::{self, text},
    process::{self, Rye, Served},
};
use anyhow::Context as _;

const DIRECTIVES: &str = "xtask/src/mcp/fixture/directives";
const FOLDER: &str = "target/xtask/mcp";
const KEYS: &str = "examples/keys";

/// The revisions of the protocol that the suite checks.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Makes a project, serves it, and runs every client against it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let tools = Tools::install(root)?;
    let rye = Rye::build(root)?;
    // The fixture needs a provider that listens but never answers.
    let silent = TcpListener::bind("127.0.0.1:0").context("no port")?;
    let place = Place::make(root, &rye, &silent)?;
    let (_served, url) = serve(&place.project, &place.line(&rye, " --http 127.0.0.1:0"))?;
    let line = place.line(&rye, CLIENTS);
    let variables = [("RYE_MCP", line.as_str()), ("RYE_MCP_URL", url.as_str())];
    print!("{}", cells::table(&tools.clients(root, &variables)?)?);
    servers::run(root, &rye, &place, &tools.servers(root)?)?;
    ways::run(root, &rye, &place, &tools)?;
    tools.inspect(root, &place.line(&rye, ""), &url)?;
    let fixture = tools::example(root, "rye-mcp", "mcp_conformance")?;
    let (_fixture, fixture_url) = serve(root, &fixture)?;
    let client = tools::example(root, "rye-tools", "mcp_client")?;
    REVISIONS.iter().try_for_each(|revision| {
        tools.conform(root, revision, &SERVER, &format!("--url {url}"))?;
        tools.conform(root, revision, &FIXTURE, &format!("--url {fixture_url}"))?;
        tools.conform(root, revision, &CLIENT, &format!("--command {client}"))
    })
}

/// The operator's permissions for the clients over stdio.
const CLIENTS: &str =
    " --allow rye.execute.tool.rye.file-system.* --allow rye.execute.directive.notes.*";

/// The configuration that asks for approval of a tool, which only `notes/asks` calls.
const APPROVAL: &str = "config/agent/approval.yaml";
const ASKED: &str = "ask: [rye.execute.tool.rye.file-system.glob]\n";

/// A copy of the quick start with the fixture's directives, and a user space with its own key.
struct Place {
    project: PathBuf,
    home: PathBuf,
    trust: PathBuf,
}

impl Place {
    fn make(root: &Path, rye: &Rye<'_>, silent: &TcpListener) -> anyhow::Result<Self> {
        let folder = root.join(FOLDER);
        let project = folder.join("project");
        let home = folder.join("home");
        for folder in [&project, &home] {
            drop(fs::remove_dir_all(folder));
        }
        let made = || {
            files::copy_folder(&root.join("examples/quickstart"), &project)?;
            files::copy_folder(&root.join(DIRECTIVES), &project.join(".ai/directives"))?;
            let providers = project.join(".ai/tools/rye/agent/providers");
            fs::create_dir_all(&providers)?;
            fs::create_dir_all(&home)?;
            fs::create_dir_all(project.join(".ai/config/agent"))?;
            fs::write(project.join(".ai").join(APPROVAL), ASKED)?;
            fs::write(providers.join("silent.yaml"), provider(silent.local_addr()?.port()))
        };
        made().context("the project cannot be made")?;
        let trust = root.join(KEYS).join("example-trust.toml");
        let place = Self { project, home, trust };
        place.sign(rye)?;
        // A sandbox has its own folder for temporary files, so a checkout in the system's temporary folder is not
        // visible in it.
        if root.starts_with(std::env::temp_dir()) {
            let file = place.home.join(".ai/config/agent/processes.yaml");
            files::write(&file, "sandbox: off\n")?;
            rye.output(&["sign", &text(&file), "--user-space", &text(&place.home)])?;
        }
        Ok(place)
    }

    /// Signs with a new key, because the examples' key may not sign providers.
    fn sign(&self, rye: &Rye<'_>) -> anyhow::Result<()> {
        let home = text(&self.home);
        let ai = self.project.join(".ai");
        rye.output(&["keys", "generate", "--owner", "xtask", "--user-space", &home])?;
        let files = ["tools", APPROVAL, "directives/notes/waits.md", "directives/notes/asks.md"]
            .map(|path| text(ai.join(path)));
        let prompts = ["simple_prompt", "prompt_with_arguments"];
        let prompts = prompts.map(|name| text(ai.join(format!("directives/test_{name}.md"))));
        let mut words = vec!["sign".to_owned(), "--user-space".to_owned(), home];
        words.extend(files.into_iter().chain(prompts));
        rye.output(&words).map(drop)
    }

    /// Returns the command line of a server for this project.
    fn line(&self, rye: &Rye<'_>, more: &str) -> String {
        let program = text(rye.program());
        let project = text(&self.project);
        let home = text(&self.home);
        let trust = text(&self.trust);
        format!("{program} mcp --project {project} --user-space {home} --trust {trust}{more}")
    }
}

/// Starts a server over HTTP, and returns it with its URL.
fn serve(folder: &Path, line: &str) -> anyhow::Result<(Served, String)> {
    let mut command = process::command(folder, line);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let served = Served::start(command)?;
    let url = served.first.strip_prefix("listening at ").map(str::to_owned);
    let url = url.with_context(|| format!("`{line}` says {:?}", served.first))?;
    Ok((served, url))
}

fn provider(port: u16) -> String {
    format!(
        "protocol: openai_chat\nbase_url: http://127.0.0.1:{port}\ntiers: {{ general: m }}\nmodels:\n  m: {{ context_window: \
         100000, max_output: 1000, prices: {{ input: 0, output: 0 }} }}\n"
    )
}
