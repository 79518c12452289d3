//! The sandbox on this machine, and its gaps.

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// The modes of the sandbox, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[derive(Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    /// Namespaces made by bubblewrap, with Landlock and seccomp.
    Bubblewrap,
    /// The same namespaces made by Rye's own launcher, with Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp alone, for machines without namespaces.
    Landlock,
    /// Only a minimal environment, and limits of time and output.
    None,
}

impl Mode {
    /// All modes, strongest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns `bubblewrap`, `namespaces`, `landlock` or `none`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the mode confines everything that SPEC 5.6 requires, and so satisfies `sandbox:
    /// required`.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Bubblewrap | Self::Namespaces)
    }

    /// Returns the gaps of the mode, as sentences for the operator.
    #[must_use]
    pub const fn gaps(self) -> &'static [&'static str] {
        match self {
            Self::Bubblewrap | Self::Namespaces => &[],
            Self::Landlock => &[
                "the project's `.ai/config`, `.ai/threads`, `.ai/rye.lock`, its providers and every `.git` can be changed, and made where they are not there",
                "modes, owners, times and attributes of the user's own files outside of the project can be changed",
                "names of files can be listed, though not the files read, in the home folder and in folders that hold keys",
                "other processes can be seen and moved between processors, though neither signalled nor read",
            ],
            Self::None => &[
                "every file of the user can be read and written, keys included",
                "the network can be used",
                "other processes of the user can be seen and stopped, and their environment can be read",
                "a process that leaves its group may go on after the call where no launcher watches it",
            ],
        }
    }
}

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
    /// A [whole](Mode::is_whole) sandbox. Without one, no program is started.
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
    pub(crate) mode: Mode,
    pub(crate) reason: String,
}

/// The error of a test that was not possible, so that it is unknown which mode works here. No program is
/// started, because a weaker mode than necessary would be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sandbox could not be tried out, so that no program is started: {reasons}; mend that and try again"
)]
#[non_exhaustive]
pub struct ProbeError {
    reasons: String,
}

impl ProbeError {
    pub(crate) fn new(undecided: &[Finding]) -> Self {
        let reasons =
            undecided.iter().map(|finding| format!("`{}`: {}", finding.mode, finding.reason));
        Self { reasons: reasons.collect::<Vec<_>>().join("; ") }
    }
}

/// The sandbox of programs on this machine, with the reasons against stronger ones, and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    policy: Policy,
    mode: Mode,
    passed_over: Vec<Finding>,
}

impl Report {
    pub(crate) fn new(policy: Policy, mode: Mode, passed_over: Vec<Finding>) -> Self {
        Self { policy, mode, passed_over }
    }

    /// Returns the operator's policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the mode of programs, if any may be started.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns `true` if programs may be started. `sandbox: required` allows it only in a whole sandbox.
    #[must_use]
    pub fn may_start(&self) -> bool {
        self.policy != Policy::Required || self.mode.is_whole()
    }

    /// Returns the stronger modes that are not used, strongest first, each with the reason.
    pub fn passed_over(&self) -> impl Iterator<Item = (Mode, &str)> {
        self.passed_over.iter().map(|finding| (finding.mode, finding.reason.as_str()))
    }

    /// Returns advice for a stronger sandbox. Returns `None` if it is whole or switched off.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        if self.mode.is_whole() || self.policy == Policy::Off {
            return None;
        }
        Some(if cfg!(target_os = "linux") {
            "install bubblewrap, or allow user namespaces (sysctl `user.max_user_namespaces`, and `kernel.apparmor_restrict_unprivileged_userns=0` where it is there; in a container, a seccomp profile that allows `unshare`)"
        } else {
            "run on Linux, where there is a sandbox, or set `sandbox: required` so that nothing is started without one"
        })
    }
}

impl fmt::Display for Report {
    /// Writes several lines: the mode, its gaps, the reasons against stronger ones, and advice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sandbox: {} (wanted: {})", self.mode, self.policy)?;
        if !self.may_start() {
            f.write_str("\n  no program is started, because a whole sandbox is required")?;
        }
        for gap in self.mode.gaps() {
            write!(f, "\n  not kept in: {gap}")?;
        }
        for finding in &self.passed_over {
            write!(f, "\n  no `{}`: {}", finding.mode, finding.reason)?;
        }
        self.advice().map_or(Ok(()), |advice| write!(f, "\n  to mend it: {advice}"))
    }
}
