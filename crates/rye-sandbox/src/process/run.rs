//! Start of a program, with its plan and its pipes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rye_types::SandboxMode;
use tokio::process::Command;
use tokio::time::Instant;

use super::capture::Capture;
use super::host::{ENVIRONMENT, Processes};
use super::job::{Exit, Job, Script, StartError, io_error};
use super::pipes::{StandardStream, drain, feed};
use super::termination::{Guard, wait_for_end};
use crate::call_folder::{CallFolder, Notes, START};
use crate::other_names::MountTable;
use crate::{Account, Cover, GRACE, LAUNCH, Launcher, Layout, Plan, SUPERVISE};

/// The number of bytes that are kept of each end of standard output, and of standard error.
const OUTPUT: usize = 64 * 1024;
const ERROR: usize = 16 * 1024;

/// The number of bytes that are read of the launcher's message if the program was not started.
pub(super) const SAID: usize = 1024;

/// The number of attempts to start a program, if the project changes during the start.
const STARTS: usize = 10;

/// The size of the largest file that a program may write, in bytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// A call that waits for its result. The supervisor knows it by a note.
struct Awaited<'a>(&'a Notes);

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        // If the note stays, the folder of the call is removed soon, which has the same meaning.
        let _gone = self.0.remove(Notes::AWAITED);
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
        let folder = self.call_folder()?;
        let plan = self.plan_of(mode, &folder, &job)?;
        let mut words = job.words;
        if let Some(script) = &job.script {
            words.push(write_script(script, &folder)?.into());
            words.extend(script.arguments.iter().cloned());
        }
        let input = self.input(&plan, job.input)?;
        let deadline = Instant::now() + job.limit;
        let mut starts = 0;
        loop {
            starts += 1;
            let left = deadline.saturating_duration_since(Instant::now());
            match self.start((&plan, &folder), &words, input.clone(), left, observer).await {
                Err(StartError::Sandbox { is_raced: true, .. }) if starts < STARTS => {}
                done => return done,
            }
        }
    }

    /// Starts the program once and waits for its end.
    async fn start(
        &self,
        (plan, folder): (&Plan, &CallFolder),
        words: &[OsString],
        input: Option<Vec<u8>>,
        limit: Duration,
        observer: &(dyn Fn(StandardStream, &str) + Send + Sync),
    ) -> Result<Exit, StartError> {
        let mut command = self.command(plan, words)?;
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let notes = folder.notes();
        notes
            .write(Notes::AWAITED, b"", NOTE)
            .map_err(io_error("note that the call is awaited"))?;
        // The note may be left from an earlier start that failed.
        notes.remove(Notes::ENDED).map_err(io_error("remove a note of an earlier start"))?;
        let mut child = command.spawn().map_err(io_error("start the program"))?;
        let mut guard = Guard::over(&child, self.launcher().is_some());
        // Dropped before the guard, so that the supervisor sees that its account is not read when it is told
        // to end.
        let _awaited = Awaited(notes);
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
        let (is_late, status) = wait_for_end(&mut child, &guard, talk, limit, notes).await?;
        guard.is_done = true;
        let account = self.account(plan, notes, &error)?;
        let (bounds, cover) = (self.rules.bounds, Cover::of(plan));
        Ok(Exit { code: code(status), is_late, output, error, account, bounds, cover })
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
    fn account(&self, plan: &Plan, notes: &Notes, error: &Capture) -> Result<Account, StartError> {
        if self.launcher().is_none() {
            return Ok(Account::default());
        }
        match Account::read(notes) {
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
    pub(super) fn mode(&self) -> Result<SandboxMode, StartError> {
        let report = self.sandbox()?;
        if report.may_start() {
            return Ok(report.mode());
        }
        let reasons: Vec<String> =
            report.passed_over().map(|(mode, reason)| format!("{mode}: {reason}")).collect();
        Err(StartError::NoSandbox { reasons: reasons.join("; ") })
    }

    pub(super) fn launcher(&self) -> Option<&Launcher> {
        self.host.launcher.as_ref().filter(|_| cfg!(target_os = "linux"))
    }

    /// Makes the folder of a call.
    pub(super) fn call_folder(&self) -> Result<CallFolder, StartError> {
        let made = self.calls().and_then(CallFolder::new_in);
        made.map_err(io_error("make a folder for the call"))
    }

    pub(super) fn plan_of(
        &self,
        mode: SandboxMode,
        folder: &CallFolder,
        job: &Job,
    ) -> Result<Plan, StartError> {
        let cwd = if job.is_apart { folder.path().join(START) } else { self.folder(&job.cwd)? };
        let landlock = self.enforcement()?.landlock;
        let plan = self.plan(mode, folder, job, cwd);
        let plan = plan.map_err(io_error("read the list of mounts"))?;
        let mut hidden = plan.hidden;
        if mode.is_whole() && landlock == 0 {
            hidden.extend(pipes_in(Path::new(RUNNING)));
        }
        Ok(Plan { landlock: Some(landlock), hidden, ..plan })
    }

    pub(super) fn plan(
        &self,
        mode: SandboxMode,
        folder: &CallFolder,
        job: &Job,
        cwd: PathBuf,
    ) -> io::Result<Plan> {
        let mounts = MountTable::read()?;
        let limit = job.limit.saturating_add(GRACE).saturating_add(GRACE);
        let milliseconds = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        let is_outside = |path: &&PathBuf| !path.starts_with(self.project());
        Ok(Plan {
            mode,
            network: job.network,
            landlock: None,
            newest_landlock: self.host.landlock,
            project: self.project.clone(),
            environment: job.environment.clone(),
            cwd,
            scratch: folder.identity().clone(),
            homes: self.homes(),
            hidden: self.hidden_paths(mode, &mounts),
            kept: self.kept_paths(mode, &mounts),
            layout: Layout::default(),
            journal: Some(self.host.journal.clone()),
            tools_lock: self.tools_lock.get().cloned(),
            attempts: None,
            is_awaited: true,
            reads_input: job.input.is_some(),
            bubblewrap: self
                .host
                .bubblewrap
                .iter()
                .filter(is_outside)
                .find(|path| path.is_file())
                .cloned(),
            deadline_ms: milliseconds(limit),
            grace_ms: milliseconds(GRACE),
            bounds: self.rules.bounds,
            file_bytes: FILE_BYTES,
        })
    }

    /// Returns the working directory of a program. With all links followed, it must be in the project.
    fn folder(&self, cwd: &Path) -> Result<PathBuf, StartError> {
        let refused = |problem| StartError::Folder { path: cwd.display().to_string(), problem };
        let path = self.project().join(cwd);
        let path = path.canonicalize().map_err(|_| refused("it does not exist"))?;
        if !path.starts_with(self.project()) {
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
            all = vec![launcher.program().into(), LAUNCH.into(), SUPERVISE.into()];
        }
        all.extend_from_slice(words);
        let (program, arguments) = all.split_first().ok_or_else(|| StartError::Io {
            action: "start the program",
            source: io::Error::other("it has no name"),
        })?;
        let mut command = Command::new(program);
        if let Some(launcher) = self.launcher() {
            // The name that lists of processes show.
            command.arg0(launcher.path());
        }
        command.args(arguments).env_clear().process_group(0).current_dir(&plan.cwd);
        let own = &self.host.environment;
        command.envs(ENVIRONMENT.iter().filter_map(|name| Some((*name, own.get(*name)?))));
        command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, plan.temporary())));
        // The launcher runs with the operator's variables alone, and passes the variables of the tool to the
        // program.
        if self.launcher().is_none() {
            command.envs(&plan.environment);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// The mode of a note.
const NOTE: u32 = 0o600;

/// Writes the script to a file that only this user can read, in a folder that only this user can enter. In a
/// sandbox, the program cannot change it.
fn write_script(script: &Script, folder: &CallFolder) -> Result<PathBuf, StartError> {
    let name = format!("tool.{}", script.extension);
    let written = folder.notes().write(&name, script.text.as_bytes(), 0o400);
    written.map_err(io_error("write the script"))?;
    Ok(folder.path().join(name))
}

/// The folder of the machine in which services keep named pipes.
const RUNNING: &str = "/run";

/// The largest number of entries that are looked at for pipes, and the largest depth.
const ENTRIES: usize = 4_096;
const DEPTH: usize = 6;

/// Returns the named pipes in a folder, as far as they can be seen. Without Landlock, programs could write into
/// them, because a read-only mount does not prevent that.
fn pipes_in(folder: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;

    let mut pipes = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut left = ENTRIES;
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            left = left.saturating_sub(1);
            match entry.file_type() {
                _ if left == 0 => return pipes,
                Ok(kind) if kind.is_fifo() => pipes.push(entry.path()),
                Ok(kind) if kind.is_dir() && depth < DEPTH => {
                    folders.push((entry.path(), depth + 1));
                }
                _ => {}
            }
        }
    }
    pipes
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
