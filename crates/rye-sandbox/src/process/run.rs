//! Start of a program, with its plan and its pipes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::Instant;

use super::capture::Capture;
use super::host::{ENVIRONMENT, Processes};
use super::job::{Exit, Job, Script, StartError, io_error};
use super::pipes::{StandardStream, drain, feed};
use super::termination::{Guard, wait_for_end};
use crate::{Account, GRACE, LAUNCH, Layout, Mode, Plan, SUPERVISE, TemporaryFolder};

/// The number of bytes that are kept of each end of standard output, and of standard error.
const OUTPUT: usize = 64 * 1024;
const ERROR: usize = 16 * 1024;

/// The number of bytes that are read of the launcher's message if the program was not started.
pub(super) const SAID: usize = 1024;

/// The number of attempts to start a program, if the project changes during the start.
const STARTS: usize = 10;

/// The size of the largest file that a program may write, in bytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// A call that waits for its result. The supervisor knows it by a file.
struct Awaited {
    note: PathBuf,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // If the file stays, the folder of the call is removed soon, which has the same meaning.
        let _gone = std::fs::remove_file(&self.note);
    }
}

impl Processes {
    /// Runs a program to its end, and calls `observer` with each piece of its output.
    ///
    /// If the future is dropped, the program ends, with everything that it started.
    ///
    /// # Errors
    ///
    /// [`StartError`] if the program was not started.
    pub async fn run(
        &self,
        job: Job,
        observer: &(dyn Fn(StandardStream, &str) + Send + Sync),
    ) -> Result<Exit, StartError> {
        let mode = self.mode()?;
        self.prepare_project(mode)?;
        let scratch = self.scratch()?;
        let plan = self.plan_of(mode, &scratch, &job)?;
        let mut words = job.words;
        if let Some(script) = &job.script {
            words.push(write_script(script, &plan.scratch)?.into());
        }
        let input = self.input(&plan, job.input)?;
        let deadline = Instant::now() + job.limit;
        let mut starts = 0;
        loop {
            starts += 1;
            let left = deadline.saturating_duration_since(Instant::now());
            match self.start(&plan, &words, input.clone(), left, observer).await {
                Err(StartError::Sandbox { is_raced: true, .. }) if starts < STARTS => {}
                done => return done,
            }
        }
    }

    /// Starts the program once and waits for its end.
    async fn start(
        &self,
        plan: &Plan,
        words: &[OsString],
        input: Option<Vec<u8>>,
        limit: Duration,
        observer: &(dyn Fn(StandardStream, &str) + Send + Sync),
    ) -> Result<Exit, StartError> {
        let mut command = self.command(plan, words)?;
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let note = plan.awaited_path();
        std::fs::write(&note, "").map_err(io_error("note that the call is awaited"))?;
        // The file may be left from an earlier start that failed.
        let _absent = std::fs::remove_file(plan.ended_path());
        let mut child = command.spawn().map_err(io_error("start the program"))?;
        let mut guard = Guard::over(&child, self.launcher().is_some());
        // Dropped before the guard, so that the supervisor sees that its account is not read when it is told
        // to end.
        let _awaited = Awaited { note };
        let mut output = Capture::new(OUTPUT);
        let mut error = Capture::new(ERROR);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdin, stdout, stderr) = pipes;
        let talk = async {
            tokio::join!(
                feed(stdin, input.unwrap_or_default()),
                drain(stdout, &mut output, StandardStream::Output, observer),
                drain(stderr, &mut error, StandardStream::Error, observer),
            )
        };
        let (is_late, status) =
            wait_for_end(&mut child, &guard, talk, limit, &plan.ended_path()).await?;
        guard.is_done = true;
        let account = self.account(plan, &error)?;
        let bounds = self.rules.bounds;
        Ok(Exit { code: code(status), is_late, output, error, account, bounds })
    }

    /// Returns the whole input of the started process: the plan for the launcher, then the input of the
    /// program.
    pub(super) fn input(
        &self,
        plan: &Plan,
        input: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, StartError> {
        if self.launcher().is_none() {
            return Ok(input);
        }
        let frame = plan.frame().map_err(io_error("describe the program"))?;
        Ok(Some([frame, input.unwrap_or_default()].concat()))
    }

    /// Reads the supervisor's account. An error means that the sandbox failed, so that the program was not
    /// started.
    fn account(&self, plan: &Plan, error: &Capture) -> Result<Account, StartError> {
        if self.launcher().is_none() {
            return Ok(Account::default());
        }
        match Account::read(&plan.scratch) {
            Some(account) if account.is_started => Ok(account),
            Some(account) => {
                let problem = last_line(&error.end(SAID)).to_owned();
                let is_raced = account.is_raced && may_be_race(&problem);
                let account = Box::new(account);
                Err(StartError::Sandbox { mode: plan.mode, problem, is_raced, account })
            }
            None => Ok(Account {
                unchecked: Some("the launcher was killed before it had looked at it".to_owned()),
                ..Account::default()
            }),
        }
    }

    /// Returns the sandbox for programs, or the reason why none may start.
    pub(super) fn mode(&self) -> Result<Mode, StartError> {
        let report = self.sandbox()?;
        if report.may_start() {
            return Ok(report.mode());
        }
        let reasons: Vec<String> =
            report.passed_over().map(|(mode, reason)| format!("{mode}: {reason}")).collect();
        Err(StartError::NoSandbox { reasons: reasons.join("; ") })
    }

    pub(super) fn launcher(&self) -> Option<&Path> {
        self.host.launcher.as_deref().filter(|_| cfg!(target_os = "linux"))
    }

    /// Makes a new folder that only this user can enter.
    pub(super) fn scratch(&self) -> Result<TemporaryFolder, StartError> {
        let failed = || io_error("make a folder for the call");
        let made = TemporaryFolder::new_in(&self.host.temporary).map_err(failed())?;
        for name in [OWN, "shm", START] {
            let made = fs::DirBuilder::new().mode(0o700).create(made.path().join(name));
            made.map_err(failed())?;
        }
        Ok(made)
    }

    pub(super) fn plan_of(
        &self,
        mode: Mode,
        scratch: &TemporaryFolder,
        job: &Job,
    ) -> Result<Plan, StartError> {
        let scratch =
            scratch.path().canonicalize().map_err(io_error("find the folder of the call"))?;
        let cwd = if job.is_apart { scratch.join(START) } else { self.folder(&job.cwd)? };
        Ok(self.plan(mode, &scratch, job, cwd))
    }

    pub(super) fn plan(&self, mode: Mode, scratch: &Path, job: &Job, cwd: PathBuf) -> Plan {
        let limit = job.limit.saturating_add(GRACE).saturating_add(GRACE);
        let milliseconds = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        Plan {
            mode,
            network: job.network,
            project: self.project.clone(),
            environment: job.environment.clone(),
            cwd,
            temporary: scratch.join(OWN),
            scratch: scratch.to_owned(),
            homes: self.homes(),
            hidden: self.hidden_paths(mode),
            layout: Layout::default(),
            journal: Some(self.host.journal.clone()),
            tools_lock: self.tools_lock.get().cloned(),
            is_awaited: true,
            reads_input: job.input.is_some(),
            bubblewrap: self.host.bubblewrap.iter().find(|path| path.is_file()).cloned(),
            deadline_ms: milliseconds(limit),
            grace_ms: milliseconds(GRACE),
            bounds: self.rules.bounds,
            file_bytes: FILE_BYTES,
        }
    }

    /// Returns the working directory of a program. With all links followed, it must be in the project.
    fn folder(&self, cwd: &Path) -> Result<PathBuf, StartError> {
        let refused = |problem| StartError::Folder { path: cwd.display().to_string(), problem };
        let path = self.project.join(cwd);
        let path = path.canonicalize().map_err(|_| refused("it does not exist"))?;
        if !path.starts_with(&self.project) {
            return Err(refused("it is not in the project"));
        }
        if path.is_dir() { Ok(path) } else { Err(refused("it is a file")) }
    }

    /// Returns the command that starts the launcher with the program, or the program itself if there is no
    /// launcher.
    #[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
    pub(super) fn command(&self, plan: &Plan, words: &[OsString]) -> Result<Command, StartError> {
        let mut all = Vec::new();
        if let Some(launcher) = self.launcher() {
            all = vec![launcher.into(), LAUNCH.into(), SUPERVISE.into()];
        }
        all.extend_from_slice(words);
        let (program, arguments) = all.split_first().ok_or_else(|| StartError::Io {
            action: "start the program",
            source: io::Error::other("it has no name"),
        })?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().process_group(0).current_dir(&plan.cwd);
        let own = &self.host.environment;
        command.envs(ENVIRONMENT.iter().filter_map(|name| Some((*name, own.get(*name)?))));
        command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, &plan.temporary)));
        // The launcher runs with the operator's variables alone, and passes the variables of the tool to the
        // program.
        if self.launcher().is_none() {
            command.envs(&plan.environment);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// The part of a call's folder that is the program's own. It also stands in the place of `/tmp`, so that it holds the mount
/// points of everything below that.
const OWN: &str = "tmp";

/// The part of a call's folder that stays empty.
const START: &str = "start";

/// Writes the script to a file that only this user can read, in a folder that only this user can enter. In a
/// sandbox, the program cannot change it.
fn write_script(script: &Script, scratch: &Path) -> Result<PathBuf, StartError> {
    use std::io::Write;

    let path = scratch.join("tool").with_extension(&script.extension);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o400).open(&path);
    let written = file.and_then(|mut file| file.write_all(script.text.as_bytes()));
    written.map_err(io_error("write the script"))?;
    Ok(path)
}

/// Returns `true` if a change of the project during the start may explain the problem. bubblewrap mounts
/// paths, and its message only says that one is missing or has changed. Its other problems are permanent.
fn may_be_race(problem: &str) -> bool {
    const GONE: [&str; 3] =
        ["No such file or directory", "Not a directory", "Read-only file system"];
    !problem.starts_with("bwrap: ") || GONE.iter().any(|words| problem.ends_with(words))
}

/// Returns the last line of the launcher's message, which is that of the last attempt.
pub(super) fn last_line(said: &str) -> &str {
    let line = said.trim().lines().last().unwrap_or_default();
    line.strip_prefix("rye: ").unwrap_or(line)
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;

    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bubblewrap_that_always_fails_is_not_started_again() {
        for (problem, expected) in [
            ("bwrap: Can't find source path /p/.git: No such file or directory", true),
            ("bwrap: Can't mkdir /p/w/.git: Read-only file system", true),
            ("cannot guard `/p/.git`: it was moved", true),
            ("bwrap: no", false),
            ("bwrap: Creating new namespace failed: Resource temporarily unavailable", false),
            ("bwrap: setting up uid map: Permission denied", false),
        ] {
            assert_eq!(may_be_race(problem), expected, "{problem}");
        }
    }

    #[test]
    fn what_a_launcher_says_last_is_told() {
        for (said, expected) in [
            ("", ""),
            ("rye: cannot read the plan: end\n", "cannot read the plan: end"),
            ("bwrap: first\nbwrap: second\n\n", "bwrap: second"),
        ] {
            assert_eq!(last_line(said), expected);
        }
    }
}
