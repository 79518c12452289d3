//! The functions by which a thread looks after those below it.

use std::time::Duration;

use rye_project::TreeFunction;
use rye_thread::{ThreadId, ThreadReference, ThreadReferenceError, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::error_output;
use super::{Standing, Tree, report};

/// Performs a function of the tools by which the thread `own` looks after its descendants.
pub(super) async fn look_after(
    own: &ThreadId,
    tree: &Tree,
    function: TreeFunction,
    arguments: Value,
) -> ToolOutput {
    let done = match function {
        TreeFunction::Cancel => cancel(own, tree, &arguments).await,
        TreeFunction::List => Ok(list(own, tree)),
        TreeFunction::Result => result(own, tree, &arguments),
        TreeFunction::Status => status(own, tree, &arguments),
        TreeFunction::Wait => wait(own, tree, arguments).await,
    };
    done.unwrap_or_else(|output| output)
}

type Done = Result<ToolOutput, ToolOutput>;

/// Returns a descendant of the caller's thread. Any other thread is reported as missing, so that
/// its existence stays secret.
fn below(own: &ThreadId, tree: &Tree, text: &str) -> Result<ThreadId, ToolOutput> {
    let unknown =
        || error_output(&format!("no thread `{text}` was started by this one or below it"));
    let reference: ThreadReference = text.parse().map_err(|_| unknown())?;
    let thread = reference.resolve(&tree.descendants(own)).map_err(|error| match error {
        ThreadReferenceError::Ambiguous { .. } => error_output(&error.to_string()),
        _ => unknown(),
    })?;
    if tree.descends(&thread, own) { Ok(thread) } else { Err(unknown()) }
}

fn named_thread(own: &ThreadId, tree: &Tree, arguments: &Value) -> Result<ThreadId, ToolOutput> {
    below(own, tree, arguments["thread"].as_str().unwrap_or_default())
}

fn status(own: &ThreadId, tree: &Tree, arguments: &Value) -> Done {
    let thread = named_thread(own, tree, arguments)?;
    Ok(ToolOutput::ok(tree.row(&thread).unwrap_or_default()))
}

fn list(own: &ThreadId, tree: &Tree) -> ToolOutput {
    let rows: Vec<Value> =
        tree.descendants(own).iter().filter_map(|thread| tree.row(thread)).collect();
    ToolOutput::ok(json!({ "threads": rows }))
}

fn result(own: &ThreadId, tree: &Tree, arguments: &Value) -> Done {
    let thread = named_thread(own, tree, arguments)?;
    match tree.standing(&thread) {
        Some(standing @ Standing::Ended(_)) => {
            Ok(ToolOutput::ok(report::whole(&thread, &tree.directive(&thread), &standing)))
        }
        _ => {
            let mut row = tree.row(&thread).unwrap_or_default();
            row["error"] = format!("thread `{thread}` has not ended; wait for it").into();
            Err(ToolOutput::error(row))
        }
    }
}

/// A thread that is under way is told to stop, and one that waits or was stopped is ended; both take theirs along.
async fn cancel(own: &ThreadId, tree: &Tree, arguments: &Value) -> Done {
    let thread = named_thread(own, tree, arguments)?;
    if let Some(cancel) = tree.cancel(&thread) {
        cancel.cancel();
    }
    match tree.wait_for_end(&thread).await {
        Some(Standing::Ended(_)) | None => {}
        Some(_) => tree.close(&thread).await.map_err(|problem| error_output(&problem))?,
    }
    Ok(ToolOutput::ok(tree.row(&thread).unwrap_or_default()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitArguments {
    threads: Option<Vec<String>>,
    timeout_seconds: Option<f64>,
}

/// Waits for all that are named, or all children; what was reached when the time is over is told.
async fn wait(own: &ThreadId, tree: &Tree, arguments: Value) -> Done {
    let arguments: WaitArguments =
        serde_json::from_value(arguments).map_err(|error| error_output(&error.to_string()))?;
    let threads = match arguments.threads {
        Some(threads) => {
            threads.iter().map(|text| below(own, tree, text)).collect::<Result<_, _>>()?
        }
        None => tree.children(own),
    };
    let all = async {
        for thread in &threads {
            tree.wait_for_end(thread).await;
        }
    };
    let is_late = match arguments.timeout_seconds {
        None => {
            all.await;
            false
        }
        Some(seconds) => {
            let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            tokio::time::timeout(limit, all).await.is_err()
        }
    };
    let rows = threads.iter().filter_map(|thread| {
        let standing = tree.standing(thread)?;
        Some(report::whole(thread, &tree.directive(thread), &standing))
    });
    let rows: Vec<Value> = rows.collect();
    let mut told = json!({ "threads": rows, "timed_out": is_late });
    if is_late {
        let running = threads
            .iter()
            .filter(|thread| matches!(tree.standing(thread), Some(Standing::Running)));
        told["still_running"] = running.map(ThreadId::as_str).collect();
    }
    Ok(ToolOutput::ok(told))
}
