//! Detection of the sandbox that works on this machine, by a program that attempts to escape.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::PoisonError;
use std::time::Duration;

use rye_types::SandboxMode;

use super::host::{Found, Processes};
use super::job::io_error;
use super::job::{Job, StartError};
use super::run::last_line;
use crate::call_folder::{CallFolder, KnownFolder};
use crate::{
    Attempted, Attempts, Bounds, Enforcement, Finding, Plan, Policy, ProbeError, Report,
    UNSUPPORTED,
};

/// The time limit for a test of a mode.
const LIMIT: Duration = Duration::from_secs(20);

/// More processes and threads than a user has, and fewer than the largest number of the kernel.
const PROCESSES: u64 = 1 << 20;

/// The words by which bubblewrap reports that this machine lacks a feature.
const UNSUPPORTED_WORDS: [&str; 8] = [
    "(ENOSPC)",
    "Function not implemented",
    "Invalid argument",
    "No permissions to create",
    "Operation not permitted",
    "Operation not supported",
    "Permission denied",
    "Unknown option",
];

/// The result of a mode's test.
enum Trial {
    /// The mode works, with this version of Landlock.
    Works(u8),
    /// The machine does not support the mode, for this reason.
    Impossible(String),
    /// The test was not possible, for this reason, which may be temporary.
    Undecided(String),
}

impl Processes {
    /// Returns the policy with the mode that works here. Only a successful search is kept for the next call.
    pub(super) fn find_out(&self) -> Result<Report, ProbeError> {
        let (enforcement, passed_over) = self.found()?;
        Ok(Report::new(self.rules.sandbox, enforcement, passed_over, self.find_planted()))
    }

    fn found(&self) -> Result<Found, ProbeError> {
        if self.rules.sandbox == Policy::Off {
            let none = Enforcement::new(SandboxMode::None, 0, counts_processes(SandboxMode::None));
            return Ok((none, Vec::new()));
        }
        self.calls().map_err(|error| ProbeError::of_calls(&error))?;
        let mut found = self.host.found.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match &*found {
            Some(found) => found.clone(),
            None => found.insert(self.try_all()?).clone(),
        })
    }

    /// Returns what is enforced for programs.
    pub(super) fn enforcement(&self) -> Result<Enforcement, ProbeError> {
        self.found().map(|(enforcement, _)| enforcement)
    }

    /// Tests the modes, strongest first. If a test was not possible, only a mode of the same strength may
    /// take its place, and never a weaker one.
    ///
    /// Of the two whole modes, namespaces come first. They start in half the time of bubblewrap, and root can
    /// write projects of other users in them.
    fn try_all(&self) -> Result<Found, ProbeError> {
        let modes = [
            SandboxMode::Namespaces,
            SandboxMode::Bubblewrap,
            SandboxMode::Landlock,
            SandboxMode::None,
        ];
        let mut passed_over = Vec::new();
        let mut undecided = Vec::new();
        for mode in modes {
            if !mode.is_whole() && !undecided.is_empty() {
                break;
            }
            match self.probe(mode) {
                Trial::Works(landlock) => {
                    passed_over.append(&mut undecided);
                    passed_over.sort_by_key(|finding: &Finding| finding.mode);
                    let enforcement = Enforcement::new(mode, landlock, counts_processes(mode));
                    return Ok((enforcement, passed_over));
                }
                Trial::Impossible(reason) => passed_over.push(Finding { mode, reason }),
                Trial::Undecided(reason) => undecided.push(Finding { mode, reason }),
            }
        }
        Err(ProbeError::new(&undecided))
    }

    fn probe(&self, mode: SandboxMode) -> Trial {
        if mode == SandboxMode::None {
            return Trial::Works(0);
        }
        if let Some(reason) = self.obstacle(mode) {
            return Trial::Impossible(reason.to_owned());
        }
        match self.start_probe(mode) {
            Ok(ended) => trial(mode, &ended),
            Err(error) => Trial::Undecided(error.message()),
        }
    }

    /// Returns the reason why a mode cannot work, if it is known without a test.
    fn obstacle(&self, mode: SandboxMode) -> Option<&'static str> {
        if self.launcher().is_none() {
            return Some(match cfg!(target_os = "linux") {
                true => "this program has no launcher for it",
                false => "there is none for this system",
            });
        }
        if !self.host.modes.contains(&mode) {
            return Some("this program was told not to use it");
        }
        let has_bubblewrap = || self.host.bubblewrap.iter().any(|path| path.is_file());
        (mode == SandboxMode::Bubblewrap && !has_bubblewrap()).then_some("it is not installed")
    }

    /// Starts the launcher in the mode, where it attempts to escape.
    ///
    /// It runs in an empty project of its own, within limits of its own. Nothing in the operator's project or
    /// configuration can make a mode fail.
    fn start_probe(&self, mode: SandboxMode) -> Result<Output, StartError> {
        let folder = self.call_folder()?;
        let plan = self.probe_plan(mode, &folder);
        self.output(&plan.map_err(io_error("make a project to try in"))?)
    }

    /// Returns a plan for a project in the folder of the call, with a repository to protect and a secret to
    /// hide.
    fn probe_plan(&self, mode: SandboxMode, folder: &CallFolder) -> io::Result<Plan> {
        let place = |name: &str| folder.path().join(name);
        let (project, secret, closed, pipe) =
            (place("project"), place("secret"), place("closed"), place("pipe"));
        let repository = project.join(".git");
        fs::create_dir_all(&repository)?;
        folder.notes().write("secret", b"secret", NOTE)?;
        folder.notes().write("closed", b"closed", NOTE)?;
        make_pipe(&pipe)?;
        let job = Job {
            words: Vec::new(),
            script: None,
            cwd: PathBuf::new(),
            is_apart: false,
            environment: BTreeMap::new(),
            input: None,
            limit: LIMIT,
            network: false,
        };
        let plan = self.plan(mode, folder, &job, project.clone())?;
        Ok(Plan {
            project: KnownFolder::of(&project)?,
            homes: Vec::new(),
            hidden: vec![secret.clone()],
            kept: Vec::new(),
            journal: None,
            tools_lock: None,
            attempts: Some(Attempts { secret, closed, pipe, repository }),
            bounds: Bounds { processes: PROCESSES, ..Bounds::default() },
            ..plan
        })
    }

    fn output(&self, plan: &Plan) -> Result<Output, StartError> {
        let command = self.command(plan, &[])?.into_std().stdin(Stdio::piped()).spawn();
        let mut child = command.map_err(io_error("start the launcher"))?;
        let frame = plan.frame().map_err(io_error("describe the program"))?;
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(&frame));
        let ended = child.wait_with_output().map_err(io_error("wait for the launcher"))?;
        match written {
            // A launcher that ends before it has read its input has the reason on its standard error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(io_error("describe the program")(error))
            }
            _ => Ok(ended),
        }
    }
}

/// The mode of a file that only its user can read.
const NOTE: u32 = 0o600;

fn make_pipe(path: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(NOTE), 0)?;
    }
    // Elsewhere there is no launcher that would try it.
    let _unused = path;
    Ok(())
}

/// Returns `true` if the kernel bounds the processes of a call in this mode: by a control group, by the limit of a user,
/// which root does not have, or in a namespace of processes.
fn counts_processes(mode: SandboxMode) -> bool {
    #[cfg(target_os = "linux")]
    let is_own_limit = mode == SandboxMode::Namespaces && crate::mounts::is_own_limit();
    #[cfg(not(target_os = "linux"))]
    let is_own_limit = mode == SandboxMode::Namespaces;
    is_own_limit || !rustix::process::geteuid().is_root() || crate::has_control_groups()
}

/// Distinguishes a mode that does not work here from one whose test was not possible.
fn trial(mode: SandboxMode, ended: &Output) -> Trial {
    let error = String::from_utf8_lossy(&ended.stderr);
    let said = last_line(&error);
    let code = ended.status.code();
    let attempted = || serde_json::from_slice::<Attempted>(&ended.stdout).ok();
    if let (Some(0), Some(attempted)) = (code, attempted()) {
        return judge(&attempted);
    }
    let is_refused = UNSUPPORTED_WORDS.iter().any(|words| said.contains(words));
    if code == Some(i32::from(UNSUPPORTED)) || (mode == SandboxMode::Bubblewrap && is_refused) {
        return Trial::Impossible(said.to_owned());
    }
    Trial::Undecided(match said {
        "" => format!("the launcher ended with {}", ended.status),
        said => said.to_owned(),
    })
}

/// Returns what a mode comes to by the attempts in it. A promise that the mode does not make can be broken.
fn judge(attempted: &Attempted) -> Trial {
    if !attempted.can_work {
        return Trial::Impossible("its own folder cannot be written".to_owned());
    }
    let enforcement = attempted.enforcement;
    let broken = attempted.broken.iter().filter(|promise| enforcement.keeps(**promise));
    let broken: Vec<&str> = broken.map(|promise| promise.gap()).collect();
    match broken.is_empty() {
        true => Trial::Works(enforcement.landlock),
        false => Trial::Impossible(format!("it does not hold: {}", broken.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// Each row has the end of a launcher and the verdict: `w` works, `i` impossible, `u` undecided.
    #[test]
    fn only_a_refusal_says_that_a_mode_does_not_work() {
        const EXIT: i32 = 256;
        const HELD: &str = r#"{"enforcement":{"mode":"namespaces","landlock":6,"counts_processes":false},"can_work":true,"broken":[]}"#;
        const ESCAPED: &str = r#"{"enforcement":{"mode":"namespaces","landlock":6,"counts_processes":false},"can_work":true,"broken":["use_network"]}"#;
        const IDLE: &str = r#"{"enforcement":{"mode":"namespaces","landlock":6,"counts_processes":false},"can_work":false,"broken":[]}"#;
        // A promise that this Landlock cannot keep, and that the mode does not make.
        const OLD: &str = r#"{"enforcement":{"mode":"namespaces","landlock":0,"counts_processes":false},"can_work":true,"broken":["write_pipes"]}"#;
        let none = "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)";
        let busy = "bwrap: Creating new namespace failed: Resource temporarily unavailable";
        for (mode, status, output, error, expected) in [
            (SandboxMode::Namespaces, 0, HELD, "", 'w'),
            (SandboxMode::Namespaces, 0, "", "", 'u'),
            (SandboxMode::Namespaces, 0, OLD, "", 'w'),
            (SandboxMode::Namespaces, 0, ESCAPED, "", 'i'),
            (SandboxMode::Namespaces, 0, IDLE, "", 'i'),
            (SandboxMode::Namespaces, EXIT, HELD, "", 'u'),
            (SandboxMode::Namespaces, 126 * EXIT, "", "rye: cannot make namespaces: EPERM", 'i'),
            (
                SandboxMode::Namespaces,
                125 * EXIT,
                "",
                "rye: cannot make a pipe: Too many open files",
                'u',
            ),
            (SandboxMode::Namespaces, 2 * EXIT, "", "", 'u'),
            (SandboxMode::Namespaces, EXIT, "", "Permission denied", 'u'),
            (SandboxMode::Landlock, 9, "", "", 'u'),
            (SandboxMode::Landlock, 137 * EXIT, "", "", 'u'),
            (SandboxMode::Bubblewrap, EXIT, "", none, 'i'),
            (
                SandboxMode::Bubblewrap,
                EXIT,
                "",
                "bwrap: setting up uid map: Permission denied",
                'i',
            ),
            (SandboxMode::Bubblewrap, EXIT, "", busy, 'u'),
            (SandboxMode::Bubblewrap, EXIT, "", "bwrap: Can't mkdir: No space left on device", 'u'),
        ] {
            let stdout = output.into();
            let stderr = error.into();
            let ended = Output { status: ExitStatus::from_raw(status), stdout, stderr };
            let found = match trial(mode, &ended) {
                Trial::Works(_) => 'w',
                Trial::Impossible(_) => 'i',
                Trial::Undecided(_) => 'u',
            };
            assert_eq!(found, expected, "{mode} {status} {error}");
        }
    }
}
