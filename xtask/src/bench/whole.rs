//! `rye run` as a whole process: the time of its start and of each turn, with a server that answers at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Spread, spread};
use crate::files;
use crate::process::{self, Served};
use anyhow::Context as _;

/// The folder of the project whose runs are measured.
pub(super) const PROJECT: &str = "target/xtask/bench-run";

/// The name and the arguments of the tool that the model calls, which reads a short file.
pub(super) const TOOL: [&str; 2] = ["rye_file_system_read", r#"{"path":"notes/one.md"}"#];

/// The number of runs for each server, in turns.
const ROUNDS: usize = 21;

/// Starts a server whose model calls a tool for `turns` turns: the tool `add`, unless another one is given.
pub(super) fn serve(
    root: &Path,
    programs: &Path,
    turns: u64,
    tool: &[&str],
) -> anyhow::Result<Served> {
    let turns = turns.to_string();
    let words = std::iter::once(turns.as_str()).chain(tool.iter().copied());
    let mut command = process::start(root, &programs.join("rye-bench-server"), words);
    // The server ends at the end of its input.
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Served::start(command)
}

/// A project with its own operator, whose providers are local servers.
pub(super) struct Project<'a> {
    root: &'a Path,
    rye: PathBuf,
    folder: PathBuf,
}

impl<'a> Project<'a> {
    /// Writes and signs the project. `servers` are pairs of a name and an address.
    pub(super) fn create(
        root: &'a Path,
        programs: &Path,
        folder: &str,
        servers: &[(String, &str)],
    ) -> anyhow::Result<Self> {
        let folder = root.join(folder);
        files::remove_folder(&folder)?;
        write(&folder, servers)
            .with_context(|| format!("`{}` cannot be written", folder.display()))?;
        let rye = programs.join(format!("rye{}", std::env::consts::EXE_SUFFIX));
        let project = Self { root, rye, folder };
        let items = project.folder.join(".ai").display().to_string();
        project.took(&["keys", "generate"])?;
        project.took(&["sign", &items])?;
        Ok(project)
    }

    /// Measures runs with each server, from the start of the process to its end.
    pub(super) fn measure(&self, servers: &[String]) -> anyhow::Result<Vec<Spread>> {
        let mut times = vec![Vec::new(); servers.len()];
        for _ in 0..ROUNDS {
            for (server, times) in servers.iter().zip(&mut times) {
                times.push(self.took(&["run", "bench/read", "--quiet", "--provider", server])?);
            }
        }
        Ok(times.into_iter().map(spread).collect())
    }

    /// A call of the program in the project.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let place = self.folder.display().to_string();
        let operator = self.folder.join("operator").display().to_string();
        let rest = ["--project", &place, "--user-space", &operator];
        let words = arguments.iter().chain(&rest).copied();
        let mut command = process::start(self.root, &self.rye, words);
        command.env_clear();
        command
    }

    /// Measures one call of the program, which has to succeed.
    pub(super) fn took(&self, arguments: &[&str]) -> anyhow::Result<Duration> {
        process::time(self.command(arguments).stdout(Stdio::null()))
    }
}

/// Writes the rows, and the times of the start and of a turn, calculated from the first and the last row.
pub(super) fn table(turns: &[u64], spreads: &[Spread]) -> String {
    let rows: String = turns
        .iter()
        .zip(spreads)
        .map(|(turns, Spread { median, fastest })| {
            format!("rye run, {turns:>3} tool turns{median:>10.2} ms{fastest:>10.2} ms\n")
        })
        .collect();
    let ends = (turns.first(), turns.last(), spreads.first(), spreads.last());
    let (Some(few), Some(many), Some(short), Some(long)) = ends else { return rows };
    let line = |of: fn(&Spread) -> f64| {
        let each = (of(long) - of(short)) / (many - few).max(1) as f64;
        (of(short) - each * (few + 1) as f64, each)
    };
    let ((start, each), (best, least)) =
        (line(|spread| spread.median), line(|spread| spread.fastest));
    format!(
        "{:<23}{:>13}{:>13}\n{rows}start{start:>28.2} ms{best:>10.2} ms\neach turn{each:>24.2} ms{least:>10.2} ms\n",
        "whole process", "median", "fastest"
    )
}

fn write(folder: &Path, servers: &[(String, &str)]) -> io::Result<()> {
    for name in ["operator", "notes", ".ai/directives/bench", PROVIDERS] {
        fs::create_dir_all(folder.join(name))?;
    }
    fs::write(folder.join("notes/one.md"), "Bread for the week\n")?;
    fs::write(folder.join(".ai/directives/bench/read.md"), DIRECTIVE)?;
    for (name, address) in servers {
        let config = format!(
            "protocol: openai_chat\nbase_url: {address}/v1\nmodels:\n  bench:\n    context_window: 1000000\n    \
             max_output: 4096\n    prices: {{ input: \"0.1\", output: \"0.2\" }}\n"
        );
        fs::write(folder.join(PROVIDERS).join(format!("{name}.yaml")), config)?;
    }
    Ok(())
}

const PROVIDERS: &str = ".ai/tools/rye/agent/providers";

const DIRECTIVE: &str = r#"# read

Reads a note again and again.

```xml
<directive name="read" version="1.0.0">
  <metadata>
    <description>Reads a note again and again.</description>
    <category>bench</category>
    <author>xtask</author>
    <limits turns="10000" tokens="10000000000" spend="10000.00" />
    <permissions>
      <execute><tool>rye.file-system.read</tool></execute>
    </permissions>
  </metadata>
</directive>
```

<process>
  <step name="work">
    <description>Read notes/one.md.</description>
  </step>
</process>
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_what_no_turn_explains() {
        let row = |median, fastest| Spread { median, fastest };
        let table = table(&[1, 11], &[row(22.0, 12.0), row(42.0, 17.0)]);
        assert_eq!(
            table.lines().collect::<Vec<_>>(),
            [
                "whole process                 median      fastest",
                "rye run,   1 tool turns     22.00 ms     12.00 ms",
                "rye run,  11 tool turns     42.00 ms     17.00 ms",
                "start                       18.00 ms     11.00 ms",
                "each turn                    2.00 ms      0.50 ms",
            ]
        );
    }
}
