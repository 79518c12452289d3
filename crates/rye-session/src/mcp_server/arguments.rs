//! From the arguments of a call to a typed request.

use rye_project::primary::{
    Asked, ExecuteRequest, PrimaryError, inputs_by_either_name, read_arguments,
};
use rye_thread::ThreadReference;
use rye_types::ItemKind;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::Operation;

/// A parsed request of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Execute(ExecuteRequest),
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
    let thread = text.parse::<ThreadReference>();
    thread.map_err(|error| PrimaryError::usage(error.to_string()))
}
