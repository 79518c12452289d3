//! The subjects and the predicate of a receipt, as they follow from a transcript.

use rye_sign::{Digest, canonical_json};
use rye_transcript::{Reading, Record, added_items, recorded_end};
use serde_json::{Map, Value, json};

use super::{TRANSCRIPT, member};
use crate::model::payload;

/// The subjects: the lines of the transcript, and each output.
pub(super) fn subjects(reading: &Reading, lines: &[u8]) -> Value {
    let transcript = subject(TRANSCRIPT, Digest::of(lines));
    let outputs = outputs(reading);
    let outputs = outputs.iter().map(|(name, value)| subject(&output_name(name), digest_of(value)));
    std::iter::once(transcript).chain(outputs).collect()
}

/// The name of the subject that is an output.
pub(super) fn output_name(name: &str) -> String {
    format!("outputs/{name}")
}

fn subject(name: &str, digest: Digest) -> Value {
    json!({ "name": name, "digest": sha256(digest) })
}

fn sha256(digest: Digest) -> Value {
    json!({ "sha256": digest.to_string() })
}

/// The digest of an output: of the text itself, or of the canonical JSON of another value.
fn digest_of(value: &Value) -> Digest {
    match value {
        Value::String(text) => Digest::of(text.as_bytes()),
        other => Digest::of(canonical_json(other).as_bytes()),
    }
}

/// The events that end a thread.
const ENDS: [&str; 3] = ["thread_complete", "thread_continued", "thread_error"];

fn outputs(reading: &Reading) -> Map<String, Value> {
    match last(reading, &ENDS).map(|end| payload(end)["outputs"].take()) {
        Some(Value::Object(outputs)) => outputs,
        _ => Map::new(),
    }
}

/// Derives the predicate without its member `attestation`. Returns `None` for a thread that has not ended.
pub(super) fn derive(reading: &Reading) -> Option<Value> {
    let state = recorded_end(reading)?.state();
    let start = payload(reading.records.first()?);
    let end_record = last(reading, &ENDS)?;
    let end = payload(end_record);
    let facts = &start["facts"];
    Some(json!({
        "thread": {
            "id": end_record.thread.as_str(),
            "root": start["root"],
            "next": end["next"],
        },
        "directive": directive(end_record, facts),
        "items": items(reading, facts),
        "transcript": chain(reading, &start),
        "prompt": prompt(reading),
        "policy": { "digest": digest_of_fact(&facts["config"]) },
        "token": {
            "id": facts["token"]["token_id"],
            "digest": digest_of_fact(&facts["token"]),
        },
        "verified_items": facts["verified"],
        "model": model(reading, &start),
        "turns": end["turns"],
        "usage": end["usage"],
        "cost": { "currency": "USD", "nanos": end["cost_nanos"] },
        "limits": limits(reading, &start),
        "outcome": {
            "state": state.as_str(),
            "failure": end["failure"]["kind"],
        },
        "runtime": { "name": "rye", "version": facts["rye_version"] },
        "times": {
            "started": reading.records.first()?.at.to_string(),
            "ended": end_record.at.to_string(),
        },
        "claimed": claims(),
    }))
}

fn last<'a>(reading: &'a Reading, events: &[&str]) -> Option<&'a Record> {
    reading.records.iter().rev().find(|record| events.contains(&record.event.as_str()))
}

/// The directive that the thread followed: the first row of the chain.
fn directive(end: &Record, facts: &Value) -> Value {
    let row = &facts["chain"][0];
    json!({
        "id": end.directive,
        "version": row["version"],
        "digest": stated_digest(row),
        "signer": signer(row),
    })
}

/// The digest that a row states, or null.
fn stated_digest(row: &Value) -> Value {
    row["sha256"].as_str().map_or(Value::Null, |digest| json!({ "sha256": digest }))
}

/// The digest of a fact as canonical JSON, or null if the transcript does not have the fact.
fn digest_of_fact(fact: &Value) -> Value {
    if fact.is_null() { Value::Null } else { sha256(Digest::of(canonical_json(fact).as_bytes())) }
}

fn signer(row: &Value) -> Value {
    match row["key_id"].as_str() {
        Some(key_id) => json!({ "key_id": key_id, "owner": row["owner"] }),
        None => Value::Null,
    }
}

/// Everything that was verified for the thread, and what calls added later.
fn items(reading: &Reading, facts: &Value) -> Value {
    let rows = ["chain", "knowledge", "tools", "config"];
    let began = rows.iter().flat_map(|name| facts[name].as_array().into_iter().flatten().cloned());
    let added = added_items(reading).unwrap_or_default();
    let added = added.iter().map(|item| Value::Object(item.facts.clone()));
    began.chain(added).map(|row| item(&row)).collect()
}

fn item(row: &Value) -> Value {
    json!({
        "kind": row["kind"],
        "id": row["id"],
        "space": row["space"],
        "digest": stated_digest(row),
        "signer": signer(row),
    })
}

/// The chain with its last checkpoint, and the key that the first record names.
fn chain(reading: &Reading, start: &Value) -> Value {
    json!({
        "format": start["format"],
        "version": start["version"],
        "records": reading.records.len(),
        "signed_records": reading.signed,
        "head": reading.head.to_string(),
        "checkpoint": last(reading, &["checkpoint"]).map(payload),
        "public_key": start["signed_by"],
    })
}

/// The digests of the texts that the conversation began with.
fn prompt(reading: &Reading) -> Value {
    let digest = |event: &str| {
        let record = reading.records.iter().find(|record| record.event == event)?;
        let text = payload(record)["text"].take();
        Some(sha256(Digest::of(text.as_str()?.as_bytes())))
    };
    json!({ "system": digest("system_prompt"), "user": digest("user_message") })
}

/// The provider and the model that answered last.
fn model(reading: &Reading, start: &Value) -> Value {
    let fallback = last(reading, &["model_fallback"]).map(payload);
    let named = fallback.as_ref().unwrap_or(start);
    json!({ "provider": named["provider"], "id": named["model"] })
}

/// The limits by the last record that has any.
fn limits(reading: &Reading, start: &Value) -> Value {
    let resumed = reading.records.iter().rev().filter(|record| record.event == "thread_resumed");
    let raised = resumed.map(|record| payload(record)["limits"].take());
    raised.into_iter().find(|limits| !limits.is_null()).unwrap_or_else(|| start["limits"].clone())
}

/// The members that repeat what others said. A signature shows that they said it, and not that it is true.
fn claims() -> Value {
    let rows = [
        ("model", "the provider names the model; nothing shows which one ran"),
        ("usage", "the provider counts the tokens"),
        ("cost", "computed from the counted tokens and the configured prices"),
        ("times", "the clock of the machine that ran the thread"),
        ("runtime", "the program names its own version"),
        ("outcome", "the model decides when it is done; nothing shows that its work is right"),
        ("subject outputs", "the model wrote them"),
        ("owner", "a trust document names the owner of a key"),
        ("tool results", "the transcript holds what tools returned; nothing shows what they did"),
    ];
    rows.iter().map(|(claim, because)| json!({ "claim": claim, "because": because })).collect()
}

/// The first member of a stated predicate that is not as derived. The member `attestation` is its signer's own.
pub(super) fn first_difference(stated: &Value, derived: &Value) -> Option<String> {
    let names = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect()
    };
    let all = names(stated).into_iter().chain(names(derived));
    all.filter(|name| name != "attestation")
        .find(|name| member(stated, &[name]) != member(derived, &[name]))
}
