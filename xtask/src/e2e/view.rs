//! `cargo xtask e2e view`: opens exported pages and those of `rye view` in Chromium.
//!
//! The threads are run by a scripted model on this machine: one with everything that a page shows, and one whose texts attack the
//! page. It needs `chromium`, `node` and `npm` on the path, and installs `playwright-core` and `axe-core` once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use crate::{
    files::{self, text},
    packages,
    process::{self, Rye, Served},
};
use anyhow::{Context as _, anyhow};

const FOLDER: &str = "target/xtask/view";
const SOURCES: &str = "xtask/src/e2e/view";
const PACKAGES: &str = "playwright-core@1.65.1 axe-core@4.14.1";

/// Does the same where Chromium works. Elsewhere it says what is not tested.
pub(crate) fn run_if_possible(root: &Path) -> anyhow::Result<()> {
    const TRY: &str = "chromium --headless --no-sandbox --disable-gpu --dump-dom about:blank";
    if process::succeeds(root, TRY) {
        return run(root);
    }
    println!("NOT TESTED HERE: the pages in a browser, because `{TRY}` fails");
    Ok(())
}

/// Runs the threads, exports them, and checks their pages.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let node = format!("{FOLDER}/node");
    packages::node(root, "npm", &node, PACKAGES)?;
    let chromium = process::output(root, "which chromium")
        .context("`chromium` is missing; install Debian's package `chromium`")?;
    let rye = Rye::build(root)?;
    let project = Project::new(&root.join(FOLDER), &rye);
    let _model = project.prepare(root)?;
    let pages = project.pages(root)?;
    let server = project.serve()?;
    let screenshots = root.join(FOLDER).join("screenshots");
    let script = root.join(node).join("browser.mjs");
    fs::copy(root.join(SOURCES).join("browser.mjs"), &script)
        .with_context(|| format!("`{}` cannot be written", script.display()))?;
    let words = [&script, Path::new(chromium.trim()), &pages, &screenshots].map(text);
    let place = [rye.program(), &project.folder, &project.home].map(text);
    let line = format!("node {} {} {}", words.join(" "), server.first, place.join(" "));
    process::run(root, &[], &line)?;
    println!("screenshots are in `{FOLDER}/screenshots`");
    Ok(())
}

/// The options of each run.
const RUN: [&str; 3] = ["--provider", "scripted", "--quiet"];

/// The exit code of a run that waits for a decision.
const WAITS: i32 = 4;

/// A project with scripted models, and the home folder of its operator.
pub(super) struct Project<'a> {
    rye: &'a Rye<'a>,
    folder: PathBuf,
    home: PathBuf,
}

impl<'a> Project<'a> {
    pub(super) fn new(folder: &Path, rye: &'a Rye<'a>) -> Self {
        Self { rye, folder: folder.join("checkout-service"), home: folder.join("home") }
    }

    /// Runs both threads, and returns the folder of their pages.
    fn pages(&self, root: &Path) -> anyhow::Result<PathBuf> {
        let pages = root.join(FOLDER).join("pages");
        drop(fs::remove_dir_all(&pages));
        fs::create_dir_all(&pages).context("no folder for pages")?;
        self.run_patch()?;
        self.run_release()?;
        self.export("prepare", &pages)?;
        self.run_limited()?;
        self.run_hostile()?;
        self.export("hostile", &pages)?;
        self.rye(&[&["run", "release/endless"], &RUN[..]].concat(), 0)?;
        self.export("endless", &pages)?;
        self.run_long()?;
        Ok(pages)
    }

    /// Makes the project anew, with a key and a scripted model, which serves until the returned value is dropped.
    pub(super) fn prepare(&self, root: &Path) -> anyhow::Result<Served> {
        for old in [&self.folder, &self.home] {
            drop(fs::remove_dir_all(old));
        }
        let hold = self.folder.with_file_name("hold");
        drop(fs::remove_file(&hold));
        let line = format!("node {SOURCES}/model.mjs {}", text(&hold));
        let model = serve_model(root, &line)?;
        self.write(root, &model.first)?;
        self.rye(&["keys", "generate", "--owner", "release key"], 0)?;
        self.rye(&["sign", ".ai"], 0)?;
        Ok(model)
    }

    /// Runs a thread of the same directive as [`Self::run_release`] that makes other calls, and waits for no decision.
    pub(super) fn run_patch(&self) -> anyhow::Result<()> {
        let run = ["run", "release/prepare", "--input", "version=2.3.3"];
        self.rye(&[&run, &RUN[..]].concat(), 0)
    }

    /// Runs a thread with children, a retry, errors, a call that is refused and a call that waits for a decision, to its end.
    pub(super) fn run_release(&self) -> anyhow::Result<()> {
        self.run_until_it_waits()?;
        self.rye(&["approve", "--last", "--resume"], 0)
    }

    /// Runs the same thread up to the call that waits.
    pub(super) fn run_until_it_waits(&self) -> anyhow::Result<()> {
        let run = ["run", "release/prepare", "--input", "version=2.4.0"];
        self.rye(&[&run, &RUN[..]].concat(), WAITS)
    }

    /// Runs a thread that reaches a limit.
    fn run_limited(&self) -> anyhow::Result<()> {
        self.rye(&[&["run", "release/notes", "--turns", "1"], &RUN[..]].concat(), super::LIMIT)
    }

    /// Runs a thread whose texts attack the page.
    pub(super) fn run_hostile(&self) -> anyhow::Result<()> {
        let much = ["run", "release/hostile", "--spend", "5", "--tokens", "5000000"];
        self.rye(&[&much, &RUN[..]].concat(), 0)
    }

    /// Runs a thread that does not fit on one page.
    fn run_long(&self) -> anyhow::Result<()> {
        self.rye(&[&["run", "release/long"], &RUN[..]].concat(), 0)
    }

    /// Writes a provider of the project.
    pub(super) fn put_provider(&self, name: &str, text: &str) -> anyhow::Result<()> {
        files::write(&self.folder.join(format!(".ai/tools/rye/agent/providers/{name}.yaml")), text)
    }

    /// The path of the operator's public key.
    pub(super) fn public_key(&self) -> PathBuf {
        self.home.join(".ai/config/keys/signing/public_key.pem")
    }

    /// All threads with their states.
    pub(super) fn threads(&self) -> anyhow::Result<Vec<(String, String)>> {
        let output = self.output(&["threads", "list", "--json"])?;
        let list: serde_json::Value =
            serde_json::from_slice(&output.stdout).context("the list of threads is no JSON")?;
        let rows = list["threads"].as_array().into_iter().flatten();
        let text = |row: &serde_json::Value, name: &str| row[name].as_str().map(str::to_owned);
        Ok(rows.filter_map(|row| Some((text(row, "thread")?, text(row, "state")?))).collect())
    }

    fn serve(&self) -> anyhow::Result<Served> {
        let folder = text(&self.folder);
        let home = text(&self.home);
        let words = ["view", "--approve", "--project", &folder, "--user-space", &home];
        let mut command = process::start(&self.folder, self.rye.program(), words.into_iter());
        command.stdout(Stdio::piped());
        Served::start(command)
    }

    fn write(&self, root: &Path, port: &str) -> anyhow::Result<()> {
        let failed = || format!("`{}` cannot be written", self.folder.display());
        files::copy_folder(&root.join(SOURCES).join("project"), &self.folder)
            .with_context(failed)?;
        fs::create_dir_all(&self.home).with_context(failed)?;
        self.put_provider("scripted", &provider(port))?;
        for (place, attack) in attacks().iter().enumerate() {
            files::write(&self.folder.join(format!("hostile/{place}.txt")), attack)?;
        }
        Ok(())
    }

    /// Runs the program here. It has to end with the exit code.
    pub(super) fn rye(&self, arguments: &[&str], exit: i32) -> anyhow::Result<()> {
        let output = self.output(arguments)?;
        if output.status.code() == Some(exit) {
            return Ok(());
        }
        let told = String::from_utf8_lossy(&output.stderr);
        Err(anyhow!("`rye {}` ended with {}: {told}", arguments.join(" "), output.status))
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let folder = text(&self.folder);
        let home = text(&self.home);
        let place = ["--project", &folder, "--user-space", &home];
        self.rye.call(&self.folder, &[arguments, &place[..]].concat())
    }

    fn export(&self, name: &str, pages: &Path) -> anyhow::Result<()> {
        let page = text(pages.join(format!("{name}.html")));
        self.rye(&["threads", "export", "--last", "--format", "html", "--output", &page], 0)
    }
}

/// Starts a scripted model, which prints its port.
pub(super) fn serve_model(root: &Path, line: &str) -> anyhow::Result<Served> {
    let mut command = process::command(root, line);
    command.stdout(Stdio::piped());
    Served::start(command)
}

/// Texts that would run, hide or slow something if a page took them for more than texts.
fn attacks() -> [String; 5] {
    let scripts =
        "</script><script>window.hacked=1</script><img src=x onerror=\"window.hacked=2\">";
    let pictures = "<svg onload=\"window.hacked=3\"><animate onbegin=\"window.hacked=4\"></svg></template></title>";
    let hidden = "\u{202e}turned\u{202c} \u{1b}[31mred\u{1b}[0m \u{200b}none";
    let dense = "a\u{202e}\u{200b}".repeat(9_000);
    [scripts.to_owned(), pictures.to_owned(), hidden.to_owned(), "x".repeat(300_000), dense]
}

fn provider(port: &str) -> String {
    format!(
        "protocol: openai_chat\nbase_url: http://127.0.0.1:{port}\ntiers: {{ general: scripted-1, fast: scripted-1 }}\nstream: \
         false\nmodels:\n  scripted-1: {{ context_window: 1000000, max_output: 4000, prices: {{ input: \"3\", output: \"15\" }} }}\n"
    )
}
