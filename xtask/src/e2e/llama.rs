//! `cargo xtask e2e llama`: runs whole threads against the server of llama.cpp, in the three protocols that
//! it supports.
//!
//! The first use builds the server from source, which needs the network and ten minutes of processor time.
//! The models are written by this task.

mod gguf;
mod model;
mod project;
mod row;
mod server;
mod table;

use std::{fs, path::Path};

use self::{
    model::Speech,
    project::Project,
    row::{Protocol, Row, Task},
    server::Server,
};
use crate::process::Rye;
use anyhow::{Context as _, anyhow};

const FOLDER: &str = "target/xtask/llama";

/// Runs every row, prints the results, and fails if a result is not as expected.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("`{FOLDER}` cannot be made"))?;
    let program = server::build(root, &folder)?;
    let rye = Rye::build(root)?;
    let servers = Servers::start(&program, &folder)?;
    let project = Project::create(&rye, &folder.join("project"), &servers.addresses())?;
    let judged: Vec<_> = rows().into_iter().map(|row| row.run(&project)).collect();
    print!("{}", table::of(&judged));
    let counted = servers.count()?;
    let told = judged.iter().filter(|judged| judged.task.is_scripted()).map(|judged| judged.usage);
    let told = told.fold([0; 2], |sum, usage| [sum[0] + usage[0], sum[1] + usage[1]]);
    println!(
        "tokens that were read and written: {counted:?} by the server, {told:?} by the transcripts"
    );
    let n_failed = judged.iter().filter(|judged| !judged.faults.is_empty()).count();
    match (n_failed, counted == told) {
        (0, true) => Ok(()),
        (0, false) => Err(anyhow!("the transcripts count other tokens than the server does")),
        (n_failed, _) => {
            Err(anyhow!("{n_failed} of {} runs are not as they must be", judged.len()))
        }
    }
}

/// Returns every task in every protocol, streamed and whole.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for protocol in Protocol::ALL {
        for is_streamed in [true, false] {
            rows.extend(Task::ALL.map(|task| Row { protocol, is_streamed, task }));
        }
    }
    rows
}

/// A server for each model. Dropping this value ends them all.
struct Servers {
    scripted: Server,
    noise: Server,
    wild: Server,
}

impl Servers {
    fn start(program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let [scripted, noise, wild] =
            ["scripted", "noise", "wild"].map(|name| folder.join(name).with_extension("gguf"));
        model::write_scripted(&scripted)
            .and_then(|()| model::write_noise(&noise, Speech::Letters))
            .and_then(|()| model::write_noise(&wild, Speech::Anything))
            .context("the models cannot be written")?;
        Ok(Self {
            scripted: Server::start(program, &scripted)?,
            noise: Server::start(program, &noise)?,
            wild: Server::start(program, &wild)?,
        })
    }

    fn addresses(&self) -> [(&'static str, String); 3] {
        [
            ("scripted", self.scripted.address()),
            ("noise", self.noise.address()),
            ("wild", self.wild.address()),
        ]
    }

    /// Returns the numbers of tokens that the scripted model has read, without cached ones, and written, as
    /// its server counts them.
    fn count(&self) -> anyhow::Result<[u64; 2]> {
        let metrics = self.scripted.get("/metrics")?;
        let value = |name: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.trim().parse().ok())
                .with_context(|| format!("the server does not tell its `{name}`"))
        };
        Ok([value("llamacpp:prompt_tokens_total")?, value("llamacpp:tokens_predicted_total")?])
    }
}
