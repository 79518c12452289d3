//! One program to start, and how it ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rye_thread::ToolOutput;
use serde_json::{Value, json};

use super::capture::Captured;
use crate::sandbox::{Account, Bounds, Changed, Mode, ProbeError};
use crate::self_starting::SELF_STARTING;

/// How long a program may take when nobody says.
const USUAL: Duration = Duration::from_secs(120);

/// The longest that a program may take, whatever its manifest says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that a manifest, or the usual rule, gives.
pub(crate) fn limit_of(seconds: Option<u64>) -> Duration {
    seconds.map_or(USUAL, Duration::from_secs).min(LONGEST)
}

/// One program to start.
#[derive(Debug)]
pub(crate) struct Job {
    /// The program and its arguments, before the path of a script.
    pub(crate) words: Vec<OsString>,
    /// The text to run, which is given to the program as a file of its own.
    pub(crate) script: Option<Script>,
    /// Where it starts, relative to the project; empty for the project itself.
    pub(crate) cwd: PathBuf,
    /// Variables beside those that every program gets.
    pub(crate) environment: BTreeMap<String, String>,
    /// What it reads; `None` for nothing at all.
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) limit: Duration,
    pub(crate) network: bool,
}

/// A text that was verified, which is what runs: no path of the project is read again.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) extension: String,
}

/// A program that ended, or was ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its own code, or 128 and the signal that ended it.
    pub(crate) code: i32,
    /// Whether its time was used up.
    pub(crate) is_late: bool,
    pub(crate) output: Captured,
    pub(crate) error: Captured,
    /// What became of the project.
    pub(crate) account: Account,
    /// The bounds that it ran in.
    pub(crate) bounds: Bounds,
}

/// Why a program was not started.
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
        /// Whether something was moved in that moment, so that another start may succeed.
        is_raced: bool,
        /// What the launcher renamed of what an earlier program had left.
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

    /// As a result that the model reads; a refusal is told from a failure.
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

/// The member of a tool's result that lists what a program made and Rye renamed: repositories, and folders that `rye` takes orders
/// from.
pub const QUARANTINED: &str = "quarantined";

/// The member of a tool's result that says why the project, or a part of it, was not looked at after a program.
pub const UNCHECKED: &str = "unchecked";

/// The most bytes of one list in a result.
const LISTED: usize = 8 * 1024;

/// A result with what became of the project: files that start by themselves, and what was renamed. A list that is too long ends with
/// how many more there are.
///
/// A result that is no object becomes the member `output` of one, if there is anything to say.
pub(crate) fn with_account(result: Value, account: &Account) -> Value {
    let text = |path: &Path| path.display().to_string();
    let changed = account.changed.first().iter().map(|Changed(path)| json!(text(path)));
    let moved = account.moved.first().iter();
    let moved =
        moved.map(|moved| json!({ "path": text(&moved.from), "renamed_to": text(&moved.to) }));
    let more_changed = |more: u64| json!(format!("… and {more} more"));
    let more_moved = |more: u64| json!({ "more": more });
    let added = [
        (SELF_STARTING, listed(changed, account.changed.more(), more_changed)),
        (QUARANTINED, listed(moved, account.moved.more(), more_moved)),
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

/// The items that fit into a list, and how many more there are; `None` without any.
fn listed(
    items: impl Iterator<Item = Value>,
    more: u64,
    count: impl Fn(u64) -> Value,
) -> Option<Value> {
    let (mut list, mut length, mut more) = (Vec::new(), 0, more);
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

/// The most of an error output that a failure quotes.
const QUOTED: usize = 4 * 1024;

/// The result of a program that failed: what happened, and the end of what it wrote.
pub(crate) fn failure(ended: &Ended, limit: Duration) -> Value {
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
