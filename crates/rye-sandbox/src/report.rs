//! The sandbox on this machine, with its gaps.

use std::fmt;
use std::io;

use std::path::PathBuf;

use rye_types::SandboxMode;
use strum::{Display, EnumString, IntoStaticStr};

use super::Enforcement;

/// The operator's policy for the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[non_exhaustive]
#[derive(Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_fn = PolicyError::new, parse_err_ty = PolicyError)]
pub enum Policy {
    /// No sandbox, even if the machine supports one.
    Off,
    /// The strongest sandbox that the machine supports, or none.
    #[default]
    Preferred,
    /// A [whole](Enforcement::is_whole) sandbox. Without one, no program is started.
    Required,
}

impl Policy {
    /// Returns `off`, `preferred` or `required`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A text that is not a [`Policy`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no wish for a sandbox; write `off`, `preferred` or `required`")]
#[non_exhaustive]
pub struct PolicyError {
    text: String,
}

impl PolicyError {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

/// A mode that is not used, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) mode: SandboxMode,
    pub(crate) reason: String,
}

/// The error of a test that was not possible, so that it is unknown which mode works here. No program is
/// started, because a weaker mode than necessary would be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sandbox could not be tried out, so that no program is started: {reasons}; {}",
    if *is_of_folder { "set `TMPDIR` to a folder outside of the project that you may write" } else { "mend that and try again" }
)]
#[non_exhaustive]
pub struct ProbeError {
    reasons: String,
    is_of_folder: bool,
    is_refusal: bool,
}

impl ProbeError {
    pub(crate) fn new(undecided: &[Finding]) -> Self {
        let reasons =
            undecided.iter().map(|finding| format!("`{}`: {}", finding.mode, finding.reason));
        Self {
            reasons: reasons.collect::<Vec<_>>().join("; "),
            is_of_folder: false,
            is_refusal: false,
        }
    }

    /// Returns `true` if the folder for temporary files could be used and is refused, because it lies in the project.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Returns `true` if the folder for temporary files is the trouble, and not the sandbox.
    #[must_use]
    pub fn is_of_folder(&self) -> bool {
        self.is_of_folder
    }

    /// Returns the error of a folder in which no folder of a call can be made.
    pub(crate) fn of_calls(error: &io::Error) -> Self {
        let reasons = format!("cannot make a folder for the call: {error}");
        // The system's own errors have a number.
        let is_refusal =
            error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        Self { reasons, is_of_folder: true, is_refusal }
    }
}

/// The sandbox of programs on this machine, with the reasons against stronger ones, and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    policy: Policy,
    enforcement: Enforcement,
    passed_over: Vec<Finding>,
    planted: Vec<Planted>,
}

/// A file or folder of the project that a later start uses, and that a program can replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planted {
    pub(crate) path: PathBuf,
    pub(crate) role: Role,
}

/// The purpose of a file or folder in a later start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// The next `rye`.
    Launcher,
    /// The programs without a path.
    Search,
    /// The scripts with this extension.
    Interpreter(String),
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.role {
            Role::Launcher => write!(
                f,
                "`{path}` lies in the project, so that a program can put another file there, which the next `rye` would be; install it elsewhere"
            ),
            Role::Search => write!(
                f,
                "the folder `{path}` of `PATH` lies in the project, so that a program can put another file there, which a later tool would start; leave it out of `PATH`"
            ),
            Role::Interpreter(extension) => write!(
                f,
                "`{path}` lies in the project, so that a program can put another file there, which would run later scripts with `.{extension}`; name another in `runtimes`"
            ),
        }
    }
}

impl Report {
    pub(crate) fn new(
        policy: Policy,
        enforcement: Enforcement,
        passed_over: Vec<Finding>,
        planted: Vec<Planted>,
    ) -> Self {
        Self { policy, enforcement, passed_over, planted }
    }

    /// Returns the operator's policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the mode of programs, if any may be started.
    #[must_use]
    pub fn mode(&self) -> SandboxMode {
        self.enforcement.mode
    }

    /// Returns what is enforced for programs.
    #[must_use]
    pub fn enforcement(&self) -> Enforcement {
        self.enforcement
    }

    /// Returns `true` if programs may be started. `sandbox: required` allows it only in a whole sandbox.
    #[must_use]
    pub fn may_start(&self) -> bool {
        self.policy != Policy::Required || self.enforcement.is_whole()
    }

    /// Returns the gaps, as sentences for the operator: the promises that are not kept here, and what later
    /// starts use of the project.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let gaps = self.enforcement.gaps();
        let planted = self.planted.iter().map(ToString::to_string);
        gaps.into_iter().map(str::to_owned).chain(planted).collect()
    }

    /// Returns the stronger modes that are not used, strongest first, each with the reason.
    pub fn passed_over(&self) -> impl Iterator<Item = (SandboxMode, &str)> {
        self.passed_over.iter().map(|finding| (finding.mode, finding.reason.as_str()))
    }

    /// Returns advice for a stronger sandbox. Returns `None` if it is whole or switched off.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        if self.enforcement.is_whole() || self.policy == Policy::Off {
            return None;
        }
        // User namespaces are allowed, and what is missing is `/proc` in them.
        if self.passed_over.iter().any(|finding| finding.reason.contains("/proc")) {
            return Some(
                "let `/proc` be mounted: in a container, with `--security-opt systempaths=unconfined`, or `procMount: Unmasked` of Kubernetes",
            );
        }
        Some(match (cfg!(target_os = "linux"), self.mode().is_whole()) {
            (true, true) => {
                "use a kernel with Landlock (5.13 or newer, with `landlock` among the security modules that it starts with)"
            }
            (true, false) => {
                "install bubblewrap, or allow user namespaces (sysctl `user.max_user_namespaces`, and `kernel.apparmor_restrict_unprivileged_userns=0` where it is there; in a container, a seccomp profile that allows `unshare`)"
            }
            (false, _) => {
                "run on Linux, where there is a sandbox, or set `sandbox: required` so that nothing is started without one"
            }
        })
    }
}

impl fmt::Display for Report {
    /// Writes several lines: the mode, its gaps and limits, the reasons against stronger ones, and advice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sandbox: {} (wanted: {})", self.mode(), self.policy)?;
        if !self.may_start() {
            f.write_str("\n  no program is started, because a whole sandbox is required")?;
        }
        for gap in self.gaps() {
            write!(f, "\n  not kept in: {gap}")?;
        }
        for limit in self.enforcement.limits() {
            write!(f, "\n  refused: {limit}")?;
        }
        for finding in &self.passed_over {
            write!(f, "\n  no `{}`: {}", finding.mode, finding.reason)?;
        }
        self.advice().map_or(Ok(()), |advice| write!(f, "\n  to mend it: {advice}"))
    }
}
