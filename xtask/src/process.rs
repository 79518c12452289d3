//! Starting other programs in a given folder.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, bail};

/// Returns a command that runs `line`, split at white space, in `root`.
pub(crate) fn command(root: &Path, line: &str) -> Command {
    let mut words = line.split_whitespace();
    start(root, Path::new(words.next().expect("because no caller passes an empty line")), words)
}

/// Runs `line` with its output on the terminal. The error of a failure names the line.
pub(crate) fn run(root: &Path, environment: &[(&str, &str)], line: &str) -> anyhow::Result<()> {
    let status = command(root, line).envs(environment.iter().copied()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(anyhow!("{}", failure(status, environment, line))),
        Err(error) => Err(anyhow!("`{line}` cannot be started: {error}")),
    }
}

/// Returns `true` if `line` runs and succeeds. Its output is discarded.
pub(crate) fn succeeds(root: &Path, line: &str) -> bool {
    command(root, line).output().is_ok_and(|output| output.status.success())
}

/// Returns the output of `line`. The error of a failure names the line.
pub(crate) fn output(root: &Path, line: &str) -> anyhow::Result<String> {
    let output =
        command(root, line).output().with_context(|| format!("`{line}` cannot be started"))?;
    match output.status.success() {
        true => {
            String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no UTF-8"))
        }
        false => Err(anyhow!("`{line}` failed with {}", output.status)),
    }
}

/// Returns the output of `line`, run with further variables and with its standard error on the terminal.
pub(crate) fn output_with(
    root: &Path,
    environment: &[(&str, &str)],
    line: &str,
) -> anyhow::Result<String> {
    let mut command = command(root, line);
    let output = command.envs(environment.iter().copied()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("`{line}` cannot be started"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    Err(anyhow!("{printed}{}", failure(output.status, environment, line)))
}

fn failure(status: ExitStatus, environment: &[(&str, &str)], line: &str) -> String {
    let shown: String =
        environment.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    format!("failed with {status}; to see it alone, run\n\n    {shown}{line}\n")
}

/// Measures a command from its start to its end. It has to succeed.
pub(crate) fn time(command: &mut Command) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let output = command.output();
    let took = start.elapsed();
    let output = output.with_context(|| format!("{command:?} cannot be started"))?;
    if output.status.success() {
        return Ok(took);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(anyhow!("{command:?} failed with {}: {stderr}", output.status))
}

/// Returns the folder of what cargo builds.
pub(crate) fn target_folder(root: &Path) -> anyhow::Result<PathBuf> {
    Ok(crate::workspace::metadata(root)?.target_directory)
}

/// A program that runs beside the task. Dropping this value ends it.
pub(crate) struct Served {
    child: Child,
    /// The first line that it printed to a pipe.
    pub(crate) first: String,
}

impl Served {
    /// Starts a program. If its command has a pipe for the output, waits for the first line there.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        let begun = command.spawn();
        let mut child = begun.with_context(|| format!("{command:?} cannot be started"))?;
        let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>);
        let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>);
        let mut served = Self { child, first: String::new() };
        if let Some(pipe) = stdout.or(stderr) {
            let mut line = String::new();
            drop(BufReader::new(pipe).read_line(&mut line));
            line.trim().clone_into(&mut served.first);
            if served.first.is_empty() {
                bail!("{command:?} prints nothing");
            }
        }
        Ok(served)
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The status with which it ended, if it has ended.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may already have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The built `rye` program.
pub(crate) struct Rye<'a> {
    root: &'a Path,
    program: PathBuf,
}

impl<'a> Rye<'a> {
    /// Builds the program in the debug profile.
    pub(crate) fn build(root: &'a Path) -> anyhow::Result<Self> {
        run(root, &[], "cargo build --quiet --package rye-cli --bin rye")?;
        let name = format!("rye{}", std::env::consts::EXE_SUFFIX);
        Ok(Self { root, program: target_folder(root)?.join("debug").join(name) })
    }

    /// Runs `rye ARGUMENTS` in `folder` with an empty environment, and returns its output even if it fails.
    pub(crate) fn call(&self, folder: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
        start(folder, &self.program, arguments.iter().copied())
            .env_clear()
            .envs([("COLUMNS", "100"), ("NO_COLOR", "1")])
            .output()
            .with_context(|| format!("`{}` cannot be started", self.program.display()))
    }

    /// The path of the program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs `rye ARGUMENTS` with an empty environment, and returns what it prints or an error if it fails.
    pub(crate) fn output(&self, arguments: &[impl AsRef<str>]) -> anyhow::Result<String> {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        self.output_in(self.root, &arguments)
    }

    /// Does the same in `folder`.
    pub(crate) fn output_in(&self, folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.call(folder, arguments)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`rye {}` failed with {}:\n{stderr}", arguments.join(" "), output.status);
        }
        String::from_utf8(output.stdout)
            .with_context(|| format!("`rye {}` printed no UTF-8", arguments.join(" ")))
    }
}

/// Returns a command that runs `program` in `root`.
#[expect(
    clippy::disallowed_methods,
    reason = "the rule is for the crates; this is the one place of xtask"
)]
pub(crate) fn start<'w>(
    root: &Path,
    program: &Path,
    words: impl Iterator<Item = &'w str>,
) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root).args(words);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_cargo_run(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns `true` if `cargo run` sets this variable for xtask.
///
/// A change of such a variable makes build scripts run again, with all that depends on them. Builds from here
/// and from the shell would then invalidate each other.
fn is_of_cargo_run(name: &OsStr) -> bool {
    let prefixes = ["CARGO_MANIFEST_", "CARGO_PKG_"];
    name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, path::Path};

    use super::command;

    #[test]
    fn what_cargo_says_of_this_program_is_not_said_to_others() {
        let command = command(Path::new("."), "cargo build");
        let removed: Vec<&OsStr> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            assert!(removed.contains(&OsStr::new(name)), "{name}: {removed:?}");
        }
        assert!(!removed.contains(&OsStr::new("CARGO_HOME")), "{removed:?}");
        assert!(!removed.contains(&OsStr::new("CARGO")), "{removed:?}");
    }
}
