//! Threads as trajectories of ATIF, the Agent Trajectory Interchange Format, version 1.8.
//!
//! A trajectory is a list of steps. The system prompt, each user message and each event beside the model is a step of its own.
//! An answer of the model is one step with its calls and their results. Children are trajectories inside their parent's.

mod steps;

use rye_transcript::{Record, ToolSpec};

use rye_transcript::payload::ThreadStart;
use serde_json::{Value, json};

use self::steps::Steps;
use crate::Source;
use crate::unread::UnreadError;

/// The version that a trajectory names.
pub(crate) const SCHEMA_VERSION: &str = "ATIF-v1.8";

/// Returns the trajectory of a thread, with those of its children inside.
pub(crate) fn trajectory(source: &Source<'_>) -> Result<Value, UnreadError> {
    UnreadError::check(source.reading)?;
    let steps = Steps::read(source);
    let metrics = final_metrics(source, &steps);
    let mut root = json!({
        "schema_version": SCHEMA_VERSION,
        "session_id": source.record.root.as_str(),
        "trajectory_id": source.record.thread.as_str(),
        "agent": agent(source.reading.start().as_ref()),
        "steps": steps.steps,
        "final_metrics": metrics,
        "extra": extra(source),
    });
    if let Some(next) = &source.record.continued_by {
        root["continued_trajectory_ref"] = next.as_str().into();
    }
    if !source.children.is_empty() {
        root["subagent_trajectories"] =
            source.children.iter().map(trajectory).collect::<Result<_, _>>()?;
    }
    Ok(root)
}

fn agent(start: Option<&ThreadStart>) -> Value {
    let version = start.and_then(|start| start.facts.get("rye_version")?.as_str());
    let tools = start.into_iter().flat_map(|start| &start.tools);
    let mut agent = json!({
        "name": "rye",
        "version": version.unwrap_or("unknown"),
        "tool_definitions": tools.map(tool).collect::<Value>(),
        "extra": { "provider": start.map(|start| &start.provider) },
    });
    if let Some(start) = start {
        agent["model_name"] = start.model.as_str().into();
    }
    agent
}

/// The definition of a tool, as OpenAI writes it.
fn tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, input_schema, .. } = tool;
    json!({
        "type": "function",
        "function": { "name": name, "description": description, "parameters": input_schema },
    })
}

/// The sums over the steps, with the cost of the thread and its descendants.
fn final_metrics(source: &Source<'_>, steps: &Steps) -> Value {
    let usage = &steps.usage;
    json!({
        "total_prompt_tokens": usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write),
        "total_completion_tokens": usage.output,
        "total_cached_tokens": usage.cache_read,
        "total_cost_usd": dollars(source.cost.get()),
        "total_steps": steps.steps.len(),
        "extra": { "cost_nanos": source.cost.get(), "cost_includes_children": true },
    })
}

fn extra(source: &Source<'_>) -> Value {
    let record = source.record;
    json!({
        "directive": record.directive,
        "state": source.standing,
        "parent": record.parent.as_ref().map(rye_transcript::ThreadId::as_str),
        "outputs": record.outputs,
        "failure": record.failure.as_ref().map(|failure| json!({ "kind": failure.kind.as_str(), "message": failure.message })),
        "records": source.reading.records.len(),
        "head": source.reading.head.to_string(),
    })
}

/// An amount in dollars, as the format wants it. The exact amount stands beside it in billionths.
#[expect(clippy::cast_precision_loss, reason = "the format has a floating-point number here")]
fn dollars(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// The time of a record as text.
fn time(record: &Record) -> String {
    record.at.to_string()
}
