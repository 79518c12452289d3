//! Which sandbox works on this machine, found out by a program that tries to get out.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use super::host::Processes;
use super::job::Job;
use crate::sandbox::{Finding, LAUNCH, Mode, PROBE, Policy, Report};

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
        // Trying out changes nothing of the project.
        plan.stands_in = false;
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
