//! The schema of the lines of `rye run --json`: the records of the transcript, and the lines around them.

use schemars::Schema;
use serde_json::{Map, Value, json};

pub(crate) const RUN_STREAM: &str = "run_stream";

/// The content of a member of a line.
#[derive(Clone, Copy)]
enum Holds {
    Anything,
    Count,
    Flag,
    Moment,
    Object,
    Sha256,
    Text,
    /// One of the definitions below.
    A(&'static str),
    /// A list of them.
    Many(&'static str),
    /// The same, or null.
    OrNull(&'static Holds),
    OneOf(&'static [&'static str]),
}

use Holds::{A, Anything, Count, Flag, Many, Moment, Object, OneOf, OrNull, Sha256, Text};

/// Name and content of a member; a name that ends in `?` may be missing.
type Members = &'static [(&'static str, Holds)];

/// Members of every record beside its event and payload.
const RECORD: Members = &[
    ("seq", Count),
    ("ts", Moment),
    ("thread_id", Text),
    ("directive", Text),
    ("approval_wait_millis?", Count),
    ("prev", Sha256),
];

/// The payload of each event that a transcript records.
const PAYLOADS: [(&str, Members); 23] = [
    (
        "approval_decided",
        &[
            ("call_id", Text),
            ("arguments_sha256", Sha256),
            ("decision", DECISION),
            ("by", Text),
            ("reason?", Text),
        ],
    ),
    ("approval_requested", WAITS_FOR),
    ("assistant_reasoning", &[("text", Text)]),
    ("assistant_text", &[("text", Text)]),
    (
        "checkpoint",
        &[
            ("format", Text),
            ("thread", Text),
            ("seq", Count),
            ("head", Sha256),
            ("key_id", Text),
            ("signature", Text),
        ],
    ),
    (
        "child_ended",
        &[
            ("thread", Text),
            ("state", Text),
            COST,
            ("overrun?", Flag),
            ("records", Count),
            ("head", Sha256),
        ],
    ),
    (
        "context_injected",
        &[
            ("item_id", OrNull(&Text)),
            ("position", OneOf(&["system", "before", "after", "turn"])),
            ("sha256", Sha256),
            ("hook?", Text),
            ("standard_error?", Text),
        ],
    ),
    (
        "hook_triggered",
        &[
            ("evaluation", Count),
            ("hook_event", Text),
            ("hook", Text),
            ("declared_by", Text),
            ("layer", Count),
            ("effect", OrNull(&Text)),
            ("failure", OrNull(&A("failure"))),
            ("final", Flag),
            ("data", Anything),
        ],
    ),
    ("model_fallback", &[("provider", Text), ("model", Text), PRICES, ("reason", Text)]),
    (
        "request_failed",
        &[("turn", Count), ("class", Text), ("message", Text), ("cost_nanos", Count)],
    ),
    (
        "request_retried",
        &[
            ("turn", Count),
            ("attempt", Count),
            ("attempts", Count),
            ("class", Text),
            ("message", Text),
            ("hint_millis", OrNull(&Count)),
            ("wait_millis", Count),
            ("cost_nanos", Count),
            ("reserved_nanos", Count),
            ("usage?", A("usage")),
        ],
    ),
    (
        "spawn_child",
        &[
            ("call_id", Text),
            ("thread", Text),
            ("directive", Text),
            ("async", Flag),
            ("limits", A("limits")),
            ("added?", Count),
        ],
    ),
    ("step_finish", &[("turn", Count), ("reply", A("reply")), ("cost_nanos", Count)]),
    ("step_start", &[("turn", Count), ("reserved_nanos", Count), ("max_output_tokens", Count)]),
    ("system_prompt", &[("text", Text), ("sha256", Sha256)]),
    ("thread_complete", &[TURNS, USAGE, COST, ("outputs", OrNull(&Object)), ("text", Text)]),
    (
        "thread_continued",
        &[TURNS, USAGE, COST, ("next", Text), ("limits", A("limits")), ("text", Text)],
    ),
    (
        "thread_error",
        &[
            TURNS,
            USAGE,
            COST,
            ("state", OneOf(&["cancelled", "error"])),
            ("failure", OrNull(&A("failure"))),
        ],
    ),
    (
        "thread_resumed",
        &[
            ("opening", Count),
            ("cut_bytes", Count),
            ("facts", Object),
            ("cost_nanos", Count),
            ("elapsed_millis", Count),
            ("signed_by", Text),
            ("limits?", A("limits")),
        ],
    ),
    (
        "thread_start",
        &[
            ("format", Text),
            ("version", Count),
            ("provider", Text),
            ("model", Text),
            PRICES,
            ("limits", A("limits")),
            ("tools", Many("tool")),
            ("palette", Object),
            ("facts", Object),
            ("root", Text),
            ("created", Moment),
            ("parent?", Text),
            ("continues?", Text),
            ("signed_by", Text),
        ],
    ),
    (
        "tool_call_result",
        &[
            ("call_id", Text),
            ("name", Text),
            ("content", Anything),
            ("is_error", Flag),
            ("refusal", OrNull(&A("refusal"))),
            ("limit?", A("limit")),
            ("added?", Many("added")),
            ("hook?", Text),
            ("standard_error?", Text),
        ],
    ),
    (
        "tool_call_start",
        &[
            ("call_id", Text),
            ("name", Text),
            ("arguments", Anything),
            ("target", OrNull(&A("target"))),
            ("hook?", Text),
            ("injects?", Flag),
        ],
    ),
    ("user_message", &[("text", Text)]),
];

const DECISION: Holds = OneOf(&["approved", "approved_in_thread", "denied"]);
const TURNS: (&str, Holds) = ("turns", Count);
const USAGE: (&str, Holds) = ("usage", A("usage"));
const COST: (&str, Holds) = ("cost_nanos", Count);
const PRICES: (&str, Holds) = ("nanos_per_million_tokens", OrNull(&A("usage")));
const WAITS_FOR: Members = &[
    ("call_id", Text),
    ("item_id", Text),
    ("arguments", Anything),
    ("arguments_sha256", Sha256),
    ("reason", OneOf(&["configured", "escalated", "interrupted"])),
    ("covers?", Anything),
];

/// The lines that are no records; `delta` and `output` come with `--deltas`.
const AROUND: [(&str, Members); 5] = [
    ("stream_start", &[("version", Count), ("thread_id", Text)]),
    ("delta", &[("kind", OneOf(&["call", "reasoning", "text"])), ("text", Text)]),
    ("output", &[("call_id", Text), ("stream", OneOf(&["stderr", "stdout"])), ("text", Text)]),
    ("result", &[("result", A("result"))]),
    ("error", &[("error", A("error"))]),
];

/// Definitions that several lines share.
const SHARED: [(&str, Members); 13] = [
    ("added", &[("item", Object), ("key_id", OrNull(&Text)), ("grants", Anything)]),
    ("call", &[("id", Text), ("name", Text), ("arguments", Object)]),
    (
        "error",
        &[
            ("class", OneOf(&["failed", "usage", "refused", "suspended", "limit"])),
            ("exit_code", Count),
            ("causes", Anything),
        ],
    ),
    ("failure", &[("kind", Text), ("message", Text), ("limit?", A("limit")), ("class?", Text)]),
    ("limit", &[("name", Text), ("value", Count), ("maximum", Count)]),
    (
        "limits",
        &[
            ("turns", Count),
            ("tokens", Count),
            ("spend_nanos", Anything),
            ("duration_seconds", Count),
            ("spawns", Count),
            ("depth", Count),
        ],
    ),
    (
        "refusal",
        &[("capability", Text), ("layer", Text), ("pattern", OrNull(&Text)), ("message", Text)],
    ),
    ("parent", &[("thread", Text), ("state", Text)]),
    (
        "reply",
        &[
            ("raw", Anything),
            ("text", Text),
            ("reasoning", Text),
            ("calls", Many("call")),
            USAGE,
            ("counted?", Text),
            ("stop", Text),
        ],
    ),
    (
        "result",
        &[
            ("thread", Text),
            ("folder", Text),
            ("state", Text),
            ("outputs", OrNull(&Object)),
            ("text", Text),
            TURNS,
            ("tokens", Count),
            COST,
            ("waits_for", OrNull(&A("waits_for"))),
            ("failure", OrNull(&A("failure"))),
            ("warnings", Anything),
            ("continues?", Anything),
            ("parent?", A("parent")),
            ("self_starting?", Anything),
            ("resume?", Text),
            ("result?", Anything),
        ],
    ),
    ("target", &[("item_id", Text), ("capability", Text), ("effect", Text)]),
    (
        "tool",
        &[
            ("name", Text),
            ("description", Text),
            ("input_schema", Anything),
            ("output_schema", Anything),
        ],
    ),
    (
        "usage",
        &[("input", Count), ("output", Count), ("cache_read", Count), ("cache_write", Count)],
    ),
];

/// The schema of one line.
pub(crate) fn run_stream_schema() -> Schema {
    let records = PAYLOADS.iter().map(|(event, members)| {
        let mut line = object(RECORD);
        put(&mut line, "payload", object(members));
        tag(line, event)
    });
    let around = AROUND.iter().map(|(event, members)| tag(object(members), event));
    let shared = SHARED.iter().map(|(name, members)| ((*name).to_owned(), object(members)));
    let mut shared: Map<String, Value> = shared.collect();
    let mut waits_for = object(WAITS_FOR);
    put(&mut waits_for, "thread", Text.schema());
    put(&mut waits_for, "why", Text.schema());
    shared.insert("waits_for".to_owned(), waits_for);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": RUN_STREAM,
        "description": "One line of what `rye run --json` and `rye resume --json` print: `stream_start` first, the records of \
                        the transcript as they are written, and `result` or `error` last.",
        "oneOf": around.chain(records).collect::<Value>(),
        "$defs": shared,
    });
    Schema::try_from(schema).expect("because the schema is an object")
}

fn object(members: Members) -> Value {
    let mut object = json!({
        "type": "object",
        "additionalProperties": false,
        "required": [],
        "properties": {},
    });
    for (name, holds) in members {
        match name.strip_suffix('?') {
            Some(name) => object["properties"][name] = holds.schema(),
            None => put(&mut object, name, holds.schema()),
        }
    }
    object
}

fn tag(mut line: Value, event: &str) -> Value {
    put(&mut line, "event", json!({ "const": event }));
    line
}

fn put(object: &mut Value, name: &str, schema: Value) {
    object["properties"][name] = schema;
    if let Some(required) = object["required"].as_array_mut() {
        required.push(name.into());
    }
}

impl Holds {
    fn schema(self) -> Value {
        match self {
            Anything => json!(true),
            Count => json!({ "type": "integer", "minimum": 0 }),
            Flag => json!({ "type": "boolean" }),
            Moment => json!({ "type": "string", "format": "date-time" }),
            Object => json!({ "type": "object" }),
            Sha256 => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
            Text => json!({ "type": "string" }),
            A(name) => json!({ "$ref": format!("#/$defs/{name}") }),
            Many(name) => json!({ "type": "array", "items": A(name).schema() }),
            OrNull(holds) => json!({ "oneOf": [holds.schema(), { "type": "null" }] }),
            OneOf(words) => json!({ "enum": words }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rye_thread::transcript::Event;

    use super::*;

    #[test]
    fn every_event_of_a_transcript_is_described() {
        assert_eq!(PAYLOADS.map(|(event, _)| event), Event::NAMES);
    }
}
