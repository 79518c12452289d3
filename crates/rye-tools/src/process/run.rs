//! Starting a program, reading it, and ending it with everything that it started.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rye_thread::{OutputSink, OutputStream};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};

use super::capture::Captured;
use super::host::{ENVIRONMENT, Processes};
use super::job::{Ended, Job, Script, StartError};
use crate::sandbox::{
    Finding, GRACE, LAUNCH, Mode, PROBE, Plan, Policy, Report, SUPERVISE, VARIABLES,
};

/// How much of each end of standard output is kept, and how much of standard error.
const OUTPUT: usize = 64 * 1024;
const ERROR: usize = 16 * 1024;

/// The most processes and threads of one call.
const PROCESSES: u64 = 1024;

/// What of the project stays as it is: who is trusted, what was done, what was accepted, and what the next `git` outside would
/// run.
///
/// All of `.git` is, because many files in it say what `git` runs, and a name in it may be given to a new one.
const GUARDED: [&str; 4] = [".ai/config/keys", ".ai/rye.lock", ".ai/threads", ".git"];

/// The largest file that a program writes, in bytes.
const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;

impl Processes {
    /// Runs one program to its end, and tells of its output while it comes.
    ///
    /// When the future is dropped, the program and what it started are ended.
    pub(crate) async fn run(&self, job: Job, told: &dyn OutputSink) -> Result<Ended, StartError> {
        let mode = self.mode()?;
        self.refuse_links()?;
        let scratch = self.scratch()?;
        let plan = self.plan(mode, &scratch, &job)?;
        let mut words = job.words;
        if let Some(script) = &job.script {
            words.push(written(script, &plan.scratch)?.into());
        }
        let mut command = self.command(&plan, &words)?;
        command.stdin(if job.input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(io("start the program"))?;
        let mut guard = Guard::over(&child, self.launcher().is_some());
        let (mut output, mut error) = (Captured::new(OUTPUT), Captured::new(ERROR));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdin, stdout, stderr) = pipes;
        let talk = async {
            tokio::join!(
                feed(stdin, job.input.unwrap_or_default()),
                drain(stdout, &mut output, OutputStream::Output, told),
                drain(stderr, &mut error, OutputStream::Error, told),
            )
        };
        let (is_late, status) = conversation(&mut child, &guard, talk, job.limit).await?;
        guard.is_done = true;
        drop(scratch);
        Ok(Ended { code: code(status), is_late, output, error })
    }

    /// What programs are started in, or why none is.
    pub(super) fn mode(&self) -> Result<Mode, StartError> {
        let report = self.sandbox();
        if report.may_start() {
            return Ok(report.mode());
        }
        let reasons: Vec<String> =
            report.passed_over().map(|(mode, reason)| format!("{mode}: {reason}")).collect();
        Err(StartError::NoSandbox { reasons: reasons.join("; ") })
    }

    /// What is guarded is guarded where it is: a link would lead what is written to another place.
    pub(super) fn refuse_links(&self) -> Result<(), StartError> {
        let mut places = GUARDED.into_iter().chain([".ai/config/keys/signing"]);
        let linked = places.find_map(|path| self.link_in(path));
        linked.map_or(Ok(()), |path| {
            let path = path.display().to_string();
            Err(StartError::Folder { path, problem: "it is a link; put a folder in its place" })
        })
    }

    pub(super) fn launcher(&self) -> Option<&Path> {
        self.host.launcher.as_deref().filter(|_| cfg!(target_os = "linux"))
    }

    /// A new folder that only this user can enter.
    pub(super) fn scratch(&self) -> Result<TempDir, StartError> {
        let made = tempfile::Builder::new().prefix("rye-").tempdir_in(&self.host.temporary);
        let made = made.map_err(io("make a folder for the call"))?;
        fs::create_dir(made.path().join("tmp")).map_err(io("make a folder for the call"))?;
        Ok(made)
    }

    pub(super) fn plan(
        &self,
        mode: Mode,
        scratch: &TempDir,
        job: &Job,
    ) -> Result<Plan, StartError> {
        let scratch = scratch.path().canonicalize().map_err(io("find the folder of the call"))?;
        let in_project = |path: &str| {
            let path = self.project.join(path);
            fs::symlink_metadata(&path).is_ok_and(|it| !it.is_symlink()).then_some(path)
        };
        let limit = job.limit.saturating_add(GRACE).saturating_add(GRACE);
        let milliseconds = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        Ok(Plan {
            mode,
            network: job.network,
            project: self.project.clone(),
            environment: job.environment.clone(),
            cwd: self.folder(&job.cwd)?,
            temporary: scratch.join("tmp"),
            scratch,
            hidden: self.hidden(),
            pinned: [".ai", ".ai/config"].into_iter().filter_map(in_project).collect(),
            guarded: GUARDED.into_iter().filter_map(in_project).collect(),
            bubblewrap: self.host.bubblewrap.iter().find(|path| path.is_file()).cloned(),
            deadline_ms: milliseconds(limit),
            grace_ms: milliseconds(GRACE),
            processes: PROCESSES,
            file_bytes: FILE_BYTES,
        })
    }

    /// The folder that a program starts in, which must be one of the project once all links are followed.
    fn folder(&self, cwd: &Path) -> Result<PathBuf, StartError> {
        let refused = |problem| StartError::Folder { path: cwd.display().to_string(), problem };
        let path = self.project.join(cwd);
        let path = path.canonicalize().map_err(|_| refused("it does not exist"))?;
        if !path.starts_with(&self.project) {
            return Err(refused("it is not in the project"));
        }
        if path.is_dir() { Ok(path) } else { Err(refused("it is a file")) }
    }

    /// The launcher with the plan, or the program itself where there is none.
    #[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
    pub(super) fn command(&self, plan: &Plan, words: &[OsString]) -> Result<Command, StartError> {
        let mut all = Vec::new();
        if let Some(launcher) = self.launcher() {
            let plan = serde_json::to_string(plan).map_err(io::Error::other);
            let plan = plan.map_err(io("describe the program"))?;
            all = vec![launcher.into(), LAUNCH.into(), SUPERVISE.into(), OsString::from(plan)];
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
        // The launcher works by the operator's variables alone, and hands those of the tool on to the program.
        if self.launcher().is_none() {
            command.envs(&plan.environment);
        } else if !plan.environment.is_empty() {
            let variables = serde_json::to_string(&plan.environment).map_err(io::Error::other);
            command.env(VARIABLES, variables.map_err(io("describe the program"))?);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// What the rules say of what the machine can do.
    pub(super) fn find_out(&self) -> Report {
        let policy = self.rules.sandbox;
        if policy == Policy::Off {
            return Report::new(policy, Mode::None, Vec::new());
        }
        let (mode, passed_over) = self.host.found.get_or_init(|| self.try_all());
        Report::new(policy, *mode, passed_over.clone())
    }

    /// Tries each mode, strongest first.
    fn try_all(&self) -> (Mode, Vec<Finding>) {
        let mut passed_over = Vec::new();
        for mode in Mode::ALL.into_iter().filter(|mode| *mode != Mode::None) {
            match self.probe(mode) {
                Ok(()) => return (mode, passed_over),
                Err(reason) => passed_over.push(Finding { mode, reason }),
            }
        }
        (Mode::None, passed_over)
    }

    /// Starts a program in the mode that tries to get out, and says what is wrong with it.
    fn probe(&self, mode: Mode) -> Result<(), String> {
        let Some(launcher) = self.launcher() else {
            return Err(match cfg!(target_os = "linux") {
                true => "this program has no launcher for it".to_owned(),
                false => "there is none for this system".to_owned(),
            });
        };
        if !self.host.modes.contains(&mode) {
            return Err("this program was told not to use it".to_owned());
        }
        if mode == Mode::Bubblewrap {
            self.bubblewrap_fits()?;
        }
        let scratch = self.scratch().map_err(|error| error.to_string())?;
        let secret = scratch.path().join("secret");
        fs::write(&secret, "secret").map_err(|error| error.to_string())?;
        let job = Job {
            words: Vec::new(),
            script: None,
            cwd: PathBuf::new(),
            environment: std::collections::BTreeMap::new(),
            input: None,
            limit: Duration::from_secs(5),
            network: false,
        };
        let mut plan = self.plan(mode, &scratch, &job).map_err(|error| error.to_string())?;
        plan.hidden = self.hidden_by_operator();
        plan.hidden.push(plan.scratch.join("secret"));
        let words = [
            launcher.as_os_str(),
            LAUNCH.as_ref(),
            PROBE.as_ref(),
            plan.temporary.as_os_str(),
            plan.scratch.as_os_str(),
            plan.scratch.join("secret").as_os_str(),
        ]
        .map(OsString::from);
        let command = self.command(&plan, &words).map_err(|error| error.to_string())?;
        let mut command = command.into_std();
        let ended = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if ended.status.success() {
            return Ok(());
        }
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let said = said.trim().lines().last().unwrap_or_default();
        let said = said.strip_prefix("rye: ").unwrap_or(said);
        Err(if said.is_empty() { ended.status.to_string() } else { said.to_owned() })
    }

    /// Whether there is a bubblewrap, and one that lets us write the project.
    fn bubblewrap_fits(&self) -> Result<(), String> {
        use std::os::unix::fs::MetadataExt;

        if !self.host.bubblewrap.iter().any(|path| path.is_file()) {
            return Err("it is not installed".to_owned());
        }
        let owner = fs::metadata(&self.project).map(|it| it.uid());
        let own = rustix::process::geteuid();
        match owner {
            Ok(owner) if own.is_root() && owner != own.as_raw() => {
                Err("as root it cannot write a project that is another user's".to_owned())
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn io(action: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::Io { action, source }
}

/// Writes the text to a file that only this user can read, in a folder that only this user can enter, and that the program
/// cannot change where there is a sandbox.
fn written(script: &Script, scratch: &Path) -> Result<PathBuf, StartError> {
    use std::io::Write;

    let path = scratch.join("tool").with_extension(&script.extension);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o400).open(&path);
    let written = file.and_then(|mut file| file.write_all(script.text.as_bytes()));
    written.map_err(io("write the script"))?;
    Ok(path)
}

/// Ends a program with everything that it started, should nobody wait for it any more.
#[derive(Debug)]
pub(super) struct Guard {
    pid: Option<Pid>,
    has_launcher: bool,
    is_done: bool,
}

impl Guard {
    pub(super) fn over(child: &Child, has_launcher: bool) -> Self {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Self { pid, has_launcher, is_done: false }
    }

    /// Asks it to end the first time, ends it the second, and from then on kills its group, the launcher too.
    ///
    /// The launcher passes the asking on, and ends by itself what has not ended in time.
    fn press(&self, times: u32) {
        match times {
            1 => self.send(Signal::TERM, Signal::TERM),
            2 => self.end(),
            _ => drop(self.pid.map(|pid| kill_process_group(pid, Signal::KILL))),
        }
    }

    /// Has the launcher end in turn what does not end by itself now that its input has ended; it does so even when this program
    /// ends first. Without a launcher nobody would be left to see to it, and all is ended at once.
    #[cfg(feature = "mcp")]
    pub(super) fn part(&mut self) {
        if self.has_launcher {
            self.send(Signal::USR1, Signal::KILL);
            self.is_done = true;
        }
    }

    /// Ends it.
    fn end(&self) {
        self.send(Signal::HUP, Signal::KILL);
    }

    fn send(&self, to_launcher: Signal, to_group: Signal) {
        let Some(pid) = self.pid else { return };
        // One that ended in between is what is wanted.
        let _gone = match self.has_launcher {
            true => kill_process(pid, to_launcher),
            false => kill_process_group(pid, to_group),
        };
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_done {
            self.end();
        }
    }
}

/// Waits until the program ended and its output with it, or its time is used up.
async fn conversation<T>(
    child: &mut Child,
    guard: &Guard,
    talk: impl Future<Output = T>,
    limit: Duration,
) -> Result<(bool, ExitStatus), StartError> {
    let next = tokio::time::sleep(limit);
    tokio::pin!(talk, next);
    let (mut is_told, mut late, mut status) = (false, 0, None);
    loop {
        match status {
            Some(status) if is_told => return Ok((late > 0, status)),
            _ => {}
        }
        tokio::select! {
            ended = child.wait(), if status.is_none() => {
                status = Some(ended.map_err(io("wait for the program"))?);
                guard.after();
                // Whoever still holds the pipes has been ended; a moment for what is in them.
                next.as_mut().reset(tokio::time::Instant::now() + GRACE);
            }
            _ = &mut talk, if !is_told => is_told = true,
            () = &mut next => {
                if let Some(status) = status {
                    return Ok((late > 0, status));
                }
                late += 1;
                guard.press(late);
                // The launcher ends what has not ended in time, for which it takes as long.
                next.as_mut().reset(tokio::time::Instant::now() + GRACE + GRACE);
            }
        }
    }
}

impl Guard {
    /// Ends what a program left behind in its group; a launcher has done so already.
    fn after(&self) {
        if !self.has_launcher {
            self.end();
        }
    }
}

/// Writes what the program reads; one that does not care to read it is no failure.
async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _closed = stdin.write_all(&input).await;
    }
}

async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    captured: &mut Captured,
    stream: OutputStream,
    told: &dyn OutputSink,
) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    let mut pending = Vec::new();
    while let Ok(n @ 1..) = pipe.read(&mut buffer).await {
        let bytes = buffer.get(..n).unwrap_or_default();
        captured.push(bytes);
        pending.extend_from_slice(bytes);
        let text = whole_characters(&mut pending);
        if !text.is_empty() {
            told.output(stream, &text);
        }
    }
    if !pending.is_empty() {
        told.output(stream, &String::from_utf8_lossy(&pending));
    }
}

/// Takes everything but a character that has only begun.
fn whole_characters(pending: &mut Vec<u8>) -> String {
    let end = match std::str::from_utf8(pending) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => pending.len(),
    };
    let bytes: Vec<u8> = pending.drain(..end).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;

    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
