//! From the arguments of a call to a typed request.

use rye_resolve::{ItemId, ItemKind, SearchQuery};
use rye_thread::ThreadId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tools::Operation;
use crate::primary::{ExecuteRequest, FetchRequest, LoadRequest, PrimaryError, SignRequest};

/// What a client asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Execute(ExecuteRequest),
    Fetch(FetchRequest),
    Fork { request: ExecuteRequest, waits: Waits },
    Load(LoadRequest),
    Search(SearchQuery),
    Sign(SignRequest),
    ThreadCancel(ThreadId),
    ThreadStatus { thread: ThreadId, seconds: u64 },
}

/// Whether the answer comes when the thread has ended or at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    ForTheEnd,
    No,
}

/// Reads arguments that satisfy the input schema.
pub(super) fn request(operation: Operation, arguments: Value) -> Result<Request, PrimaryError> {
    match operation {
        Operation::Execute => execute(read(arguments)?),
        Operation::Fetch => fetch(read(arguments)?).map(Request::Fetch),
        Operation::Load => {
            let Named { item_type, item_id } = read(arguments)?;
            Ok(Request::Load(LoadRequest::new(kind(&item_type)?, id(&item_id)?)))
        }
        Operation::Search => {
            let Search { query, item_type, tags, limit } = read(arguments)?;
            let query = searched(&query, item_type.as_deref(), limit)?;
            Ok(Request::Search(tags.iter().fold(query, |query, tag| query.with_tag(tag))))
        }
        Operation::Sign => {
            let Named { item_type, item_id } = read(arguments)?;
            Ok(Request::Sign(SignRequest::new(kind(&item_type)?, id(&item_id)?)))
        }
        Operation::ThreadCancel => {
            let Thread { thread, .. } = read(arguments)?;
            Ok(Request::ThreadCancel(thread_id(&thread)?))
        }
        Operation::ThreadStatus => {
            let Thread { thread, wait_seconds } = read(arguments)?;
            let (thread, seconds) = (thread_id(&thread)?, wait_seconds.unwrap_or(0));
            Ok(Request::ThreadStatus { thread, seconds })
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Execute {
    item_type: String,
    item_id: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    thread: Option<String>,
    #[serde(default, rename = "async")]
    is_async: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fetch {
    item_type: String,
    item_id: Option<String>,
    query: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    item_type: String,
    item_id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    item_type: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thread {
    thread: String,
    wait_seconds: Option<u64>,
}

fn execute(arguments: Execute) -> Result<Request, PrimaryError> {
    let Execute { item_type, item_id, parameters, thread, is_async } = arguments;
    let request = ExecuteRequest::new(kind(&item_type)?, id(&item_id)?).with(parameters);
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

fn fetch(arguments: Fetch) -> Result<FetchRequest, PrimaryError> {
    let Fetch { item_type, item_id, query, limit } = arguments;
    match (item_id, query, limit) {
        (Some(item_id), None, None) => {
            Ok(FetchRequest::Load(LoadRequest::new(kind(&item_type)?, id(&item_id)?)))
        }
        (None, Some(query), limit) => {
            searched(&query, Some(&item_type), limit).map(FetchRequest::Search)
        }
        (Some(_), None, Some(_)) => {
            Err(PrimaryError::usage("`limit` is for searching; leave it out beside `item_id`"))
        }
        _ => Err(PrimaryError::usage("give either `item_id` or `query`")),
    }
}

fn searched(
    query: &str,
    item_type: Option<&str>,
    limit: Option<usize>,
) -> Result<SearchQuery, PrimaryError> {
    let query: SearchQuery = query.parse().map_err(|error| usage(&error))?;
    let query = limit.map_or(query.clone(), |limit| query.with_limit(limit));
    match item_type {
        Some(name) => Ok(query.with_kind(kind(name)?)),
        None => Ok(query),
    }
}

fn kind(name: &str) -> Result<ItemKind, PrimaryError> {
    name.parse().map_err(|error| usage(&error))
}

fn id(text: &str) -> Result<ItemId, PrimaryError> {
    text.parse().map_err(|error| usage(&error))
}

fn thread_id(text: &str) -> Result<ThreadId, PrimaryError> {
    text.parse().map_err(|error| usage(&error))
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, PrimaryError> {
    serde_json::from_value(arguments).map_err(|error| usage(&error))
}

fn usage(error: &dyn std::error::Error) -> PrimaryError {
    PrimaryError::usage(error.to_string())
}
