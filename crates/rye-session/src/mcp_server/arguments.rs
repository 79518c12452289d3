//! From the arguments of a call to a typed request.

use std::error::Error;

use rye_project::primary::{
    Asked, CheckPlace, CheckRequest, ExecuteRequest, PrimaryError, inputs_by_either_name,
    read_arguments,
};
use rye_resolve::ItemId;
use rye_thread::ThreadReference;
use rye_types::ItemKind;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::Operation;

/// A parsed request of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Check(CheckRequest),
    Execute(ExecuteRequest),
    Explain(ItemId),
    Fork { request: ExecuteRequest, waits: Waits },
    Items(Asked),
    ThreadCancel(ThreadReference),
    ThreadStatus { thread: ThreadReference, seconds: u64 },
}

/// The moment of the answer: at the end of the thread, or at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    ForTheEnd,
    No,
}

/// Reads arguments that satisfy the input schema.
pub(super) fn request(operation: Operation, arguments: Value) -> Result<Request, PrimaryError> {
    match operation {
        Operation::Check => check(read_arguments(arguments)?).map(Request::Check),
        Operation::Explain => {
            let Explain { item_id } = read_arguments(arguments)?;
            Ok(Request::Explain(item_id.parse().map_err(usage)?))
        }
        Operation::Execute => execute(read_arguments(arguments)?),
        Operation::Items(operation) => Asked::of(operation, arguments).map(Request::Items),
        Operation::ThreadCancel => {
            let Thread { thread, .. } = read_arguments(arguments)?;
            Ok(Request::ThreadCancel(thread_reference(&thread)?))
        }
        Operation::ThreadStatus => {
            let Thread { thread, wait_seconds } = read_arguments(arguments)?;
            let thread = thread_reference(&thread)?;
            let seconds = wait_seconds.unwrap_or(0);
            Ok(Request::ThreadStatus { thread, seconds })
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    item_type: Option<String>,
    item_id: Option<String>,
    path: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explain {
    item_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Execute {
    item_type: String,
    item_id: String,
    parameters: Option<Map<String, Value>>,
    inputs: Option<Map<String, Value>>,
    thread: Option<String>,
    #[serde(default, rename = "async")]
    is_async: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thread {
    thread: String,
    wait_seconds: Option<u64>,
}

fn check(arguments: Check) -> Result<CheckRequest, PrimaryError> {
    let Check { item_type, item_id, path, text } = arguments;
    let place = match (item_type, item_id, path) {
        (Some(kind), Some(id), None) => {
            CheckPlace::Id(kind.parse().map_err(usage)?, id.parse().map_err(usage)?)
        }
        (None, None, Some(path)) => CheckPlace::Path(path),
        (None, None, None) if text.is_none() => return Ok(CheckRequest::Project),
        (None, None, None) => {
            return Err(PrimaryError::usage(
                "say where the text belongs: `item_type` and `item_id`, or `path`",
            ));
        }
        _ => {
            return Err(PrimaryError::usage(
                "give `item_type` with `item_id`, or `path`, or none of them for the whole project",
            ));
        }
    };
    Ok(CheckRequest::File { place, text })
}

fn execute(arguments: Execute) -> Result<Request, PrimaryError> {
    let Execute { item_type, item_id, parameters, inputs, thread, is_async } = arguments;
    let parameters = inputs_by_either_name(parameters, inputs).map_err(PrimaryError::usage)?;
    let request = ExecuteRequest::parse(&item_type, &item_id)?.with(parameters);
    let is_fork = thread.as_deref() == Some("fork");
    match (is_fork, is_async, request.kind) {
        (true, _, ItemKind::Directive) => {
            let waits = if is_async { Waits::No } else { Waits::ForTheEnd };
            Ok(Request::Fork { request, waits })
        }
        (true, ..) => Err(PrimaryError::usage(
            "only a directive is run as a thread; leave `thread` out, or set `item_type` to `directive`",
        )),
        (false, true, _) => {
            Err(PrimaryError::usage("`async` is for threads; set `thread` to `fork`"))
        }
        (false, false, _) => Ok(Request::Execute(request)),
    }
}

fn thread_reference(text: &str) -> Result<ThreadReference, PrimaryError> {
    text.parse().map_err(usage)
}

fn usage(error: impl Error) -> PrimaryError {
    PrimaryError::usage(error.to_string())
}
