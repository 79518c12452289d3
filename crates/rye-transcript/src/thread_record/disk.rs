//! The saved form of a thread record.

use rye_types::{LimitSet, Moment, Nanos, ThreadState, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ThreadRecord;
use crate::{Failure, ThreadId, TranscriptClaim};

pub(super) fn value(record: &ThreadRecord) -> Value {
    let own = serde_json::to_value(RecordDisk::of(record))
        .expect("because every part of it is plain JSON");
    let Value::Object(mut members) = own else { return own };
    for (name, member) in &record.rest {
        members.insert(name.clone(), member.clone());
    }
    Value::Object(members)
}

/// Reads a verified value. Members with unknown names are kept.
pub(super) fn parse(value: Value) -> Result<ThreadRecord, String> {
    let Value::Object(members) = value else { return Err("it is not an object".to_owned()) };
    refuse_other_format(&members)?;
    let is_own = |name: &str| MEMBERS.contains(&name);
    let rest = members.iter().filter(|(name, _)| !is_own(name) && *name != "_signature");
    let rest: Map<String, Value> =
        rest.map(|(name, member)| (name.clone(), member.clone())).collect();
    let own: Map<String, Value> = members.into_iter().filter(|(name, _)| is_own(name)).collect();
    let disk: RecordDisk =
        serde_json::from_value(Value::Object(own)).map_err(|error| error.to_string())?;
    disk.into_record(rest)
}

/// Comes before the other members, because those of another version may have other values.
fn refuse_other_format(members: &Map<String, Value>) -> Result<(), String> {
    let format = members.get("format").and_then(Value::as_str);
    let version = members.get("version").and_then(Value::as_u64);
    match (format, version) {
        (Some(format), Some(version)) if (format, version) != (FORMAT, VERSION) => {
            Err(format!("it is `{format}` of version {version}"))
        }
        _ => Ok(()),
    }
}

const FORMAT: &str = "rye-thread";
const VERSION: u64 = 1;

const MEMBERS: [&str; 21] = [
    "format",
    "version",
    "thread_id",
    "root",
    "parent",
    "continues",
    "continued_by",
    "directive",
    "state",
    "created",
    "updated",
    "provider",
    "model",
    "limits",
    "turns",
    "usage",
    "cost_nanos",
    "outputs",
    "failure",
    "transcript",
    "facts",
];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordDisk {
    format: String,
    version: u64,
    thread_id: ThreadId,
    root: ThreadId,
    parent: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continues: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continued_by: Option<ThreadId>,
    directive: String,
    state: ThreadState,
    created: Moment,
    updated: Moment,
    provider: Option<String>,
    model: Option<String>,
    limits: LimitSet,
    turns: u64,
    usage: Usage,
    cost_nanos: Nanos,
    outputs: Option<Map<String, Value>>,
    failure: Option<Failure>,
    transcript: Option<ClaimDisk>,
    facts: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimDisk {
    records: u64,
    head: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    open: bool,
}

impl ClaimDisk {
    fn of(claim: &TranscriptClaim) -> Self {
        let TranscriptClaim { records, head, is_open } = claim.clone();
        Self { records, head, open: is_open }
    }

    fn into_claim(self) -> TranscriptClaim {
        TranscriptClaim::new(self.records, self.head, self.open)
    }
}

impl RecordDisk {
    fn of(record: &ThreadRecord) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            thread_id: record.thread.clone(),
            root: record.root.clone(),
            parent: record.parent.clone(),
            continues: record.continues.clone(),
            continued_by: record.continued_by.clone(),
            directive: record.directive.clone(),
            state: record.state,
            created: record.created,
            updated: record.updated,
            provider: record.provider.clone(),
            model: record.model.clone(),
            limits: record.limits.clone(),
            turns: record.turns,
            usage: record.usage,
            cost_nanos: record.cost,
            outputs: record.outputs.clone(),
            failure: record.failure.clone(),
            transcript: record.transcript.as_ref().map(ClaimDisk::of),
            facts: record.facts.clone(),
        }
    }

    fn into_record(self, rest: Map<String, Value>) -> Result<ThreadRecord, String> {
        Ok(ThreadRecord {
            thread: self.thread_id,
            root: self.root,
            parent: self.parent,
            continues: self.continues,
            continued_by: self.continued_by,
            directive: self.directive,
            state: self.state,
            created: self.created,
            updated: self.updated,
            provider: self.provider,
            model: self.model,
            limits: self.limits,
            turns: self.turns,
            usage: self.usage,
            cost: self.cost_nanos,
            outputs: self.outputs,
            failure: self.failure,
            transcript: self.transcript.map(ClaimDisk::into_claim),
            facts: self.facts,
            rest,
        })
    }
}
