//! A program to start, and its result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rye_thread::ToolOutput;
use serde_json::{Value, json};

use super::capture::Capture;
use crate::sandbox::{Account, Bounds, Changed, Mode, ProbeError};
use crate::self_starting::SELF_STARTING;

/// The default time limit.
const USUAL: Duration = Duration::from_secs(120);

/// The longest time limit, whatever the manifest has.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the time limit of a manifest, or the default.
pub(crate) fn limit_of(seconds: Option<u64>) -> Duration {
    seconds.map_or(USUAL, Duration::from_secs).min(LONGEST)
}

/// A program to start.
#[derive(Debug)]
pub(crate) struct Job {
    /// The program and its arguments, before the path of a script.
    pub(crate) words: Vec<OsString>,
    /// A script to run. The program gets its path as an argument.
    pub(crate) script: Option<Script>,
    /// The working directory, relative to the project. Empty for the project itself.
    pub(crate) cwd: PathBuf,
    /// Additional environment variables.
    pub(crate) environment: BTreeMap<String, String>,
    /// The standard input, or `None` for an empty one.
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) limit: Duration,
    pub(crate) network: bool,
}

/// A verified script. Its text is what runs. The file in the project is not read again.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) extension: String,
}

/// A program that has ended, by itself or by force.
#[derive(Debug)]
pub(crate) struct Exit {
    /// The exit code, or 128 plus the number of the signal that ended it.
    pub(crate) code: i32,
    /// `true` if the time limit was reached.
    pub(crate) is_late: bool,
    pub(crate) output: Capture,
    pub(crate) error: Capture,
    /// The supervisor's account of changes in the project.
    pub(crate) account: Account,
    /// The limits of the program.
    pub(crate) bounds: Bounds,
}

/// The reason why a program was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(
        "no program is started: `sandbox: required` is set, and this machine has no whole sandbox ({reasons})"
    )]
    NoSandbox { reasons: String },
    #[error(
        "the program was not started, because the sandbox `{mode}` could not be made: {problem}; mend that and call again (`rye doctor` tries the sandbox out)"
    )]
    Sandbox {
        mode: Mode,
        problem: String,
        /// `true` if the project changed during the start, so that another attempt may succeed.
        is_raced: bool,
        /// The launcher's account of the entries that it renamed for an earlier program.
        account: Box<Account>,
    },
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("the folder `{path}` is refused: {problem}")]
    Folder { path: String, problem: &'static str },
    #[error("cannot {action}")]
    Io { action: &'static str, source: io::Error },
}

impl StartError {
    /// Returns the error with its cause.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }

    /// Converts the error to a tool's result, either a refusal or a failure.
    pub(crate) fn into_output(self) -> ToolOutput {
        let message = self.message();
        match self {
            Self::Io { .. } | Self::Probe(_) => ToolOutput::error(json!({ "error": message })),
            Self::Sandbox { account, .. } => {
                ToolOutput::error(with_account(json!({ "error": message }), &account))
            }
            _ => ToolOutput::refused(json!({ "error": message })),
        }
    }
}

/// The member of a tool's result that lists the entries which a program made and Rye renamed: repositories,
/// and folders that configure `rye`.
pub const QUARANTINED: &str = "quarantined";

/// The member of a tool's result with the reason why the project, or a part of it, was not checked after a
/// program.
pub const UNCHECKED: &str = "unchecked";

/// The largest size of a list in a result, in bytes.
const LISTED: usize = 8 * 1024;

/// Adds the account of changes in the project to a result: changed self-starting files, and renamed entries.
/// A list that is too long ends with the number of the missing ones.
///
/// A result that is not an object becomes the member `output` of one, if there is something to add.
pub(crate) fn with_account(result: Value, account: &Account) -> Value {
    let text = |path: &Path| path.display().to_string();
    let changed = account.changed.first().iter().map(|Changed(path)| json!(text(path)));
    let moved = account.moved.first().iter();
    let moved =
        moved.map(|moved| json!({ "path": text(&moved.from), "renamed_to": text(&moved.to) }));
    let more_changed = |more: u64| json!(format!("… and {more} more"));
    let more_moved = |more: u64| json!({ "more": more });
    let added = [
        (SELF_STARTING, bounded_list(changed, account.changed.more(), more_changed)),
        (QUARANTINED, bounded_list(moved, account.moved.more(), more_moved)),
        (UNCHECKED, account.unchecked.as_ref().map(|reason| json!(reason))),
    ];
    let mut result = result;
    for (name, value) in added {
        let Some(value) = value else { continue };
        if !result.is_object() {
            result = json!({ "output": result });
        }
        result[name] = value;
    }
    result
}

/// Returns a list of the items that fit, with the number of the others at its end, or `None` if there are
/// none.
fn bounded_list(
    items: impl Iterator<Item = Value>,
    more: u64,
    count: impl Fn(u64) -> Value,
) -> Option<Value> {
    let mut list = Vec::new();
    let mut length = 0;
    let mut more = more;
    for item in items {
        length += item.to_string().len();
        match length <= LISTED {
            true => list.push(item),
            false => more += 1,
        }
    }
    if more > 0 {
        list.push(count(more));
    }
    (!list.is_empty()).then(|| list.into())
}

/// The number of bytes that a failure quotes of each output.
const QUOTED: usize = 4 * 1024;

/// Returns the result of a failed program: the reason, and the end of its outputs.
pub(crate) fn failure(ended: &Exit, limit: Duration) -> Value {
    let happened = match ended.is_late {
        true => format!("it was stopped after {} s", limit.as_secs()),
        false => format!("it ended with code {}", ended.code),
    };
    let stderr = ended.error.end(QUOTED);
    let mut content = json!({ "error": happened, "exit_code": ended.code });
    if let Some(hint) = ended.bounds.hint(&stderr) {
        content["hint"] = hint.into();
    }
    content["stderr"] = stderr.into();
    let output = ended.output.end(QUOTED);
    if !output.is_empty() {
        content["stdout"] = output.into();
    }
    with_account(content, &ended.account)
}
