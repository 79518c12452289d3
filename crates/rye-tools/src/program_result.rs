//! The results of programs as results of tools.

use std::path::Path;
use std::time::Duration;

use rye_sandbox::{Account, Exit, StandardStream, StartError};
use rye_thread::{OutputSink, OutputStream, ToolOutput};
use serde_json::{Value, json};

/// Converts the error to a tool's result, either a refusal or a failure.
pub(crate) fn start_failure(error: &StartError) -> ToolOutput {
    let message = error.message();
    match error {
        StartError::Io { .. } | StartError::Probe(_) => {
            ToolOutput::error(json!({ "error": message }))
        }
        StartError::Sandbox { account, .. } => {
            ToolOutput::error(with_account(json!({ "error": message }), account))
        }
        _ => ToolOutput::refusal(json!({ "error": message })),
    }
}

/// Forwards the output of a program to the observer of a call.
pub(crate) fn forward(sink: &dyn OutputSink) -> impl Fn(StandardStream, &str) + Send + Sync {
    move |stream, text| match stream {
        StandardStream::Output => sink.output(OutputStream::Output, text),
        StandardStream::Error => sink.output(OutputStream::Error, text),
    }
}

/// The member of a tool's result that lists the self-starting files which the call changed, as paths in the
/// project.
pub const SELF_STARTING: &str = "self_starting";

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
    let changed = account.changed.first().iter().map(|changed| json!(text(changed.path())));
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

/// The number of bytes that a failure quotes of each output, and that the record keeps of a success's standard error.
pub(crate) const QUOTED: usize = 4 * 1024;

/// Returns the result of a failed program: the reason, and the end of its outputs.
pub(crate) fn failure(ended: &Exit, limit: Duration) -> Value {
    let happened = match ended.is_late {
        true => format!("it was stopped after {} s", limit.as_secs()),
        false => format!("it ended with code {}", ended.code),
    };
    let stderr = ended.error.end(QUOTED);
    let mut content = json!({ "error": happened, "exit_code": ended.code });
    if let Some(hint) = ended.hint(&stderr) {
        content["hint"] = hint.into();
    }
    content["stderr"] = stderr.into();
    let output = ended.output.end(QUOTED);
    if !output.is_empty() {
        content["stdout"] = output.into();
    }
    with_account(content, &ended.account)
}
