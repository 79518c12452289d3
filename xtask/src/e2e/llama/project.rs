//! A project with its own operator, in which the rows run.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Output,
};

use anyhow::{Context as _, anyhow};
use serde_json::Value;

use super::row::{Protocol, Task};
use crate::{
    files::{self, text},
    process::Rye,
};

/// The largest number of tokens in an answer, which the random model always reaches.
pub(super) const MAX_OUTPUT: u64 = 64;

/// The prices in nanodollars of a token: input, output, cached input.
pub(super) const PRICES: [u64; 3] = [1_000, 2_000, 100];

/// The project, and the program that runs in it.
pub(super) struct Project<'a> {
    rye: &'a Rye<'a>,
    folder: PathBuf,
    operator: String,
}

impl<'a> Project<'a> {
    /// Writes and signs the project anew. `servers` are pairs of a name and an address.
    pub(super) fn create(
        rye: &'a Rye<'a>,
        folder: &Path,
        servers: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        files::remove_folder(folder)?;
        write(folder, servers)
            .with_context(|| format!("`{}` cannot be written", folder.display()))?;
        let operator = text(folder.join("operator"));
        let project = Self { rye, folder: folder.to_owned(), operator };
        project.output(&["keys", "generate"])?;
        project.output(&["sign", ".ai"])?;
        Ok(project)
    }

    /// Runs the program in the project, with an empty environment.
    pub(super) fn call(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let place = text(&self.folder);
        self.rye.call(&self.folder, &[arguments, &self.spaces(&place)].concat())
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let place = text(&self.folder);
        self.rye.output_in(&self.folder, &[arguments, &self.spaces(&place)].concat())
    }

    fn spaces<'p>(&'p self, place: &'p str) -> [&'p str; 4] {
        ["--project", place, "--user-space", &self.operator]
    }

    /// Runs the program with `--json` and returns its exit code and the first thread of its output.
    pub(super) fn thread(&self, arguments: &[&str]) -> anyhow::Result<(i32, Value)> {
        // For a run, only the result is printed.
        let is_run = matches!(arguments.first(), Some(&("run" | "resume")));
        let form: &[&str] = if is_run { &["--json", "--quiet"] } else { &["--json"] };
        let output = self.call(&[arguments, form].concat())?;
        let exit = output.status.code().context("the program was killed")?;
        let told = serde_json::from_slice(&output.stdout);
        told.map(|mut told: Value| (exit, told["threads"][0].take())).map_err(|error| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            anyhow!("`rye {}` printed no JSON ({error}): {stderr}", arguments.join(" "))
        })
    }

    /// Reads a file of the project, if it exists.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Removes a file of the project, if it exists.
    pub(super) fn remove(&self, name: &str) {
        let _there_was_none = fs::remove_file(self.folder.join(name));
    }
}

fn write(folder: &Path, servers: &[(&str, String)]) -> io::Result<()> {
    for name in ["operator", "notes", ".ai/directives/llama", ".ai/config/agent", PROVIDERS] {
        fs::create_dir_all(folder.join(name))?;
    }
    fs::write(folder.join("notes/one.md"), "Bread for the week\n")?;
    fs::write(folder.join("notes/two.md"), "Lisbon, three days\n")?;
    fs::write(folder.join(".ai/config/agent/approval.yaml"), APPROVAL)?;
    for task in Task::ALL {
        let path = format!(".ai/directives/llama/{}.md", task.name());
        fs::write(folder.join(path), directive(task))?;
    }
    for (server, address) in servers {
        for protocol in Protocol::ALL {
            for is_streamed in [true, false] {
                let name = protocol.provider(server, is_streamed);
                let config = provider(protocol, address, is_streamed);
                fs::write(folder.join(PROVIDERS).join(format!("{name}.yaml")), config)?;
            }
        }
    }
    Ok(())
}

const PROVIDERS: &str = ".ai/tools/rye/agent/providers";

const APPROVAL: &str = "ask: [rye.execute.tool.rye.file-system.write]\n";

fn provider(protocol: Protocol, address: &str, is_streamed: bool) -> String {
    let [input, output, cached] =
        PRICES.map(|nanos| format!("\"{}.{:03}\"", nanos / 1_000, nanos % 1_000));
    // The server supports both names of the member, so both are used.
    let field = match (protocol, is_streamed) {
        (Protocol::Chat, false) => "max_tokens_field: max_tokens\n",
        _ => "",
    };
    format!(
        "protocol: {}\nbase_url: {address}\nstream: {is_streamed}\n{field}models:\n  tiny:\n    context_window: {}\n    \
         max_output: {MAX_OUTPUT}\n    prices: {{ input: {input}, output: {output}, cache_read: {cached} }}\n",
        protocol.config_word(),
        super::model::CONTEXT,
    )
}

fn directive(task: Task) -> String {
    let name = task.name();
    let tool = task.tool();
    let outputs = task.outputs();
    format!(
        "# {name}\n\nDoes what the model says.\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata>\n    \
         <description>Does what the model says.</description>\n    <category>llama</category>\n    \
         <author>xtask</author>\n    <limits turns=\"4\" tokens=\"60000\" spend=\"0.50\" />\n    <permissions>\n      \
         <execute><tool>{tool}</tool></execute>\n    </permissions>\n  </metadata>\n{outputs}</directive>\n```\n\n<process>\n  \
         <step name=\"work\">\n    <description>Look at notes/one.md and notes/two.md.</description>\n  \
         </step>\n</process>\n"
    )
}
