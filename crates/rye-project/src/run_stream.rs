//! The schema of the lines of `rye run --json`: the records of the transcript, and the lines around them.

use rye_thread::Failure;
use rye_thread::transcript::EventKind;
use rye_thread::transcript::payload::Asked;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema as _, Schema, SchemaGenerator};
use serde_json::{Value, json};

pub(crate) const RUN_STREAM: &str = "run_stream";

/// The schema of one line.
pub(crate) fn run_stream_schema() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut lines = lines_around(&mut generator);
    lines.extend(EventKind::ALL.iter().map(|kind| record(*kind, &mut generator)));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": RUN_STREAM,
        "description": "One line of what `rye run --json` and `rye resume --json` print: `stream_start` first, the records of \
                        the transcript as they are written, and `result` or `error` last.",
        "oneOf": lines,
        "$defs": generator.take_definitions(true),
    });
    close(&mut schema);
    Schema::try_from(schema).expect("because the schema is an object")
}

/// The record of an event. The list of events describes its payload.
fn record(kind: EventKind, generator: &mut SchemaGenerator) -> Value {
    object(
        &["seq", "ts", "thread_id", "directive", "event", "payload", "prev"],
        json!({
            "seq": count(),
            "ts": { "type": "string", "format": "date-time" },
            "thread_id": text(),
            "directive": text(),
            "event": { "const": kind.name() },
            "payload": kind.payload_schema(generator),
            "approval_wait_millis": count(),
            "prev": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
        }),
    )
}

/// The lines that are no records; `delta` and `output` come with `--deltas`.
fn lines_around(generator: &mut SchemaGenerator) -> Vec<Value> {
    let line = |event: &str, required: &[&str], mut members: Value| {
        members["event"] = json!({ "const": event });
        object(&[&["event"], required].concat(), members)
    };
    vec![
        line(
            "stream_start",
            &["version", "thread_id"],
            json!({ "version": count(), "thread_id": text() }),
        ),
        line(
            "delta",
            &["kind", "text"],
            json!({ "kind": { "enum": ["call", "reasoning", "text"] }, "text": text() }),
        ),
        line(
            "output",
            &["call_id", "stream", "text"],
            json!({ "call_id": text(), "stream": { "enum": ["stderr", "stdout"] }, "text": text() }),
        ),
        line("result", &["result"], json!({ "result": result(generator) })),
        line("error", &["error"], json!({ "error": error() })),
    ]
}

/// The end of a run, as `rye run --json --quiet` prints it.
fn result(generator: &mut SchemaGenerator) -> Value {
    let failure = generator.subschema_for::<Option<Failure>>();
    let parent = object(&["thread", "state"], json!({ "thread": text(), "state": text() }));
    object(
        &[
            "thread",
            "folder",
            "state",
            "outputs",
            "text",
            "turns",
            "tokens",
            "cost_nanos",
            "waits_for",
            "failure",
            "warnings",
        ],
        json!({
            "thread": text(),
            "folder": text(),
            "state": text(),
            "outputs": { "type": ["object", "null"] },
            "text": text(),
            "turns": count(),
            "tokens": count(),
            "cost_nanos": count(),
            "waits_for": { "oneOf": [waits_for(generator), { "type": "null" }] },
            "failure": failure,
            "warnings": true,
            "continues": true,
            "parent": parent,
            "self_starting": true,
            "resume": text(),
            "result": true,
        }),
    )
}

/// The call that a thread waits with: its question, the thread, and the reason in words.
fn waits_for(generator: &mut SchemaGenerator) -> Value {
    let mut asked = Asked::json_schema(generator).to_value();
    for name in ["thread", "why"] {
        asked["properties"][name] = text();
        if let Some(required) = asked["required"].as_array_mut() {
            required.push(name.into());
        }
    }
    asked
}

fn error() -> Value {
    object(
        &["class", "exit_code", "causes"],
        json!({
            "class": { "enum": ["failed", "usage", "refused", "suspended", "limit"] },
            "exit_code": count(),
            "causes": true,
        }),
    )
}

fn object(required: &[&str], properties: Value) -> Value {
    let mut object = json!({ "type": "object", "required": required });
    object["properties"] = properties;
    object
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn text() -> Value {
    json!({ "type": "string" })
}

/// Allows no other members in objects that list theirs.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            members.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        _ => {}
    }
}
