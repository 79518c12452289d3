//! A program to start, and its result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rye_types::SandboxMode;

use super::capture::Capture;
use crate::{Account, Bounds, Cover, ProbeError};

/// The default time limit.
const USUAL: Duration = Duration::from_secs(120);

/// The longest time limit, whatever the manifest has.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the time limit of a manifest, or the default. It is at most a day.
#[must_use]
pub fn limit_of(seconds: Option<u64>) -> Duration {
    seconds.map_or(USUAL, Duration::from_secs).min(LONGEST)
}

/// A program to start.
#[derive(Debug)]
#[non_exhaustive]
pub struct Job {
    /// The program and its arguments, before the path of a script.
    pub words: Vec<OsString>,
    /// A script to run. The program gets its path as an argument.
    pub script: Option<Script>,
    /// The working directory, relative to the project. Empty for the project itself.
    pub cwd: PathBuf,
    /// `true` if the program starts in an empty folder of its own instead, so that no file of the project comes first where
    /// it looks for its parts.
    pub is_apart: bool,
    /// Additional environment variables.
    pub environment: BTreeMap<String, String>,
    /// The standard input, or `None` for an empty one.
    pub input: Option<Vec<u8>>,
    /// The time after which the program is ended.
    pub limit: Duration,
    /// `true` if the program may use the network.
    pub network: bool,
}

impl Job {
    /// Creates a job in the project's folder, without input and network, and with the default time limit.
    #[must_use]
    pub fn new(words: Vec<OsString>) -> Self {
        Self {
            words,
            script: None,
            cwd: PathBuf::new(),
            is_apart: false,
            environment: BTreeMap::new(),
            input: None,
            limit: limit_of(None),
            network: false,
        }
    }
}

/// A verified script. Its text is what runs. The file in the project is not read again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Script {
    /// The whole verified text.
    pub text: String,
    /// The file extension.
    pub extension: String,
    /// The arguments, behind the path of the script.
    pub arguments: Vec<OsString>,
}

impl Script {
    /// Creates a script from its verified text.
    #[must_use]
    pub fn new(text: String, extension: String) -> Self {
        Self { text, extension, arguments: Vec::new() }
    }
}

/// A program that has ended, by itself or by force.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exit {
    /// The exit code, or 128 plus the number of the signal that ended it.
    pub code: i32,
    /// `true` if the time limit was reached.
    pub is_late: bool,
    /// The standard output.
    pub output: Capture,
    /// The standard error.
    pub error: Capture,
    /// The supervisor's account of changes in the project.
    pub account: Account,
    pub(super) bounds: Bounds,
    pub(super) cover: Cover,
}

impl Exit {
    /// Returns a hint if the standard error of the program says that it lacks something because of its limits or its sandbox.
    #[must_use]
    pub fn hint(&self, stderr: &str) -> Option<String> {
        self.bounds.hint(stderr).or_else(|| self.cover.hint(stderr))
    }
}

/// The reason why a program was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No sandbox holds programs here, and the operator requires one.
    #[error(
        "no program is started: `sandbox: required` is set, and this machine has no whole sandbox ({reasons})"
    )]
    NoSandbox {
        /// The modes that do not work, each with its reason.
        reasons: String,
    },
    /// The sandbox could not be made around the program.
    #[error(
        "the program was not started, because the sandbox `{mode}` could not be made: {problem}; mend that and call again (`rye doctor` tries the sandbox out)"
    )]
    Sandbox {
        /// The mode of the sandbox.
        mode: SandboxMode,
        /// The message of the launcher.
        problem: String,
        /// `true` if the project changed during the start, so that another attempt may succeed.
        is_raced: bool,
        /// The launcher's account of the entries that it renamed for an earlier program.
        account: Box<Account>,
    },
    /// The sandbox could not be tested.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The working directory is refused.
    #[error("the folder `{path}` is refused: {problem}")]
    Folder {
        /// The path as the call has it.
        path: String,
        /// The reason.
        problem: &'static str,
    },
    /// The operating system refused something.
    #[error("cannot {action}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns what makes an error of the system while this action was tried.
pub(super) fn io_error(action: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::Io { action, source }
}

impl StartError {
    /// Returns the error with its cause.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }
}
