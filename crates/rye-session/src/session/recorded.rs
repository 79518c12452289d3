//! The start of a thread as its record tells it, so that the thread can be prepared again.

use std::collections::BTreeMap;

use rye_project::{DEFAULT_PROVIDER, LimitOptions, ProviderChoice};
use rye_thread::{AddedItem, ThreadRecord};
use rye_types::{Nanos, SpendLimit};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::{Continuation, RunRequest};

/// The fact that holds it.
pub(super) const REQUEST: &str = "request";

/// The fact that holds what a thread was given that goes on with another one's conversation.
pub(super) const CONTINUATION: &str = "continuation";

/// The choices of a request, apart from the directive and the inputs, which have facts of their own.
///
/// `default_provider` answers because neither the request nor the directive names a provider.
pub(super) fn choices(request: &RunRequest, default_provider: Option<&str>) -> Value {
    let LimitOptions { turns, tokens, spend, duration_seconds, spawns, depth } = request.limits;
    let disk = RequestDisk {
        provider: request.provider.name().map(str::to_owned),
        default_provider: default_provider
            .filter(|name| *name != DEFAULT_PROVIDER)
            .map(str::to_owned),
        model: request.model.clone(),
        returns: request.returns.map(|style| style.to_string()),
        turns,
        tokens,
        spend: spend.map(SpendDisk::of),
        duration_seconds,
        spawns,
        depth,
        tool: request.tool.as_ref().map(ToString::to_string),
    };
    serde_json::to_value(disk).expect("because every part of it is plain JSON")
}

/// The fact of a thread that goes on with another one's conversation.
pub(super) fn continuation_fact(continuation: &Continuation) -> Value {
    let mut fact = json!({ "inputs": continuation.inputs });
    if !continuation.added.is_empty() {
        fact["added"] = continuation.added.iter().map(AddedItem::to_json).collect();
    }
    fact
}

/// The request that a thread was started with.
///
/// # Errors
///
/// What the record lacks, as it does when another version wrote it.
pub(super) fn recorded_request(record: &ThreadRecord) -> Result<RunRequest, String> {
    let lacks = |name: &str| format!("it has no `{name}`");
    let choices = record.facts.get(REQUEST).ok_or_else(|| lacks(REQUEST))?;
    let disk = RequestDisk::deserialize(choices).map_err(|error| error.to_string())?;
    let inputs = record.facts.get("inputs").ok_or_else(|| lacks("inputs"))?;
    let inputs: BTreeMap<String, Value> =
        Deserialize::deserialize(inputs).map_err(|error| format!("`inputs`: {error}"))?;
    let directive = record.directive.parse().map_err(|error| format!("`directive`: {error}"))?;
    let mut request = RunRequest::new(directive, record.thread.clone());
    request.inputs = inputs;
    request.provider = disk.provider.as_deref().map(ProviderChoice::from_name).unwrap_or_default();
    let default = disk.default_provider.unwrap_or_else(|| DEFAULT_PROVIDER.to_owned());
    request.default_provider = Some(default);
    request.model = disk.model;
    request.returns = match disk.returns {
        Some(style) => Some(style.parse().map_err(|error| format!("`returns`: {error}"))?),
        None => None,
    };
    request.limits.turns = disk.turns;
    request.limits.tokens = disk.tokens;
    request.limits.spend = disk.spend.map(SpendDisk::into_limit);
    request.limits.duration_seconds = disk.duration_seconds;
    (request.limits.spawns, request.limits.depth) = (disk.spawns, disk.depth);
    request.tool = match disk.tool {
        Some(tool) => Some(tool.parse().map_err(|error| format!("`tool`: {error}"))?),
        None => None,
    };
    request.continues = continuation(record)?;
    Ok(request)
}

fn continuation(record: &ThreadRecord) -> Result<Option<Continuation>, String> {
    let Some(thread) = record.continues.clone() else { return Ok(None) };
    let fact = record.facts.get(CONTINUATION);
    let given = fact.and_then(|fact| fact.get("inputs"));
    let given = given.ok_or_else(|| format!("it has no `{CONTINUATION}`"))?;
    let added = fact.and_then(|fact| fact.get("added")).and_then(Value::as_array);
    let added = added.into_iter().flatten().map(AddedItem::from_json).collect::<Result<_, _>>();
    let added = added.map_err(|error| format!("`{CONTINUATION}`: {error}"))?;
    let inputs: BTreeMap<String, Value> =
        Deserialize::deserialize(given).map_err(|error| format!("`{CONTINUATION}`: {error}"))?;
    let root = record.root.clone();
    let limits = record.limits.clone();
    Ok(Some(Continuation { thread, root, limits, inputs, added }))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestDisk {
    provider: Option<String>,
    /// Absent for the default that holds where no configuration sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_provider: Option<String>,
    model: Option<String>,
    returns: Option<String>,
    turns: Option<u64>,
    tokens: Option<u64>,
    spend: Option<SpendDisk>,
    duration_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spawns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SpendDisk {
    AtMostNanos(u64),
    Unlimited,
}

impl SpendDisk {
    fn of(limit: SpendLimit) -> Self {
        match limit {
            SpendLimit::AtMost(cap) => Self::AtMostNanos(cap.get()),
            SpendLimit::Unlimited => Self::Unlimited,
        }
    }

    fn into_limit(self) -> SpendLimit {
        match self {
            Self::AtMostNanos(nanos) => SpendLimit::AtMost(Nanos::new(nanos)),
            Self::Unlimited => SpendLimit::Unlimited,
        }
    }
}

#[cfg(test)]
mod tests {
    use rye_thread::ThreadId;
    use rye_types::{LimitSet, Moment};

    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_recorded() {
        let thread: ThreadId = "greet-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        let mut request = RunRequest::new("test/greet".parse().unwrap(), thread.clone());
        for change in 0..6 {
            match change {
                0 => {}
                3 => request.tool = Some("rye/file-system/read".parse().unwrap()),
                1 => request.provider = ProviderChoice::Steps,
                4 => request.default_provider = Some("local".to_owned()),
                2 => request.provider = ProviderChoice::Named("local".to_owned()),
                _ => {
                    request.model = Some("m".to_owned());
                    request.returns = Some("block".parse().unwrap());
                    request.limits.turns = Some(3);
                    (request.limits.spawns, request.limits.depth) = (Some(2), Some(0));
                    request.limits.spend = Some(SpendLimit::AtMost(Nanos::new(5)));
                }
            }
            request.default_provider.get_or_insert_with(|| DEFAULT_PROVIDER.to_owned());
            let at = Moment::from_unix_millis(0);
            let mut record = ThreadRecord::new(&thread, "test/greet", &LimitSet::default(), at);
            record
                .facts
                .insert(REQUEST.to_owned(), choices(&request, request.default_provider.as_deref()));
            record.facts.insert("inputs".to_owned(), json!({}));
            let read = recorded_request(&record).unwrap();
            assert_eq!(format!("{read:?}"), format!("{request:?}"));
        }
    }

    #[test]
    fn a_record_without_it_is_told() {
        let thread: ThreadId = "greet-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        let at = Moment::from_unix_millis(0);
        let record = ThreadRecord::new(&thread, "test/greet", &LimitSet::default(), at);
        assert_eq!(recorded_request(&record).unwrap_err(), "it has no `request`");
    }
}
