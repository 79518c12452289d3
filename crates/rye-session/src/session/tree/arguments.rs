//! The arguments of a call that starts a child.

use std::collections::BTreeMap;

use rye_project::primary::inputs_by_either_name;
use rye_resolve::ItemId;
use rye_thread::{ToolOutput, Waiting};
use rye_types::SpendLimit;
use serde::Deserialize;
use serde_json::{Value, json};

/// The arguments of `thread_directive`, which its schema has accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnArguments {
    directive: String,
    inputs: Option<BTreeMap<String, Value>>,
    parameters: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    limits: LimitArguments,
    #[serde(default)]
    r#async: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitArguments {
    turns: Option<u64>,
    tokens: Option<u64>,
    spend: Option<String>,
    duration_seconds: Option<u64>,
    spawns: Option<u64>,
    depth: Option<u64>,
}

/// The same with every word understood.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) directive: ItemId,
    pub(super) inputs: BTreeMap<String, Value>,
    pub(super) waiting: Waiting,
    pub(super) turns: Option<u64>,
    pub(super) tokens: Option<u64>,
    pub(super) spend: Option<SpendLimit>,
    pub(super) duration_seconds: Option<u64>,
    pub(super) spawns: Option<u64>,
    pub(super) depth: Option<u64>,
}

pub(super) fn parse_wanted(arguments: &Value) -> Result<Wanted, ToolOutput> {
    let arguments =
        SpawnArguments::deserialize(arguments).map_err(|error| error_output(&error.to_string()))?;
    let SpawnArguments { directive, inputs, parameters, limits, r#async } = arguments;
    let inputs = inputs_by_either_name(parameters, inputs).map_err(error_output)?;
    let LimitArguments { turns, tokens, spend, duration_seconds, spawns, depth } = limits;
    let spend = match spend.map(|text| text.parse::<SpendLimit>()) {
        Some(Err(error)) => return Err(error_output(&format!("`limits.spend`: {error}"))),
        Some(Ok(spend)) => Some(spend),
        None => None,
    };
    let directive =
        directive.parse().map_err(|error| error_output(&format!("`directive`: {error}")))?;
    let waiting = if r#async { Waiting::ForNothing } else { Waiting::ForTheEnd };
    Ok(Wanted { directive, inputs, waiting, turns, tokens, spend, duration_seconds, spawns, depth })
}

/// A failure in words.
pub(super) fn error_output(message: &str) -> ToolOutput {
    ToolOutput::error(json!({ "error": message }))
}
