//! Which sandbox works on this machine, found out by a program that tries to get out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use super::host::Processes;
use super::job::Job;
use crate::sandbox::{Finding, LAUNCH, Mode, PROBE, Plan, Policy, Report};

impl Processes {
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
    ///
    /// Root comes to work on projects of other users, which bubblewrap does not let it write. So for root it comes second.
    fn try_all(&self) -> (Mode, Vec<Finding>) {
        let mut modes = [Mode::Bubblewrap, Mode::Namespaces, Mode::Landlock];
        if rustix::process::geteuid().is_root() {
            modes = [Mode::Namespaces, Mode::Bubblewrap, Mode::Landlock];
        }
        let mut passed_over = Vec::new();
        for mode in modes {
            match self.probe(mode) {
                Ok(()) => return (mode, passed_over),
                Err(reason) => passed_over.push(Finding { mode, reason }),
            }
        }
        passed_over.sort_by_key(|finding| finding.mode);
        (Mode::None, passed_over)
    }

    /// Starts a program in the mode that tries to get out, and says what is wrong with it.
    ///
    /// It runs in an empty project of its own: nothing of the operator's project, and nothing that is hidden, takes a mode away.
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
        if mode == Mode::Bubblewrap && !self.host.bubblewrap.iter().any(|path| path.is_file()) {
            return Err("it is not installed".to_owned());
        }
        let scratch = self.scratch().map_err(|error| error.to_string())?;
        let outside = scratch.path().canonicalize().map_err(|error| error.to_string())?;
        let plan = self.probe_plan(mode, &outside).map_err(|error| error.to_string())?;
        let words = [
            launcher.as_os_str(),
            LAUNCH.as_ref(),
            PROBE.as_ref(),
            plan.temporary.as_os_str(),
            plan.scratch.as_os_str(),
            plan.scratch.join("secret").as_os_str(),
        ]
        .map(OsString::from);
        let words = match mode.is_whole() {
            true => [&words[..], &[plan.project.join(".git").into()]].concat(),
            false => words.into(),
        };
        let ended = self.output(&plan, &words).map_err(|error| error.to_string())?;
        if ended.status.success() {
            return Ok(());
        }
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let said = said.trim().lines().last().unwrap_or_default();
        let said = said.strip_prefix("rye: ").unwrap_or(said);
        Err(if said.is_empty() { ended.status.to_string() } else { said.to_owned() })
    }

    /// A plan for a project in the folder of the call, with a repository to guard and a secret to hide.
    fn probe_plan(&self, mode: Mode, scratch: &Path) -> io::Result<Plan> {
        let project = scratch.join("project");
        fs::create_dir_all(project.join(".git"))?;
        let secret = scratch.join("secret");
        fs::write(&secret, "secret")?;
        let job = Job {
            words: Vec::new(),
            script: None,
            cwd: PathBuf::new(),
            environment: BTreeMap::new(),
            input: None,
            limit: Duration::from_secs(5),
            network: false,
        };
        let plan = self.plan(mode, scratch, &job, project.clone());
        Ok(Plan { project, homes: Vec::new(), hidden: vec![secret], journal: None, ..plan })
    }

    fn output(&self, plan: &Plan, words: &[OsString]) -> io::Result<Output> {
        let command =
            self.command(plan, words).map_err(|error| io::Error::other(error.to_string()))?;
        let mut child = command.into_std().stdin(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&plan.frame()?)?;
        }
        child.wait_with_output()
    }
}
